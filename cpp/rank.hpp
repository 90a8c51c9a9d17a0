// The rank of every target among the whole catalogue, exactly, with never more than a slab of scores in
// memory.
//
// For twelve contexts and a slab of items at a time: score them in registers, strike out what a context
// leaves aside, and count, for each of its targets, the scores above it and those equal to it. A target's own
// score comes from the same kernel, so that equal rows are exact ties.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "panels.hpp"
#include "parallel.hpp"
#include "simd.hpp"
#include "target_counts.hpp"
#include "views.hpp"

namespace topwise {

// For each target: the items that score above it, and those that score the same.
struct Ranks {
    std::vector<std::int32_t> greater;
    std::vector<std::int32_t> equal;
};

// Scores `rows` contexts of a tile with the panels begin..end-1. Those of context r start at out + r *
// stride.
TOPWISE_CLONES inline void score_panels(const float* tile, int rows, const ItemPanels& panels,
                                        std::int64_t begin, std::int64_t end, float* out,
                                        std::int64_t stride) {
    for_each_piece(rows, accumulators(), [&]<int Rows>(int first) __attribute__((always_inline)) {
        float* to = out + first * stride;
        for (std::int64_t panel = begin; panel < end; ++panel, to += kLanes) {
            score_tile<Rows>(tile + first, panels.block(panel), panels.dim(), to, stride);
        }
    });
}

// Ranks the targets of a few contexts at a time. Item rows are borrowed as well as packed.
class Ranker {
  public:
    Ranker(const Matrix& contexts, const Matrix& items, const RowLists& targets, const RowLists& exclude)
        : contexts_(contexts),
          items_(items),
          targets_(targets),
          exclude_(exclude),
          panels_(items.rows, items.cols) {
        for (std::int64_t i = 0; i < items.rows; ++i) panels_.set(i, items.row(i));
    }

    void rank(std::span<const std::int64_t> rows, Ranks& ranks) const {
        ContextTiles tiles(std::ssize(rows), contexts_.cols);
        std::vector<TargetCounts> counts;
        for (std::int64_t i = 0; i < tiles.rows(); ++i) {
            const std::int64_t row = rows[i];
            const std::int64_t at = targets_.indptr[row];
            tiles.set(i, contexts_.row(row));
            counts.emplace_back(targets_.row(row), exclude_.row(row),
                                scores_of(targets_.row(row), contexts_.row(row)), ranks.greater.data() + at,
                                ranks.equal.data() + at);
        }
        AlignedFloats scores(kTileRows * kSlab);
        for (std::int64_t begin = 0; begin < panels_.blocks(); begin += kSlab / kLanes) {
            const std::int64_t end = std::min(panels_.blocks(), begin + kSlab / kLanes);
            for (std::int64_t first = 0; first < tiles.rows(); first += kTileRows) {
                const auto height = static_cast<int>(std::min<std::int64_t>(kTileRows, tiles.rows() - first));
                score_panels(tiles.block(first / kTileRows), height, panels_, begin, end, scores.get(),
                             kSlab);
                for (int r = 0; r < height; ++r) {
                    float* row = scores.get() + r * kSlab;
                    strike_padding({row, row + (end - begin) * kLanes}, begin * kLanes);
                    counts[first + r].count({row, row + (end - begin) * kLanes}, begin * kLanes);
                }
            }
        }
        for (TargetCounts& count : counts) count.finish();
    }

  private:
    // Items scored before they are counted, so that the scores are still in a near cache then.
    static constexpr std::int64_t kSlab = 1024;

    // The last panel's missing items are zero rows, which would score 0.
    void strike_padding(std::span<float> scores, std::int64_t first) const {
        const std::int64_t real = std::min(std::ssize(scores), items_.rows - first);
        std::fill(scores.begin() + real, scores.end(), kStruckOut);
    }

    // The scores of a few items for one context, by the kernel that scores all of them.
    std::vector<float> scores_of(std::span<const std::int32_t> chosen, const float* context) const {
        ContextTiles tile(1, items_.cols);
        ItemPanels panels(std::ssize(chosen), items_.cols);
        AlignedFloats scores(panels.blocks() * kLanes);
        tile.set(0, context);
        for (std::int64_t i = 0; i < panels.rows(); ++i) panels.set(i, items_.row(chosen[i]));
        score_panels(tile.block(0), 1, panels, 0, panels.blocks(), scores.get(), kLanes);
        return {scores.get(), scores.get() + chosen.size()};
    }

    Matrix contexts_, items_;
    RowLists targets_, exclude_;
    ItemPanels panels_;
};

// Contexts a worker takes at once, so that a slab of items read from memory serves them all.
inline constexpr std::int64_t kRowsAtOnce = 4 * kTileRows;

// For each target of a row of `targets`: how many items score above it for the row's context, and how many
// the same, among those that are neither targets nor excluded. `poll` is called now and then by the calling
// thread, and may throw.
inline Ranks rank_items(const Matrix& contexts, const Matrix& items, const RowLists& targets,
                        const RowLists& exclude, int threads, const std::function<void()>& poll = {}) {
    check_items(items);
    double longest = 0;
    for (std::int64_t i = 0; i < items.rows; ++i) longest = std::max(longest, norm(items.row(i), items.cols));
    check_contexts(contexts, items.cols, longest);
    check_lists(targets, contexts.rows, items.rows, "targets");
    check_lists(exclude, contexts.rows, items.rows, "exclude");

    std::vector<std::int64_t> rows;
    for (std::int64_t row = 0; row < contexts.rows; ++row) {
        if (!targets.row(row).empty()) rows.push_back(row);
    }
    const Ranker ranker(contexts, items, targets, exclude);
    Ranks ranks{std::vector<std::int32_t>(targets.indices.size()),
                std::vector<std::int32_t>(targets.indices.size())};
    auto body = [&](std::int64_t begin, std::int64_t end, int worker) {
        if (worker == 0 && poll) poll();
        ranker.rank({rows.data() + begin, rows.data() + end}, ranks);
    };
    const std::int64_t chunk = even_chunk(std::ssize(rows), kRowsAtOnce, kTileRows, threads);
    parallel_for(std::ssize(rows), chunk, threads, body);
    return ranks;
}

}  // namespace topwise
