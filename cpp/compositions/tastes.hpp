// A context of several vectors, of which the one that suits an item best speaks (MaxMF; the senses of a query):
//   f(u, d) = max_t U_tu . V_d
// or smoothed, the tastes weighted by their order for that item, w_1 >= w_2 >= ... of sum 1:
//   f(u, d) = sum_i w_i (the i-th largest of U_tu . V_d)
// So phi depends on the item: it is the winning taste, or sum_i w_i U_{o(i) u}. A step moves, for the positive and for
// each of the negatives, what spoke for it. With content, every taste is the sum of its own row and the content's.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "check.hpp"
#include "compositions/order_weights.hpp"
#include "compositions/rows.hpp"
#include "log.hpp"
#include "scratch.hpp"

namespace topwise {

class TasteContext {
  public:
    struct Source {
        using Context = TasteContext;
        Side side;
        std::span<const std::int64_t> indptr;  // the tastes of a context: rows side.first + indptr[c] .. indptr[c + 1]
        float smooth = 0;                      // w_{i+1} / w_i; 0 is the hard maximum

        void check_for(const Log& log, const Side&) const {
            check(static_cast<std::int64_t>(indptr.size()) > log.events.rows() && indptr[0] == 0,
                  "contexts must have tastes each");
            for (std::size_t c = 1; c < indptr.size(); ++c)
                check(indptr[c] > indptr[c - 1], "every context must have a taste at least");
            check(side.first + indptr.back() <= side.table.count, "tastes must have a row each");
            check(side.content.empty() || side.content.lists.rows() >= log.events.rows(),
                  "contexts must have a row of content each");
            check(smooth >= 0 && smooth <= 1, [&] { return "smooth must be 0 to 1, got " + show(smooth); });
        }
        template <class Do>
        void each_table(const Do& act) const {
            act(side.table);
        }
    };

    TasteContext(const Source& source, const Log&, const Side&)
        : side_(source.side), indptr_(source.indptr), smooth_(source.smooth), groups_(source.side.table.groups) {
        std::int64_t most = 1;
        for (std::size_t c = 1; c < indptr_.size(); ++c) most = std::max(most, indptr_[c] - indptr_[c - 1]);
        const auto size = static_cast<std::size_t>(most);
        gradient_.resize(size * static_cast<std::size_t>(groups_));
        touched_.resize(size);
        products_.resize(size);
        fours_.resize(size);
        if (side_.content.empty()) return;
        composed_.resize(size * static_cast<std::size_t>(groups_));
        content_.resize(static_cast<std::size_t>(groups_));
        pending_.resize(static_cast<std::size_t>(groups_));
    }

    TOPWISE_INLINE void begin(std::int64_t context) {
        context_ = context;
        row_ = side_.first + indptr_[static_cast<std::size_t>(context)];
        count_ = static_cast<int>(indptr_[static_cast<std::size_t>(context) + 1] - indptr_[static_cast<std::size_t>(context)]);
        if (smooth_ > 0 && static_cast<int>(weights_.size()) != count_) weights_ = order_weights(count_, smooth_);
        tastes_ = side_.table.row(row_);
        if (side_.content.empty()) return;
        Side bare = side_;
        bare.ids = false;
        compose(bare, context, content_.data());
        pending_.clear();
        tastes_ = composed_.data();
        for (int t = 0; t < count_; ++t) renew(t);
    }
    TOPWISE_INLINE bool without(std::int32_t) { return true; }

    // f of an item.
    TOPWISE_INLINE float score(const float* psi) {
        if (smooth_ > 0) return smoothed(psi);
        return best(psi).second;
    }

    // f of four items.
    TOPWISE_INLINE FourScores score(const FourRows& psi) {
        Four found = products(0, psi);
        if (smooth_ > 0) return smoothed(psi, found);
        for (int t = 1; t < count_; ++t) found = larger(found, products(t, psi));
        return scores(found);
    }

    // The gradient of amount * f(item): kept for the tastes that spoke. Returns the item's phi, which lasts till the step.
    TOPWISE_INLINE const float* pull(const float* psi, float amount) {
        if (smooth_ == 0) {
            const int winner = best(psi).first;
            reach(winner, amount, psi);
            return taste(winner);
        }
        smoothed(psi);
        if (used_ == phis_.size()) phis_.emplace_back(static_cast<std::size_t>(groups_));
        float* phi = phis_[used_++].data();
        for (int g = 0; g < groups_ * kLanes; g += kLanes) lanes(phi + g) = Lanes{};
        for (int i = 0; i < count_; ++i) {
            const int t = products_[static_cast<std::size_t>(i)].first;
            const float weight = weights_[static_cast<std::size_t>(i)];
            add(phi, weight, taste(t), groups_);
            reach(t, amount * weight, psi);
        }
        return phi;
    }

    // Moves the tastes that were pulled.
    TOPWISE_INLINE void step(float weight, float rate) {
        for (int t = 0; t < count_; ++t) {
            if (!touched_[static_cast<std::size_t>(t)]) continue;
            touched_[static_cast<std::size_t>(t)] = 0;
            float* toward = gradient(t);
            if (side_.bias) toward[side_.table.dim] = 0;  // stays 1 in every taste
            topwise::step(side_.table, row_ + t, weight, toward, dot(toward, toward, groups_), rate);
            if (side_.content.empty()) continue;
            add(pending_.data(), weight, toward, groups_);
            renew(t);
        }
        used_ = 0;
    }

