// The rank of every target among the whole catalogue, as in rank.hpp, for contexts of several vectors: the score of an
// item is the largest of its products with them, or their sum weighted by their order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "compositions/order_weights.hpp"
#include "rank.hpp"

namespace topwise {

// Contexts as stretches of rows: those of context c are indptr[c] .. indptr[c + 1].
struct Tastes {
    Matrix rows;
    std::span<const std::int64_t> indptr;
    float smooth = 0;

    std::int64_t contexts() const { return static_cast<std::int64_t>(indptr.size()) - 1; }
    int count(std::int64_t context) const { return static_cast<int>(indptr[context + 1] - indptr[context]); }

    void check_them() const {
        check(!indptr.empty() && indptr.front() == 0 && indptr.back() == rows.rows, "indptr must end at the rows of tastes");
        for (std::size_t c = 1; c < indptr.size(); ++c)
            check(indptr[c] > indptr[c - 1], "every context must have a taste at least");
        check(smooth >= 0 && smooth <= 1, [&] { return "smooth must be 0 to 1, got " + show(smooth); });
    }
};

// Turns `count` rows of scores, `stride` apart, into the scores of the context: into the first of them.
TOPWISE_CLONES inline void combine(float* scores, std::int64_t length, std::int64_t stride, int count,
                                   const float* weights) {
    for (std::int64_t at = 0; at < length; at += kLanes) {
        float* first = scores + at;
        if (weights == nullptr) {
            Lanes most = lanes(static_cast<const float*>(first));
            for (int t = 1; t < count; ++t) {
                const Lanes next = lanes(static_cast<const float*>(first + t * stride));
                most = next > most ? next : most;
            }
            lanes(first) = most;
            continue;
        }
        // Each round brings the largest of what is left to the front.
        Lanes total = {};
        for (int round = 0; round < count; ++round) {
            Lanes most = lanes(static_cast<const float*>(first + round * stride));
            for (int t = round + 1; t < count; ++t) {
                const Lanes next = lanes(static_cast<const float*>(first + t * stride));
                lanes(first + t * stride) = next > most ? most : next;
                most = next > most ? next : most;
            }
            total += weights[round] * most;
        }
        lanes(first) = total;
    }
}

class TasteRanker {
  public:
    TasteRanker(const Tastes& tastes, const Matrix& items, const RowLists& targets, const RowLists& exclude)
        : tastes_(tastes), items_(items), targets_(targets), exclude_(exclude), panels_(items.rows, items.cols) {
        for (std::int64_t i = 0; i < items.rows; ++i) panels_.set(i, items.row(i));
    }

    void rank(std::int64_t context, Ranks& ranks) const {
        const std::int64_t at = targets_.indptr[context];
        const ContextTiles tiles = tiles_of(context);
        const int count = tastes_.count(context);
        const std::vector<float> weights = tastes_.smooth > 0 ? order_weights(count, tastes_.smooth) : std::vector<float>{};
        const float* order = weights.empty() ? nullptr : weights.data();
        TargetCounts counts(targets_.row(context), exclude_.row(context),
                            scores_of(targets_.row(context), tiles, count, order), ranks.greater.data() + at,
                            ranks.equal.data() + at);
        AlignedFloats scores(whole_tiles(count) * kSlab);
        for (std::int64_t begin = 0; begin < panels_.blocks(); begin += kSlab / kLanes) {
            const std::int64_t end = std::min(panels_.blocks(), begin + kSlab / kLanes);
            const std::int64_t length = (end - begin) * kLanes;
            score(tiles, count, panels_, begin, end, scores.get(), kSlab);
            combine(scores.get(), length, kSlab, count, order);
            const std::int64_t real = std::min(length, items_.rows - begin * kLanes);
            std::fill(scores.get() + real, scores.get() + length, kStruckOut);  // the last panel's missing items
            counts.count({scores.get(), scores.get() + length}, begin * kLanes);
        }
        counts.finish();
    }

  private:
    static constexpr std::int64_t kSlab = 1024;

    // The kernel may write scores of rows that a tile has room for.
    static std::int64_t whole_tiles(int count) { return (count + kTileRows - 1) / kTileRows * kTileRows; }

    ContextTiles tiles_of(std::int64_t context) const {
        const int count = tastes_.count(context);
        ContextTiles tiles(count, items_.cols);
        for (int t = 0; t < count; ++t) tiles.set(t, tastes_.rows.row(tastes_.indptr[context] + t));
        return tiles;
    }

    static void score(const ContextTiles& tiles, int count, const ItemPanels& panels, std::int64_t begin, std::int64_t end,
                      float* out, std::int64_t stride) {
        for (int first = 0; first < count; first += kTileRows) {
            score_panels(tiles.block(first / kTileRows), std::min(kTileRows, count - first), panels, begin, end,
                         out + first * stride, stride);
        }
    }

    // The scores of a few items, by the kernel that scores all of them.
    std::vector<float> scores_of(std::span<const std::int32_t> chosen, const ContextTiles& tiles, int count,
                                 const float* weights) const {
        ItemPanels panels(std::ssize(chosen), items_.cols);
        for (std::int64_t i = 0; i < panels.rows(); ++i) panels.set(i, items_.row(chosen[i]));
        const std::int64_t length = panels.blocks() * kLanes;
        AlignedFloats scores(whole_tiles(count) * length);
        score(tiles, count, panels, 0, panels.blocks(), scores.get(), length);
        combine(scores.get(), length, length, count, weights);
        return {scores.get(), scores.get() + chosen.size()};
    }

    Tastes tastes_;
    Matrix items_;
    RowLists targets_, exclude_;
    ItemPanels panels_;
};

// As rank_items, for contexts of several vectors.
inline Ranks rank_tastes(const Tastes& tastes, const Matrix& items, const RowLists& targets, const RowLists& exclude,
                         int threads, const std::function<void()>& poll = {}) {
    check_items(items);
    tastes.check_them();
    double longest = 0;
    for (std::int64_t i = 0; i < items.rows; ++i) longest = std::max(longest, norm(items.row(i), items.cols));
    check_contexts(tastes.rows, items.cols, longest);
    check_lists(targets, tastes.contexts(), items.rows, "targets");
    check_lists(exclude, tastes.contexts(), items.rows, "exclude");

    const TasteRanker ranker(tastes, items, targets, exclude);
    Ranks ranks{std::vector<std::int32_t>(targets.indices.size()), std::vector<std::int32_t>(targets.indices.size())};
    parallel_for(tastes.contexts(), 4, threads, [&](std::int64_t begin, std::int64_t end, int worker) {
        if (worker == 0 && poll) poll();
        for (std::int64_t context = begin; context < end; ++context)
            if (!targets.row(context).empty()) ranker.rank(context, ranks);
    });
    return ranks;
}

}  // namespace topwise
