// How the targets of one context stand among the scores of the catalogue.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "simd.hpp"

namespace topwise {

// Below every score, and never counted.
inline constexpr float kStruckOut = -std::numeric_limits<float>::infinity();

// Counts by one comparison for each score and threshold: best for few thresholds.
TOPWISE_CLONES inline void count_pairs(std::span<const float> scores, std::span<const float> thresholds,
                                       std::int32_t* greater, std::int32_t* equal) {
    for (std::size_t t = 0; t < thresholds.size(); ++t) {
        const float threshold = thresholds[t];
        std::int32_t above = 0, same = 0;
        for (const float score : scores) {
            above += score > threshold;
            same += score == threshold;
        }
        greater[t] += above;
        equal[t] += same;
    }
}

// Counts by binary search among the sorted thresholds: best for many.
class Ladder {
  public:
    explicit Ladder(std::span<const float> thresholds) : order_(thresholds.size()) {
        const float none = std::numeric_limits<float>::infinity();
        std::iota(order_.begin(), order_.end(), std::size_t{0});
        std::sort(order_.begin(), order_.end(),
                  [&](std::size_t a, std::size_t b) { return thresholds[a] < thresholds[b]; });
        rungs_.assign(std::bit_ceil(thresholds.size() + 1), none);
        std::transform(order_.begin(), order_.end(), rungs_.begin(),
                       [&](std::size_t t) { return thresholds[t]; });
        stopped_.resize(rungs_.size());
        same_.resize(rungs_.size());
    }

    // A score climbs to the first rung that is not below it. `scores` come by the panel.
    TOPWISE_CLONES void count(std::span<const float> scores) {
        const float* rungs = rungs_.data();
        for (std::size_t i = 0; i < scores.size(); i += kLanes) {
            const float* score = scores.data() + i;
            std::int32_t at[kLanes] = {};
            for (auto step = static_cast<std::int32_t>(rungs_.size() / 2); step > 0; step /= 2) {
                for (int l = 0; l < kLanes; ++l) at[l] += rungs[at[l] + step - 1] < score[l] ? step : 0;
            }
            for (int l = 0; l < kLanes; ++l) {
                ++stopped_[at[l]];
                same_[at[l]] += rungs[at[l]] == score[l];
            }
        }
    }

    // What stopped on a rung above a threshold's is greater; of equal thresholds, the first one saw the ties.
    void read(std::int32_t* greater, std::int32_t* equal) const {
        std::int32_t above = 0;
        for (std::size_t i = order_.size(); i-- > 0;) {
            above += stopped_[i + 1];
            greater[order_[i]] = above;
        }
        std::size_t first = 0;
        for (std::size_t i = 0; i < order_.size(); ++i) {
            if (rungs_[i] != rungs_[first]) first = i;
            equal[order_[i]] = same_[first];
        }
    }

  private:
    std::vector<std::size_t> order_;
    std::vector<float> rungs_;
    std::vector<std::int32_t> stopped_, same_;
};

// The targets of one context, while the scores of the catalogue pass by.
class TargetCounts {
  public:
    // `targets` and `excluded` are sorted; `greater` and `equal`, one entry for each target, start at zero.
    TargetCounts(std::span<const std::int32_t> targets, std::span<const std::int32_t> excluded,
                 std::vector<float> thresholds, std::int32_t* greater, std::int32_t* equal)
        : targets_(targets),
          excluded_(excluded),
          thresholds_(std::move(thresholds)),
          greater_(greater),
          equal_(equal) {
        if (thresholds_.size() > kFewThresholds) ladder_.emplace(thresholds_);
    }

    // Takes the scores of items first, first + 1, ... by the panel, and strikes out those that do not count.
    void count(std::span<float> scores, std::int64_t first) {
        strike(scores, first, targets_);
        strike(scores, first, excluded_);
        if (ladder_) {
            ladder_->count(scores);
        } else {
            count_pairs(scores, thresholds_, greater_, equal_);
        }
    }

    void finish() {
        if (ladder_) ladder_->read(greater_, equal_);
    }

  private:
    // Where searching among the thresholds overtakes comparing with each.
    static constexpr std::size_t kFewThresholds = 100;

    static void strike(std::span<float> scores, std::int64_t first, std::span<const std::int32_t> items) {
        const std::int64_t end = first + std::ssize(scores);
        auto item = std::lower_bound(items.begin(), items.end(), first);
        for (; item != items.end() && *item < end; ++item) {
            scores[*item - first] = kStruckOut;
        }
    }

    std::span<const std::int32_t> targets_, excluded_;
    std::vector<float> thresholds_;
    std::optional<Ladder> ladder_;
    std::int32_t *greater_, *equal_;
};

}  // namespace topwise
