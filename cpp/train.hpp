// The one loop of the package: pick a context and a positive, draw negatives, weigh the violation, step, project.
//
// An epoch visits every context in pieces of some positives each. Contexts are dealt to the workers once and for all.
// With `blocks` above 1 the items are dealt anew each epoch into as many blocks, and an epoch is as many rounds: in
// each, a worker takes the positives and draws the negatives of one block, and no two workers hold the same block. So
// no row is written by two threads, nothing waits for a cache line of another core, and any fixed number of threads
// gives the same result each time. With one block the workers share the items' rows without locks (Hogwild).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "compositions/rows.hpp"
#include "compositions/tastes.hpp"
#include "draws.hpp"
#include "log.hpp"
#include "loss.hpp"
#include "overlap.hpp"
#include "parallel.hpp"
#include "rng.hpp"
#include "scratch.hpp"
#include "table.hpp"
#include "views.hpp"

namespace topwise {

struct Epoch {
    std::uint64_t seed = 0;
    std::int64_t number = 0;
    float first_rate = 0, last_rate = 0;  // the learning rate falls linearly within the epoch
};

struct Progress {
    std::int64_t steps = 0, trials = 0, violations = 0;
    double loss = 0;

    void operator+=(const Progress& other) {
        steps += other.steps;
        trials += other.trials;
        violations += other.violations;
        loss += other.loss;
    }
};

struct Settings {
    int threads = 1;
    int blocks = 1;
    int rounds = 1;  // a multiple of blocks; materialised items are refreshed between rounds
    int visit = 32;  // positives of a context taken at a time
    bool apart = false;  // contexts share nothing that moves: what is random for one follows from its number alone,
    std::int64_t first_context = 0;  // which is counted from this one on
};

// What all workers share during an epoch.
struct Shared {
    const Log& log;
    const Loss& loss;
    const Overlap& overlap;
    const Settings& settings;
    const Epoch& epoch;
    std::span<const std::uint8_t> block_of;              // of each item
    const std::vector<std::vector<std::int32_t>>& block;  // the items of each block; none: all
    const std::vector<std::int32_t>& undrawable;
    bool prefetch;  // the items' rows are too many for the second-level cache
};

template <class Context, class Items>
class alignas(256) Worker {  // no two workers in neighbouring cache lines
  public:
    Worker(const Shared& shared, Context context, Items items, int groups, int dim, bool bias, std::uint64_t stream)
        : log_(shared.log),
          loss_(shared.loss),
          shared_(shared),
          overlap_(shared.overlap),
          context_(std::move(context)),
          items_(std::move(items)),
          groups_(groups),
          dim_(dim),
          bias_(bias),
          rng_(shared.epoch.seed, static_cast<std::uint64_t>(shared.epoch.number) * 4096 + stream, 1),
          direction_(static_cast<std::size_t>(groups)),
          taken_(static_cast<std::size_t>((shared.log.items + 63) / 64)),
          found_(static_cast<std::size_t>(shared.loss.violators)) {
        if (loss_.exact) scores_.resize(static_cast<std::size_t>(log_.items / kLanes + 1));
    }

    // The negatives of a round come from one block.
    void begin_round(int block) {
        draws_.begin(rng_, shared_.block[static_cast<std::size_t>(block)], log_.items);
    }

    // The positives `part` of `parts` of a context, as far as they are in the round's block.
    TOPWISE_INLINE void visit(std::int64_t context, std::int64_t part, std::int64_t parts, int block, float rate) {
        gather(context, part, parts, block);
        if (batch_.empty()) return;
        known_ = log_.known.row(context);
        if (static_cast<std::int64_t>(known_.size()) >= log_.items) return;
        if (shared_.settings.apart) draw_apart(context, block);
        mark_known(true);
        rate_ = rate;
        context_.begin(context);
        overlap_.begin(context);
        age_ = loss_.max_trials;  // scores of another context are no use
        for (std::size_t i = 0; i < batch_.size(); ++i) {
            if (loss_.positions.empty()) {
                step(batch_[i]);
            } else {
                step(order_statistic());
            }
        }
        context_.end(rate);
        mark_known(false);
    }

    Progress progress;

