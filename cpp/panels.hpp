// Rows packed for the scoring kernel, and the kernel: twelve contexts against sixteen items in registers.
//
// The score of a context and an item is one chain of multiply-adds over the coordinates in order, in the
// item's own lane. So it does not depend on which rows share a tile: batches, threads and candidate lists all
// agree to the bit.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

#include "simd.hpp"

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace topwise {

// Zeroed floats, aligned for Lanes. Many ask for huge pages: a scan of them waits for the page tables as
// well.
class AlignedFloats {
  public:
    explicit AlignedFloats(std::int64_t count) {
        const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(float);
        const std::size_t alignment = bytes < 2 * kHugePage ? sizeof(Lanes) : kHugePage;
        const std::size_t rounded = (bytes / alignment + 1) * alignment;
        data_.reset(static_cast<float*>(std::aligned_alloc(alignment, rounded)));
        if (!data_) throw std::bad_alloc();
#if defined(__linux__)
        if (alignment == kHugePage) madvise(data_.get(), rounded, MADV_HUGEPAGE);
#endif
        std::fill_n(data_.get(), count, 0.0f);
    }
    float* get() { return data_.get(); }
    const float* get() const { return data_.get(); }

  private:
    static constexpr std::size_t kHugePage = std::size_t{1} << 21;
    struct Free {
        void operator()(float* data) const { std::free(data); }
    };
    std::unique_ptr<float, Free> data_;
};

// Rows of `dim` floats, `Width` at a time and transposed: coordinate j of a block's rows lies side by side.
// Missing rows of the last block are zero.
template <int Width>
class Packed {
  public:
    Packed(std::int64_t rows, std::int64_t dim) : rows_(rows), dim_(dim), floats_(blocks() * dim * Width) {}

    std::int64_t rows() const { return rows_; }
    std::int64_t dim() const { return dim_; }
    std::int64_t blocks() const { return (rows_ + Width - 1) / Width; }
    const float* block(std::int64_t b) const { return floats_.get() + b * dim_ * Width; }

    void set(std::int64_t row, const float* values) {
        float* to = at(row);
        for (std::int64_t j = 0; j < dim_; ++j) to[j * Width] = values[j];
    }
    template <int OtherWidth>
    void copy(std::int64_t row, const Packed<OtherWidth>& other, std::int64_t other_row) {
        float* to = at(row);
        const float* from = other.at(other_row);
        for (std::int64_t j = 0; j < dim_; ++j) to[j * Width] = from[j * OtherWidth];
    }

  private:
    template <int>
    friend class Packed;
    float* at(std::int64_t row) { return floats_.get() + (row / Width) * dim_ * Width + row % Width; }
    const float* at(std::int64_t row) const {
        return floats_.get() + (row / Width) * dim_ * Width + row % Width;
    }

    std::int64_t rows_;
    std::int64_t dim_;
    AlignedFloats floats_;
};

inline constexpr int kTileRows = 12;
using ContextTiles = Packed<kTileRows>;
using ItemPanels = Packed<kLanes>;

// Scores of the first `Rows` contexts of a tile with the sixteen items of a panel. Those of context r go to
// out + r * stride.
template <int Rows>
TOPWISE_INLINE void score_tile(const float* tile, const float* panel, std::int64_t dim, float* out,
                               std::int64_t stride) {
    Lanes sums[Rows];
    TOPWISE_UNROLL for (int r = 0; r < Rows; ++r) sums[r] = Lanes{};
    for (std::int64_t j = 0; j < dim; ++j) {
        const Lanes items = lanes(panel + j * kLanes);
        TOPWISE_UNROLL for (int r = 0; r < Rows; ++r) sums[r] += tile[j * kTileRows + r] * items;
    }
    TOPWISE_UNROLL for (int r = 0; r < Rows; ++r) lanes(out + r * stride) = sums[r];
}

// Calls run.operator()<Rows>(first) for pieces of a tile of `rows` contexts, each as wide as the registers
// hold. A last piece is as narrow as it can be without a shape of its own for every number.
template <class Run>
TOPWISE_INLINE void for_each_piece(int rows, int widest, Run&& run) {
    for (int first = 0; first < rows; first += widest) {
        const int left = std::min(widest, rows - first);
        if (left > 8)
            run.template operator()<12>(first);
        else if (left > 6)
            run.template operator()<8>(first);
        else if (left > 4)
            run.template operator()<6>(first);
        else if (left > 2)
            run.template operator()<4>(first);
        else if (left > 1)
            run.template operator()<2>(first);
        else
            run.template operator()<1>(first);
    }
}

}  // namespace topwise
