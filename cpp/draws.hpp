// Items drawn at random, some way ahead: whole buffers of numbers are made at once, sixteen streams side by side, and
// the rows of items that come later are fetched into the cache meanwhile.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "rng.hpp"
#include "simd.hpp"

namespace topwise {

class Draws {
  public:
    Draws() = default;

    // From the given items, or from 0..count-1 when none are given.
    void begin(Rng& rng, std::span<const std::int32_t> items, std::int64_t count) {
        items_ = items;
        count_ = static_cast<std::uint32_t>(items.empty() ? count : static_cast<std::int64_t>(items.size()));
        for (std::uint32_t& state : streams_) state = static_cast<std::uint32_t>(rng.next()) | 1U;
        refill();
    }

    TOPWISE_INLINE std::int32_t next() {
        if (at_ >= kBuffer) refill();
        return buffer_[at_++];
    }

    // Four draws in a row.
    TOPWISE_INLINE const std::int32_t* four() {
        if (at_ + 4 > kBuffer) refill();
        at_ += 4;
        return buffer_.data() + at_ - 4;
    }

    // What comes after so many more draws; near the end of the buffer, an item of no consequence.
    TOPWISE_INLINE std::int32_t later(unsigned draws) const { return buffer_[(at_ + draws) % kBuffer]; }

  private:
    static constexpr unsigned kBuffer = 64;

    TOPWISE_INLINE void refill() {
        for (unsigned i = 0; i < kBuffer; i += kLanes) {
            for (unsigned lane = 0; lane < kLanes; ++lane) {  // xorshift32
                std::uint32_t x = streams_[lane];
                x ^= x << 13;
                x ^= x >> 17;
                x ^= x << 5;
                streams_[lane] = x;
                buffer_[i + lane] = static_cast<std::int32_t>((static_cast<std::uint64_t>(x) * count_) >> 32);
            }
        }
        if (!items_.empty()) {
            for (unsigned i = 0; i < kBuffer; ++i) buffer_[i] = items_[static_cast<std::size_t>(buffer_[i])];
        }
        at_ = 0;
    }

    alignas(64) std::array<std::uint32_t, kLanes> streams_{};
    alignas(64) std::array<std::int32_t, kBuffer> buffer_{};
    std::span<const std::int32_t> items_;
    std::uint32_t count_ = 0;
    unsigned at_ = 0;
};

}  // namespace topwise