  private:
    static constexpr unsigned kAhead = 8;
    static constexpr std::int32_t kPatience = 4;  // draws a trial at most, for contexts that know nearly every item
    static constexpr float kNever = -std::numeric_limits<float>::max();

    struct Positive {
        std::int32_t item;
        float weight;
    };
    struct Violator {
        std::int32_t item;
        float score;
    };

    // The stream of a context whose visits depend on nothing but its number.
    void draw_apart(std::int64_t context, int block) {
        rng_ = Rng(shared_.epoch.seed, static_cast<std::uint64_t>(shared_.epoch.number) * 4096 + 4093, number(context));
        shuffle(batch_.data(), static_cast<std::int64_t>(batch_.size()), rng_);
        begin_round(block);
    }
    std::uint64_t number(std::int64_t context) const {
        return static_cast<std::uint64_t>(shared_.settings.first_context + context);
    }

    // A permutation i -> (offset + i * stride) mod n of the context's events, drawn anew each epoch, deals them to parts.
    void gather(std::int64_t context, std::int64_t part, std::int64_t parts, int block) {
        const std::int64_t first = log_.events.indptr[static_cast<std::size_t>(context)];
        const std::int64_t n = log_.events.indptr[static_cast<std::size_t>(context) + 1] - first;
        batch_.clear();
        if (n == 0) return;
        if (n == 1 && shared_.block_of.empty()) {
            const auto only = static_cast<std::size_t>(first);
            batch_.push_back({log_.events.indices[only], log_.weights.empty() ? 1.0F : log_.weights[only]});
            return;
        }
        const auto epoch = static_cast<std::uint64_t>(shared_.epoch.number);
        Rng own(shared_.epoch.seed, epoch * 4096 + 4095, number(context));
        std::int64_t stride = 1 + own.below(static_cast<std::uint32_t>(n));
        while (std::gcd(stride, n) != 1) ++stride;
        stride %= n;
        std::int64_t at = (own.below(static_cast<std::uint32_t>(n)) + (n * part / parts) % n * stride) % n;
        const std::int64_t begin = n * part / parts, end = n * (part + 1) / parts;
        const bool whole = shared_.block_of.empty();
        std::size_t count = 0;
        batch_.resize(static_cast<std::size_t>(end - begin));
        for (std::int64_t i = begin; i < end; ++i) {
            const auto event = static_cast<std::size_t>(first + at);
            const std::int32_t item = log_.events.indices[event];
            batch_[count] = {item, log_.weights.empty() ? 1.0F : log_.weights[event]};
            count += whole || shared_.block_of[static_cast<std::size_t>(item)] == block;  // a branch would be a coin
            at += stride;
            at -= at >= n ? n : 0;
        }
        batch_.resize(count);
        if (!shared_.settings.apart) shuffle(batch_.data(), static_cast<std::int64_t>(batch_.size()), rng_);
    }

    void mark_known(bool on) {
        for (const std::int32_t item : known_) {
            std::uint64_t& word = taken_[static_cast<std::size_t>(item >> 6)];
            const std::uint64_t bit = 1ULL << (item & 63);
            word = on ? word | bit : word & ~bit;
        }
    }
    TOPWISE_INLINE bool is_known(std::int32_t item) const {
        return (taken_[static_cast<std::size_t>(item >> 6)] >> (item & 63) & 1) != 0;
    }

    TOPWISE_INLINE float product(const float* psi) {
        if constexpr (ChoosesPhi<Context>) return context_.score(psi);
        else return dot(context_.phi(), psi, groups_);
    }
    TOPWISE_INLINE FourScores product(const FourRows& psi) {
        if constexpr (ChoosesPhi<Context>) return context_.score(psi);
        else return dot(context_.phi(), psi, groups_);
    }

    TOPWISE_INLINE float score(std::int32_t item) {
        const float own = product(items_.psi(item));
        return overlap_.empty() ? own : own + overlap_.score(item);
    }

    TOPWISE_INLINE void score_all() {
        float* scores = scores_.data();
        for (std::int32_t item = 0; item < log_.items; ++item) scores[item] = score(item);
        for (auto i = static_cast<std::size_t>(log_.items); i < scores_.size(); ++i) scores[i] = kNever;
        for (const std::int32_t item : known_) scores[item] = kNever;
        for (const std::int32_t item : shared_.undrawable) scores[item] = kNever;
        age_ = 0;
    }

