// What the kernels read: borrowed matrices and ragged lists, checked once before any kernel runs.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>

#include "check.hpp"

namespace topwise {

// A borrowed matrix of floats, row after row.
struct Matrix {
    const float* data = nullptr;
    std::int64_t rows = 0;
    std::int64_t cols = 0;

    const float* row(std::int64_t i) const { return data + i * cols; }
};

// A borrowed list of column numbers for each row (the index arrays of a CSR matrix).
struct RowLists {
    std::span<const std::int64_t> indptr;
    std::span<const std::int32_t> indices;

    std::int64_t rows() const { return static_cast<std::int64_t>(indptr.size()) - 1; }
    std::span<const std::int32_t> row(std::int64_t i) const {
        return indices.subspan(indptr[i], indptr[i + 1] - indptr[i]);
    }
};

inline double norm(const float* row, std::int64_t dim) {
    double sum = 0;
    for (std::int64_t j = 0; j < dim; ++j) sum += double(row[j]) * double(row[j]);
    return std::sqrt(sum);
}

inline void check_finite(const Matrix& matrix, const char* name) {
    for (std::int64_t i = 0; i < matrix.rows; ++i) {
        const float* row = matrix.row(i);
        bool finite = true;
        for (std::int64_t j = 0; j < matrix.cols; ++j) finite &= std::isfinite(row[j]);
        check(finite, [&] {
            std::int64_t j = 0;
            while (std::isfinite(row[j])) ++j;
            return std::string(name) + " must be finite, got " + show(row[j]) + " at row " +
                   std::to_string(i) + ", column " + std::to_string(j);
        });
    }
}

// Items are numbered by 32 bits, and a row without coordinates has no score.
inline void check_items(const Matrix& items) {
    check(items.cols >= 1, [&] { return "dim must be at least 1, got " + std::to_string(items.cols); });
    check(items.rows < std::numeric_limits<std::int32_t>::max(), [&] {
        return "items must be fewer than 2147483647, got " + std::to_string(items.rows) + "; split them";
    });
    check_finite(items, "items");
}

// By Cauchy-Schwarz, no partial sum of a dot product overflows where the product of the rows' norms does not.
inline void check_contexts(const Matrix& contexts, std::int64_t dim, double longest_item) {
    check(contexts.cols == dim, [&] {
        return "contexts must have as many columns as items (" + std::to_string(dim) + "), got " +
               std::to_string(contexts.cols);
    });
    check_finite(contexts, "contexts");
    for (std::int64_t i = 0; i < contexts.rows; ++i) {
        const double length = norm(contexts.row(i), dim);
        check(length * longest_item < 0.5 * std::numeric_limits<float>::max(), [&] {
            return "scores must fit float32: context " + std::to_string(i) + " has norm " + show(length) +
                   " and the longest item " + show(longest_item) + "; scale the vectors down";
        });
    }
}

inline void check_lists(const RowLists& lists, std::int64_t rows, std::int64_t cols,
                        const std::string& name) {
    check(lists.rows() == rows, [&] {
        return name + "_indptr must have one entry more than contexts (" + std::to_string(rows + 1) +
               "), got " + std::to_string(lists.indptr.size());
    });
    const auto stored = static_cast<std::int64_t>(lists.indices.size());
    check(lists.indptr.front() == 0 && lists.indptr.back() == stored, [&] {
        return name + "_indptr must go from 0 to the number of entries (" + std::to_string(stored) +
               "), got " + std::to_string(lists.indptr.front()) + " to " +
               std::to_string(lists.indptr.back());
    });
    for (std::int64_t i = 0; i < rows; ++i) {
        check(lists.indptr[i] <= lists.indptr[i + 1],
              [&] { return name + "_indptr must not decrease, but does after row " + std::to_string(i); });
    }
    for (std::int64_t i = 0; i < rows; ++i) {
        std::int64_t previous = -1;
        for (const std::int32_t item : lists.row(i)) {
            check(item > previous && item < cols, [&] {
                return name + " of row " + std::to_string(i) + " must be sorted, unique and in 0.." +
                       std::to_string(cols - 1) + ", got " + std::to_string(item) + " after " +
                       std::to_string(previous);
            });
            previous = item;
        }
    }
}

}  // namespace topwise
