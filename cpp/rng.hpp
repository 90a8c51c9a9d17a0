// A small, fast random stream (SplitMix64). One a worker, seeded from (seed, epoch, worker), so a run can be repeated.
#pragma once

#include <cstdint>

namespace topwise {

class Rng {
  public:
    explicit Rng(std::uint64_t seed, std::uint64_t stream = 0, std::uint64_t substream = 0)
        : state_(mix(mix(mix(seed) + stream) + substream)) {}

    std::uint64_t next() { return mix(state_ += 0x9E3779B97F4A7C15ULL); }

    // Uniform on [0, n), n at least 1.
    std::uint32_t below(std::uint32_t n) {
        return static_cast<std::uint32_t>(((next() >> 32) * static_cast<std::uint64_t>(n)) >> 32);
    }

    // Uniform on [0, 1).
    float uniform() { return static_cast<float>(next() >> 40) * (1.0F / 16777216.0F); }

  private:
    static std::uint64_t mix(std::uint64_t x) {
        x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
        x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
        return x ^ (x >> 31);
    }

    std::uint64_t state_;
};

// Fisher-Yates; `swap_at(i, j)` exchanges two places.
template <class T>
void shuffle(T* first, std::int64_t count, Rng& rng) {
    for (std::int64_t i = count - 1; i > 0; --i) {
        const std::int64_t j = rng.below(static_cast<std::uint32_t>(i + 1));
        const T kept = first[i];
        first[i] = first[j];
        first[j] = kept;
    }
}

}  // namespace topwise