    // WARP: draw until enough items are above the threshold; the rank is (D-1) K / N for K of them in N trials. A
    // known positive is no trial. The first trials are made one by one, since many positives have a violator among
    // them; the rest four at a time.
    TOPWISE_INLINE float draw_violators(float threshold) {
        constexpr std::int32_t kSingly = 2;
        const std::int32_t most = loss_.max_trials, wanted = loss_.violators;
        std::int32_t trials = 0, tries = 0, found = 0;
        const auto meet = [&](std::int32_t item, float score) {
            if (is_known(item)) return false;
            ++trials;
            if (score > threshold) found_[static_cast<std::size_t>(found++)] = {item, score};
            return found == wanted || trials == most;
        };
        bool done = false;
        for (; !done && tries < kSingly; ++tries) {
            const std::int32_t item = draws_.next();
            done = meet(item, score(item));
        }
        for (; !done && tries < kPatience * most; tries += 4) done = meet_four(meet);
        progress.trials += trials;
        count_ = found;
        return found == 0 ? 0 : loss_.weight(trials, found);
    }

    template <class Meet>
    TOPWISE_INLINE bool meet_four(const Meet& meet) {
        const std::int32_t* items = draws_.four();
        FourRows rows;
        TOPWISE_UNROLL for (int i = 0; i < 4; ++i) rows.row[i] = items_.psi(items[i]);
        if (shared_.prefetch) {
            TOPWISE_UNROLL for (unsigned i = 0; i < 4; ++i) prefetch(items_.psi(draws_.later(kAhead + i)), groups_);
        }
        FourScores scores = product(rows);
        if (!overlap_.empty()) {
            for (int i = 0; i < 4; ++i) scores.of[i] += overlap_.score(items[i]);
        }
        for (int i = 0; i < 4; ++i) {
            if (meet(items[i], scores.of[i])) return true;
        }
        return false;
    }

    // OWPC: the number of violators is the rank; as many of them as the loss wants are drawn, each as likely.
    TOPWISE_INLINE float count_violators(float threshold) {
        if (age_ >= loss_.max_trials) score_all();
        ++age_;
        const float* scores = scores_.data();
        const auto size = static_cast<std::int64_t>(log_.items);
        std::int32_t rank = 0;
        for (std::int64_t j = 0; j < size; ++j) rank += scores[j] > threshold;
        progress.trials += rank;
        count_ = 0;
        for (std::int32_t i = 0; i < std::min(rank, loss_.violators); ++i) {
            const std::int32_t item = violator(threshold, rng_.below(static_cast<std::uint32_t>(rank)));
            const float now = age_ > 1 ? score(item) : scores[item];
            if (now > threshold) found_[static_cast<std::size_t>(count_++)] = {item, now};
        }
        return loss_.weights[static_cast<std::size_t>(rank)];
    }

    // The item of that number among those above the threshold.
    TOPWISE_INLINE std::int32_t violator(float threshold, std::uint32_t number) const {
        const float* scores = scores_.data();
        std::int64_t at = 0;
        for (;; at += kLanes) {
            std::uint32_t here = 0;
            for (int lane = 0; lane < kLanes; ++lane) here += scores[at + lane] > threshold;
            if (number < here) break;
            number -= here;
        }
        while (!(scores[at] > threshold) || number-- > 0) ++at;
        return static_cast<std::int32_t>(at);
    }

