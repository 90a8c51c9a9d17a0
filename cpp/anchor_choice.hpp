// How well each candidate for an anchor ranks some queries by the distance to it: Algorithm 2's choice of p_r.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "check.hpp"
#include "parallel.hpp"
#include "simd.hpp"
#include "views.hpp"

namespace topwise {

// out[i] = ‖place − document i‖² for some documents, all of them already multiplied by L.
TOPWISE_CLONES inline void square_distances(const float* place, const Matrix& documents, float* out) {
    for (std::int64_t i = 0; i < documents.rows; ++i) {
        const float* document = documents.row(i);
        float total = 0;
        for (std::int64_t j = 0; j < documents.cols; ++j) {
            const float apart = place[j] - document[j];
            total += apart * apart;
        }
        out[i] = total;
    }
}

// Σ_q NDCG of each place: the documents of a query by rising distance, ties as they stand, gains/log2(rank + 1) over
// what the best order has. Queries without gains add nothing.
inline std::vector<double> ndcg_of_places(const Matrix& places, const Matrix& documents,
                                          std::span<const std::int64_t> indptr, std::span<const float> gains,
                                          int threads, const std::function<void()>& poll = {}) {
    check(places.cols == documents.cols, "places and documents must have the same columns");
    check(!indptr.empty() && indptr.front() == 0 && indptr.back() == documents.rows &&
              std::is_sorted(indptr.begin(), indptr.end()),
          "indptr must rise from 0 to the number of documents");
    check(std::ssize(gains) == documents.rows, "gains must be one a document");
    std::int64_t longest = 0;
    for (std::size_t q = 0; q + 1 < indptr.size(); ++q) longest = std::max(longest, indptr[q + 1] - indptr[q]);
    std::vector<double> discount(static_cast<std::size_t>(longest)), ideal(indptr.size() - 1);
    for (std::size_t rank = 0; rank < discount.size(); ++rank)
        discount[rank] = 1 / std::log2(static_cast<double>(rank) + 2);
    for (std::size_t q = 0; q + 1 < indptr.size(); ++q) {
        std::vector<float> best(gains.begin() + indptr[q], gains.begin() + indptr[q + 1]);
        std::sort(best.begin(), best.end(), std::greater<>());
        for (std::size_t rank = 0; rank < best.size(); ++rank) ideal[q] += discount[rank] * static_cast<double>(best[rank]);
    }
    std::vector<double> quality(static_cast<std::size_t>(places.rows));
    parallel_for(places.rows, 4, threads, [&](std::int64_t begin, std::int64_t end, int worker) {
        if (worker == 0 && poll) poll();
        std::vector<float> squares(static_cast<std::size_t>(documents.rows));
        std::vector<std::pair<float, std::int64_t>> order;
        for (std::int64_t place = begin; place < end; ++place) {
            square_distances(places.row(place), documents, squares.data());
            double total = 0;
            for (std::size_t q = 0; q + 1 < indptr.size(); ++q) {
                if (ideal[q] <= 0) continue;
                order.clear();
                for (std::int64_t i = indptr[q]; i < indptr[q + 1]; ++i)
                    order.emplace_back(squares[static_cast<std::size_t>(i)], i);
                std::sort(order.begin(), order.end());
                double found = 0;
                for (std::size_t rank = 0; rank < order.size(); ++rank)
                    found += discount[rank] * static_cast<double>(gains[static_cast<std::size_t>(order[rank].second)]);
                total += found / ideal[q];
            }
            quality[static_cast<std::size_t>(place)] = total;
        }
    });
    return quality;
}

}  // namespace topwise
