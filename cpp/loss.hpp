// A loss is plain data for the kernel: how a positive is picked, how negatives are drawn, and what a violation weighs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

namespace topwise {

// AUC:  one draw, weight constant.
// WARP: draw until enough items violate the margin, at most `max_trials`.
// OWPC: count the violators exactly, then draw among them.
struct Loss {
    float margin = 1;
    bool exact = false;
    bool corrected = false;
    std::int32_t max_trials = 1;  // with `exact`: the steps after which a context's scores are computed anew
    std::int32_t violators = 1;   // drawn at a step, which goes along the mean of their gradients
    std::int64_t others = 1;      // D - 1: the items beside the positive
    std::span<const float> weights;        // L(rank)
    std::span<const float> trial_weights;  // with `corrected` and one violator: of N trials
    // K-OS: draw K positives, order them by score, take position k ~ P (cumulative); empty: the event's own positive.
    std::span<const float> positions;

    // Of `found` violators in so many trials: the rank is estimated as (D-1) K / N, which is too high on average;
    // (D-1) (K-1) / (N-1) is not, and where K is 1 the weights themselves are corrected.
    float weight(std::int32_t trials, std::int32_t found) const {
        if (corrected && found == 1) return trial_weights[static_cast<std::size_t>(trials)];
        const std::int64_t rank = corrected ? others * (found - 1) / (trials - 1) : others * found / trials;
        return weights[static_cast<std::size_t>(std::clamp<std::int64_t>(rank, 1, others))];
    }
};

}  // namespace topwise
