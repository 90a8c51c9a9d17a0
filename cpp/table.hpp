// How a row of parameters is stored, updated and projected: the third seam of the design.
#pragma once

#include <cmath>
#include <cstdint>

#include "simd.hpp"

namespace topwise {

// Borrowed rows of float32, padded with zeros to whole groups of 16 and aligned to 64 bytes.
struct Table {
    float* rows = nullptr;
    float* squares = nullptr;  // one Adagrad accumulator a row, or null for plain SGD
    std::int64_t count = 0;
    std::int64_t frozen = 0;  // rows before this one stay as they are (folding in new rows)
    int groups = 0;                // a row is this many times 16 floats
    int dim = 0;                   // of which so many are parameters under the norm
    const float* radii = nullptr;  // the ball of the papers: the norm of a row stays at most this
    std::int64_t stride = std::int64_t{groups} * kLanes;  // floats from one row to the next

    float* row(std::int64_t i) const { return rows + i * stride; }
};

// The lanes added up in halves.
TOPWISE_INLINE float sum(const Lanes& v) {
    typedef float Eight __attribute__((vector_size(32)));
    typedef float Four __attribute__((vector_size(16)));
    const Eight eight = __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7) +
                        __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15);
    const Four four = __builtin_shufflevector(eight, eight, 0, 1, 2, 3) + __builtin_shufflevector(eight, eight, 4, 5, 6, 7);
    const Four two = four + __builtin_shufflevector(four, four, 2, 3, 2, 3);
    return two[0] + two[1];
}

TOPWISE_INLINE float dot(const float* a, const float* b, int groups) {
    if (groups == 4) {  // the usual size, unrolled
        const Lanes left = lanes(a) * lanes(b) + lanes(a + kLanes) * lanes(b + kLanes);
        const Lanes right = lanes(a + 2 * kLanes) * lanes(b + 2 * kLanes) + lanes(a + 3 * kLanes) * lanes(b + 3 * kLanes);
        return sum(left + right);
    }
    Lanes total = lanes(a) * lanes(b);
    for (int g = 1; g < groups; ++g) total += lanes(a + g * kLanes) * lanes(b + g * kLanes);
    return sum(total);
}

// The products of one row with four others; the sums of the lanes share their last additions.
struct FourRows {
    const float* row[4];
};
struct FourScores {
    float of[4];
};
TOPWISE_INLINE FourScores dot(const float* a, const FourRows& b, int groups) {
    typedef float Eight __attribute__((vector_size(32)));
    typedef float Four __attribute__((vector_size(16)));
    Lanes total[4] = {};
    for (int g = 0; g < groups; ++g) {
        const Lanes left = lanes(a + g * kLanes);
        TOPWISE_UNROLL for (int i = 0; i < 4; ++i) total[i] += left * lanes(b.row[i] + g * kLanes);
    }
    Four four[4];
    TOPWISE_UNROLL for (int i = 0; i < 4; ++i) {
        const Eight eight = __builtin_shufflevector(total[i], total[i], 0, 1, 2, 3, 4, 5, 6, 7) +
                            __builtin_shufflevector(total[i], total[i], 8, 9, 10, 11, 12, 13, 14, 15);
        four[i] = __builtin_shufflevector(eight, eight, 0, 1, 2, 3) + __builtin_shufflevector(eight, eight, 4, 5, 6, 7);
    }
    const Four first = __builtin_shufflevector(four[0], four[1], 0, 1, 4, 5) + __builtin_shufflevector(four[0], four[1], 2, 3, 6, 7);
    const Four second = __builtin_shufflevector(four[2], four[3], 0, 1, 4, 5) + __builtin_shufflevector(four[2], four[3], 2, 3, 6, 7);
    const Four sums = __builtin_shufflevector(first, second, 0, 2, 4, 6) + __builtin_shufflevector(first, second, 1, 3, 5, 7);
    return {{sums[0], sums[1], sums[2], sums[3]}};
}

TOPWISE_INLINE void prefetch(const float* row, int groups) {
    for (int g = 0; g < groups; ++g) __builtin_prefetch(row + g * kLanes);
}

// to += scale * from; returns the new squared norm.
TOPWISE_INLINE float add(float* to, float scale, const float* from, int groups) {
    Lanes squares = {};
    for (int g = 0; g < groups; ++g) {
        const Lanes moved = lanes(static_cast<const float*>(to + g * kLanes)) + scale * lanes(from + g * kLanes);
        lanes(to + g * kLanes) = moved;
        squares += moved * moved;
    }
    return sum(squares);
}

TOPWISE_INLINE void scale(float* row, float factor, int groups) {
    for (int g = 0; g < groups; ++g) lanes(row + g * kLanes) *= factor;
}

// Shortens a row to the radius of its ball. Columns past `dim` (a bias) are outside it.
TOPWISE_INLINE void keep_in_ball(const Table& table, std::int64_t index, float norm2) {
    float* row = table.row(index);
    for (int j = table.dim; j < table.groups * kLanes; ++j) norm2 -= row[j] * row[j];
    const float radius = table.radii[index];
    if (norm2 > radius * radius) {
        const float shrink = radius / std::sqrt(norm2);
        for (int j = 0; j < table.dim; ++j) row[j] *= shrink;
    }
}

// One step of a row along `direction`, whose squared norm is `length2`: plain SGD, or Adagrad with one accumulator for
// the whole row (the mean square of the gradient), then back into the ball.
TOPWISE_INLINE void step(const Table& table, std::int64_t index, float factor, const float* direction, float length2,
                         float rate) {
    if (index < table.frozen) return;
    float* row = table.row(index);
    if (table.squares != nullptr) {
        const float seen = table.squares[index] += factor * factor * length2 / static_cast<float>(table.dim);
        rate /= std::sqrt(seen);
    }
    keep_in_ball(table, index, add(row, rate * factor, direction, table.groups));
}

}  // namespace topwise
