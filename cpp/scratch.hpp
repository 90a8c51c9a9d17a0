// A worker's own buffers.
#pragma once

#include <cstddef>
#include <cstring>
#include <new>
#include <utility>

#include "simd.hpp"

namespace topwise {

// Floats aligned to 64 bytes.
class AlignedRow {
  public:
    explicit AlignedRow(std::size_t groups) { resize(groups); }
    AlignedRow() = default;
    AlignedRow(AlignedRow&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
    AlignedRow(const AlignedRow&) = delete;
    AlignedRow& operator=(const AlignedRow&) = delete;
    AlignedRow& operator=(AlignedRow&&) = delete;
    ~AlignedRow() { release(); }

    void resize(std::size_t groups) {
        release();
        size_ = groups * kLanes;
        data_ = static_cast<float*>(::operator new(size_ * sizeof(float), kAlign));
        clear();
    }
    void clear() { std::memset(data_, 0, size_ * sizeof(float)); }
    std::size_t size() const { return size_; }
    float* data() { return data_; }
    const float* data() const { return data_; }

  private:
    static constexpr std::align_val_t kAlign{64};
    void release() {
        if (data_ != nullptr) ::operator delete(data_, kAlign);
        data_ = nullptr;
    }

    float* data_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace topwise
