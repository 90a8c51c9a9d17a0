// L-GMML's composition: φ(query) = −Δ_q with Δ_q ≥ 0, ψ_r(p) = e^{−‖p−p_r‖} ‖p−p_r‖, which is fixed. A query's
// catalogue is its own candidates, so the loop is Algorithm 2's: draw a positive, draw less relevant candidates until
// one violates the margin, weigh by NDCG's L, step along Δ (equation 21), project onto Δ ≥ 0.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "loss.hpp"
#include "parallel.hpp"
#include "rng.hpp"
#include "scratch.hpp"
#include "table.hpp"
#include "train.hpp"
#include "views.hpp"

namespace topwise {

// Candidates by query, in each query by rising grade: the less relevant ones of a row are the first `lower` rows of its
// query. `psi` has a row for each, padded to whole groups of 16.
struct Candidates {
    Table psi;
    std::span<const std::int64_t> indptr;
    std::span<const std::int32_t> lower;

    std::int64_t queries() const { return std::ssize(indptr) - 1; }
};

struct AnchorSteps {
    float margin = 0.1F;
    float rate = 0.1F;  // falls linearly to 0
    std::int32_t max_trials = 1;
    std::int64_t epochs = 1;
    std::uint64_t seed = 0;
};

// A positive, and where its query begins.
struct Positive {
    std::int64_t row, first;
};

// Learns one Δ from some positives, in place.
class DeltaLearner {
  public:
    DeltaLearner(const Candidates& candidates, const Loss& loss, const AnchorSteps& steps, float* delta)
        : candidates_(candidates),
          loss_(loss),
          steps_(steps),
          delta_(delta),
          total_(static_cast<std::size_t>(candidates.psi.groups)) {}

    // One pass. `counted`: whether Δ after each step counts for the mean.
    TOPWISE_INLINE void run(std::span<const Positive> positives, Rng& rng, float first_rate, float last_rate,
                            bool counted) {
        const int groups = candidates_.psi.groups;
        const float fall = (last_rate - first_rate) / static_cast<float>(positives.size());
        for (std::size_t i = 0; i < positives.size(); ++i) {
            step(positives[i], rng, first_rate + fall * static_cast<float>(i));
            if (counted) add(total_.data(), 1, delta_, groups);
        }
        if (counted) counted_ += static_cast<std::int64_t>(positives.size());
    }

    // Δ becomes its mean over the counted steps, which varies less than its last value.
    void take_mean() {
        if (counted_ == 0) return;
        for (std::size_t j = 0; j < total_.size(); ++j) delta_[j] = total_.data()[j] / static_cast<float>(counted_);
    }

    Progress progress;

  private:
    TOPWISE_INLINE void step(const Positive& positive, Rng& rng, float rate) {
        const int groups = candidates_.psi.groups;
        const std::int32_t lower = candidates_.lower[static_cast<std::size_t>(positive.row)];
        const float* const good = candidates_.psi.row(positive.row);
        const float wanted = dot(delta_, good, groups) + steps_.margin;  // −f(p+) + γ
        const std::int32_t most = std::min(lower, steps_.max_trials);
        loss_.others = lower;
        ++progress.steps;
        for (std::int32_t trial = 1; trial <= most; ++trial) {
            ++progress.trials;
            const float* const bad = candidates_.psi.row(positive.first + rng.below(static_cast<std::uint32_t>(lower)));
            const float hinge = wanted - dot(delta_, bad, groups);
            if (hinge <= 0) continue;
            const float weight = loss_.weight(trial, 1);
            ++progress.violations;
            progress.loss += static_cast<double>(weight * hinge);
            for (int g = 0; g < groups; ++g) {  // −∂l/∂Δ = L (ψ(p−) − ψ(p+))
                const Lanes moved = lanes(static_cast<const float*>(delta_ + g * kLanes)) +
                                    rate * weight * (lanes(bad + g * kLanes) - lanes(good + g * kLanes));
                lanes(delta_ + g * kLanes) = moved > 0 ? moved : Lanes{};
            }
            return;
        }
    }

    Candidates candidates_;
    Loss loss_;
    AnchorSteps steps_;
    float* delta_;
    AlignedRow total_;
    std::int64_t counted_ = 0;
};

TOPWISE_CLONES inline void run_pass(DeltaLearner& learner, std::span<const Positive> positives, Rng& rng, float first_rate,
                                    float last_rate, bool counted) {
    learner.run(positives, rng, first_rate, last_rate, counted);
}

inline void learn_delta(DeltaLearner& learner, std::vector<Positive>& positives, const AnchorSteps& steps,
                        std::uint64_t stream, const std::function<void()>& poll) {
    Rng rng(steps.seed, stream);
    const auto rate = [&](std::int64_t epoch) {
        return steps.rate * static_cast<float>(steps.epochs - epoch) / static_cast<float>(steps.epochs);
    };
    for (std::int64_t epoch = 0; epoch < steps.epochs; ++epoch) {
        if (poll) poll();
        shuffle(positives.data(), std::ssize(positives), rng);
        run_pass(learner, positives, rng, rate(epoch), rate(epoch + 1), 2 * epoch >= steps.epochs - 1);
    }
    learner.take_mean();
}

// Learns a Δ for each query, on all threads since none depends on another; or, where `deltas` has one row, one for all
// queries.
inline Progress learn_deltas(const Candidates& candidates, const Loss& loss, const AnchorSteps& steps, Table deltas,
                             int threads, const std::function<void()>& poll = {}) {
    const auto positives_of = [&](std::int64_t query, std::vector<Positive>& to) {
        const std::int64_t first = candidates.indptr[static_cast<std::size_t>(query)];
        const std::int64_t last = candidates.indptr[static_cast<std::size_t>(query) + 1];
        for (std::int64_t row = first; row < last; ++row)
            if (candidates.lower[static_cast<std::size_t>(row)] > 0) to.push_back({row, first});
    };
    Progress total;
    if (deltas.count == 1) {
        std::vector<Positive> positives;
        for (std::int64_t query = 0; query < candidates.queries(); ++query) positives_of(query, positives);
        DeltaLearner learner(candidates, loss, steps, deltas.row(0));
        learn_delta(learner, positives, steps, 0, poll);
        return learner.progress;
    }
    std::vector<Progress> progress(static_cast<std::size_t>(threads));
    parallel_for(candidates.queries(), 16, threads, [&](std::int64_t begin, std::int64_t end, int worker) {
        if (worker == 0 && poll) poll();
        std::vector<Positive> positives;
        for (std::int64_t query = begin; query < end; ++query) {
            positives.clear();
            positives_of(query, positives);
            DeltaLearner learner(candidates, loss, steps, deltas.row(query));
            learn_delta(learner, positives, steps, static_cast<std::uint64_t>(query), {});
            progress[static_cast<std::size_t>(worker)] += learner.progress;
        }
    });
    for (const Progress& each : progress) total += each;
    return total;
}

}  // namespace topwise