    // K-OS: of K positives of the context, ordered by score, the one at a position drawn from P. With fewer positives
    // than K, position k of K becomes position ceil(k K'/K) of the K' there are.
    TOPWISE_INLINE Positive order_statistic() {
        const auto asked = static_cast<std::int64_t>(loss_.positions.size());
        const auto there = static_cast<std::int64_t>(batch_.size());
        const std::int64_t drawn = std::min(asked, there);
        ranked_.clear();
        for (std::int64_t i = 0; i < drawn; ++i) {
            const auto other = i + rng_.below(static_cast<std::uint32_t>(there - i));
            std::swap(batch_[static_cast<std::size_t>(i)], batch_[static_cast<std::size_t>(other)]);
            const std::int32_t item = batch_[static_cast<std::size_t>(i)].item;
            context_.without(item);
            ranked_.push_back({score(item), static_cast<std::int32_t>(i)});
        }
        std::sort(ranked_.begin(), ranked_.end(),
                  [](const auto& a, const auto& b) { return a.score > b.score || (a.score == b.score && a.at < b.at); });
        const float u = rng_.uniform();
        std::int64_t position = 1;
        while (position < asked && u >= loss_.positions[static_cast<std::size_t>(position - 1)]) ++position;
        position = (position * drawn + asked - 1) / asked;
        return batch_[static_cast<std::size_t>(ranked_[static_cast<std::size_t>(position - 1)].at)];
    }

    TOPWISE_INLINE void step(const Positive& positive) {
        ++progress.steps;
        if (!context_.without(positive.item)) return;
        const float threshold = score(positive.item) - loss_.margin;
        const float found_weight = loss_.exact ? count_violators(threshold) : draw_violators(threshold);
        if (count_ == 0) return;
        ++progress.violations;
        const float weight = found_weight * positive.weight;
        const float share = 1.0F / static_cast<float>(count_);
        for (std::int32_t i = 0; i < count_; ++i)
            progress.loss += static_cast<double>(weight * share) * (found_[static_cast<std::size_t>(i)].score - threshold);
        if (weight > 0) move(positive.item, weight, share);
    }

    // The same where items choose their phi.
    TOPWISE_INLINE void move(std::int32_t positive, float weight, float share)
        requires ChoosesPhi<Context>
    {
        const float* phi = context_.pull(items_.psi(positive), 1);
        phis_.clear();
        for (std::int32_t i = 0; i < count_; ++i)
            phis_.push_back(context_.pull(items_.psi(found_[static_cast<std::size_t>(i)].item), -share));
        items_.step(positive, weight, phi, dot(phi, phi, groups_), rate_);
        for (std::int32_t i = 0; i < count_; ++i) {
            const float* down = phis_[static_cast<std::size_t>(i)];
            items_.step(found_[static_cast<std::size_t>(i)].item, -weight * share, down, dot(down, down, groups_), rate_);
        }
        context_.step(weight, rate_);
    }

    // Along the gradient of weight * mean_j |margin - f(positive) + f(j)|+.
    TOPWISE_INLINE void move(std::int32_t positive, float weight, float share) {
        const float* phi = context_.phi();
        float* toward = direction_.data();
        const float* up = items_.psi(positive);
        for (int g = 0; g < groups_ * kLanes; g += kLanes) lanes(toward + g) = lanes(up + g);
        for (std::int32_t i = 0; i < count_; ++i) {
            const float* down = items_.psi(found_[static_cast<std::size_t>(i)].item);
            for (int g = 0; g < groups_ * kLanes; g += kLanes) lanes(toward + g) -= share * lanes(down + g);
        }
        if (bias_) toward[dim_] = 0;  // the context's coordinate there stays 1
        const float length2 = dot(toward, toward, groups_), phi2 = dot(phi, phi, groups_);
        items_.step(positive, weight, phi, phi2, rate_);
        for (std::int32_t i = 0; i < count_; ++i)
            items_.step(found_[static_cast<std::size_t>(i)].item, -weight * share, phi, phi2, rate_);
        context_.step(positive, weight, toward, length2, rate_);
    }

    struct Ranked {
        float score;
        std::int32_t at;
    };

    const Log& log_;
    const Loss& loss_;
    const Shared& shared_;
    Overlap overlap_;
    Context context_;
    Items items_;
    int groups_, dim_;
    bool bias_;
    Rng rng_;
    float rate_ = 0;
    std::vector<Positive> batch_;
    std::vector<Ranked> ranked_;
    std::span<const std::int32_t> known_;
    AlignedRow direction_, scores_;
    Draws draws_;
    std::vector<std::uint64_t> taken_;  // the context's known positives, a bit each
    std::vector<Violator> found_;
    std::vector<const float*> phis_;
    std::int32_t count_ = 0, age_ = 0;
};

}  // namespace topwise