    TOPWISE_INLINE void end(float rate) {
        if (side_.content.empty()) return;
        const float length2 = dot(pending_.data(), pending_.data(), groups_);
        if (length2 > 0) step_content(side_, context_, 1, pending_.data(), length2, rate);
    }

  private:
    TOPWISE_INLINE const float* taste(int t) const { return tastes_ + t * groups_ * kLanes; }
    TOPWISE_INLINE float* gradient(int t) { return gradient_.data() + t * groups_ * kLanes; }

    typedef float Four __attribute__((vector_size(16)));

    // The products of a taste with four items.
    TOPWISE_INLINE Four products(int t, const FourRows& psi) const {
        const FourScores found = dot(taste(t), psi, groups_);
        return Four{found.of[0], found.of[1], found.of[2], found.of[3]};
    }
    TOPWISE_INLINE static Four larger(const Four& a, const Four& b) { return a > b ? a : b; }
    TOPWISE_INLINE static Four smaller(const Four& a, const Four& b) { return a > b ? b : a; }
    TOPWISE_INLINE static FourScores scores(const Four& found) { return {{found[0], found[1], found[2], found[3]}}; }

    // Calls each(taste, product) in turn: the products of four tastes with an item share their last additions.
    template <class Each>
    TOPWISE_INLINE void for_each_product(const float* psi, const Each& each) const {
        int t = 0;
        for (; t + 4 <= count_; t += 4) {
            const FourScores four = dot(psi, FourRows{{taste(t), taste(t + 1), taste(t + 2), taste(t + 3)}}, groups_);
            TOPWISE_UNROLL for (int i = 0; i < 4; ++i) each(t + i, four.of[i]);
        }
        for (; t < count_; ++t) each(t, dot(taste(t), psi, groups_));
    }

    TOPWISE_INLINE std::pair<int, float> best(const float* psi) const {
        std::pair<int, float> found{0, -std::numeric_limits<float>::max()};
        for_each_product(psi, [&](int t, float product) {
            found.first = product > found.second ? t : found.first;
            found.second = std::max(product, found.second);
        });
        return found;
    }

    // The products, in falling order, and their weighted sum.
    TOPWISE_INLINE float smoothed(const float* psi) {
        for_each_product(psi, [&](int t, float product) {
            int at = t;
            for (; at > 0 && products_[static_cast<std::size_t>(at - 1)].second < product; --at)
                products_[static_cast<std::size_t>(at)] = products_[static_cast<std::size_t>(at - 1)];
            products_[static_cast<std::size_t>(at)] = {t, product};
        });
        float total = 0;
        for (int i = 0; i < count_; ++i) total += weights_[static_cast<std::size_t>(i)] * products_[static_cast<std::size_t>(i)].second;
        return total;
    }
    TOPWISE_INLINE FourScores smoothed(const FourRows& psi, const Four& first) {
        fours_[0] = first;
        for (int t = 1; t < count_; ++t) {
            Four rest = products(t, psi);
            for (int at = 0; at < t; ++at) {
                const Four kept = fours_[static_cast<std::size_t>(at)];
                fours_[static_cast<std::size_t>(at)] = larger(kept, rest);
                rest = smaller(kept, rest);
            }
            fours_[static_cast<std::size_t>(t)] = rest;
        }
        Four total = {};
        for (int i = 0; i < count_; ++i) total += weights_[static_cast<std::size_t>(i)] * fours_[static_cast<std::size_t>(i)];
        return scores(total);
    }

    TOPWISE_INLINE void reach(int t, float amount, const float* psi) {
        float* toward = gradient(t);
        if (touched_[static_cast<std::size_t>(t)]) {
            for (int g = 0; g < groups_ * kLanes; g += kLanes) lanes(toward + g) += amount * lanes(psi + g);
            return;
        }
        touched_[static_cast<std::size_t>(t)] = 1;
        for (int g = 0; g < groups_ * kLanes; g += kLanes) lanes(toward + g) = amount * lanes(psi + g);
    }

    // With content: the taste as the sum of its own row and the content's.
    TOPWISE_INLINE void renew(int t) {
        const float* own = side_.table.row(row_ + t);
        float* to = composed_.data() + t * groups_ * kLanes;
        for (int g = 0; g < groups_ * kLanes; g += kLanes) lanes(to + g) = lanes(own + g) + lanes(content_.data() + g);
        if (side_.bias) to[side_.table.dim] = 1;
    }

    const Side& side_;
    std::span<const std::int64_t> indptr_;
    float smooth_;
    int groups_, count_ = 0;
    std::int64_t context_ = 0, row_ = 0;
    const float* tastes_ = nullptr;
    AlignedRow gradient_, composed_, content_, pending_;
    std::vector<std::uint8_t> touched_;
    std::vector<std::pair<int, float>> products_;
    std::vector<float> weights_;
    std::vector<Four> fours_;
    std::vector<AlignedRow> phis_;
    std::size_t used_ = 0;
};

// A context that lets each item choose its phi.
template <class Context>
concept ChoosesPhi = requires(Context context, const float* psi) { context.pull(psi, 1.0F); };

}  // namespace topwise
