// Distances of documents to anchors, each under a metric of its own: ‖L_rᵀ(p − p_r)‖ with M_r = L_r L_rᵀ.
//
// All columns of all L_r lie side by side as one matrix, so a tile of twelve documents runs through them like contexts
// through a catalogue, and what comes out of the registers is squared and added up at once: no product is ever stored.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>

#include "panels.hpp"
#include "parallel.hpp"
#include "simd.hpp"
#include "table.hpp"
#include "views.hpp"

namespace topwise {

// The columns of all metrics as rows of one matrix. A metric has `width` of them, filled up with zeros: a power of two
// below 16, or a multiple of 16. `centres` are L_rᵀ(p_r − origin), one number a column.
struct AnchorColumns {
    Matrix columns;
    std::span<const float> centres, origin;
    std::int64_t width = 0;

    std::int64_t anchors() const { return columns.rows / width; }
};

// The squared distances of the first `rows` documents of a tile to all anchors; `out` has `stride` of them a row.
TOPWISE_CLONES inline void tile_distances(const float* tile, int rows, const ItemPanels& panels, const float* centres,
                                          std::int64_t width, std::int64_t anchors, float* out, std::int64_t stride) {
    for_each_piece(rows, accumulators(), [&]<int Rows>(int first) __attribute__((always_inline)) {
        alignas(64) float products[kTileRows * kLanes];
        Lanes totals[Rows];
        const std::int64_t together = std::max<std::int64_t>(width / kLanes, 1);  // panels of a metric
        for (std::int64_t panel = 0; panel < panels.blocks(); ++panel) {
            score_tile<Rows>(tile + first, panels.block(panel), panels.dim(), products, kLanes);
            const Lanes centre = lanes(centres + panel * kLanes);
            const bool begins = panel % together == 0, ends = panel % together == together - 1;
            for (int r = 0; r < Rows; ++r) {
                const Lanes apart = lanes(static_cast<const float*>(products + r * kLanes)) - centre;
                totals[r] = begins ? apart * apart : totals[r] + apart * apart;
                if (!ends) continue;
                float* to = out + (first + r) * stride;
                if (width >= kLanes) {
                    to[panel / together] = sum(totals[r]);
                    continue;
                }
                const std::int64_t place = panel * kLanes / width;
                const std::int64_t count = std::min(kLanes / width, anchors - place);
                for (std::int64_t a = 0; a < count; ++a) {
                    float total = 0;
                    for (std::int64_t c = 0; c < width; ++c) total += totals[r][a * width + c];
                    to[place + a] = total;
                }
            }
        }
    });
}

// e^{−z} for z ≥ 0, to seven digits, in operations that every instruction set has for many numbers at once: 2^f by its
// series for the fraction f of −z / ln 2 nearest to 0, times 2^n by the bits of a float.
TOPWISE_INLINE float decay(float z) {
    const float power = std::max(z * -1.442695041F, -126.0F);
    const auto whole = static_cast<std::int32_t>(power - 0.5F);
    const float f = (power - static_cast<float>(whole)) * 0.6931471806F;
    const float series =
        1 + f * (1 + f * (0.5F + f * (1.0F / 6 + f * (1.0F / 24 + f * (1.0F / 120 + f * (1.0F / 720))))));
    return series * std::bit_cast<float>((whole + 127) << 23);
}

// −Σ_r Δ(r) e^{−z} z of one document after the other, from squares of z.
TOPWISE_CLONES inline void weigh_distances(float* squares, const float* const* weights, int rows, std::int64_t anchors,
                                           double* out) {
    for (int row = 0; row < rows; ++row) {
        float* z = squares + row * anchors;
        const float* weight = weights[row];
        for (std::int64_t r = 0; r < anchors; ++r) z[r] = std::sqrt(z[r]);
        float score = 0;
        for (std::int64_t r = 0; r < anchors; ++r) score += weight[r] * (decay(z[r]) * z[r]);
        out[row] = -static_cast<double>(score);
    }
}

class AnchorDistances {
  public:
    explicit AnchorDistances(const AnchorColumns& anchors)
        : anchors_(anchors),
          panels_(anchors.columns.rows, anchors.columns.cols),
          centres_(panels_.blocks() * kLanes) {
        check(anchors.width >= 1 && (anchors.width % kLanes == 0 || kLanes % anchors.width == 0),
              [&] { return "width must divide 16 or be a multiple of it, got " + std::to_string(anchors.width); });
        check(anchors.columns.rows >= 1 && anchors.columns.rows % anchors.width == 0,
              "columns must be as many for each anchor");
        check(std::ssize(anchors.centres) == anchors.columns.rows, "centres must be one a column");
        check(std::ssize(anchors.origin) == anchors.columns.cols, "origin must be one number a feature");
        for (std::int64_t i = 0; i < anchors.columns.rows; ++i) panels_.set(i, anchors.columns.row(i));
        std::copy(anchors.centres.begin(), anchors.centres.end(), centres_.get());
    }

    std::int64_t anchors() const { return anchors_.anchors(); }

    // out[row][r] = ‖L_rᵀ(p − p_r)‖ for each document p.
    void distances(const Matrix& documents, float* out, int threads, const std::function<void()>& poll = {}) const {
        each_tile(documents, threads, poll, [&](std::int64_t first, int rows, const float* squares) {
            float* to = out + first * anchors();
            for (std::int64_t i = 0; i < rows * anchors(); ++i) to[i] = std::sqrt(squares[i]);
        });
    }

    // The document's score, −Σ_r Δ(r) e^{−‖p − p_r‖} ‖p − p_r‖ (equation 13), without a matrix of distances. `weights`
    // has a row Δ for each query, or one for all; `query` is the row of each document, or empty.
    void scores(const Matrix& documents, const Matrix& weights, std::span<const std::int32_t> query, double* out,
                int threads, const std::function<void()>& poll = {}) const {
        check(weights.cols == anchors(), "weights must be one an anchor");
        check(query.empty() ? weights.rows == 1 : std::ssize(query) == documents.rows, "query must be one a document");
        for (const std::int32_t q : query) check(q >= 0 && q < weights.rows, "query must be a row of weights");
        each_tile(documents, threads, poll, [&](std::int64_t first, int rows, float* squares) {
            const float* weight[kTileRows];
            for (int r = 0; r < rows; ++r)
                weight[r] = weights.row(query.empty() ? 0 : query[static_cast<std::size_t>(first + r)]);
            weigh_distances(squares, weight, rows, anchors(), out + first);
        });
    }

  private:
    static constexpr std::int64_t kChunk = 64 * kTileRows;

    template <class Take>
    void each_tile(const Matrix& documents, int threads, const std::function<void()>& poll, Take&& take) const {
        check(documents.cols == panels_.dim(), [&] {
            return "documents must have " + std::to_string(panels_.dim()) + " features, got " +
                   std::to_string(documents.cols);
        });
        const std::int64_t chunk = even_chunk(documents.rows, kChunk, kTileRows, threads);
        parallel_for(documents.rows, chunk, threads, [&](std::int64_t begin, std::int64_t end, int worker) {
            if (worker == 0 && poll) poll();
            ContextTiles tile(kTileRows, panels_.dim());
            AlignedFloats centred(panels_.dim()), squares(kTileRows * anchors());
            for (std::int64_t first = begin; first < end; first += kTileRows) {
                const auto height = static_cast<int>(std::min<std::int64_t>(kTileRows, end - first));
                for (int r = 0; r < height; ++r) {
                    const float* row = documents.row(first + r);
                    for (std::int64_t j = 0; j < panels_.dim(); ++j) {
                        centred.get()[j] = row[j] - anchors_.origin[static_cast<std::size_t>(j)];
                    }
                    tile.set(r, centred.get());
                }
                tile_distances(tile.block(0), height, panels_, centres_.get(), anchors_.width, anchors(), squares.get(),
                               anchors());
                take(first, height, squares.get());
            }
        });
    }

    AnchorColumns anchors_;
    ItemPanels panels_;
    AlignedFloats centres_;
};

}  // namespace topwise
