// A context as the set of its items (ItemBag): phi(u) = 1/|D_u \ p| sum_{i in D_u, i != p} V_i, where p is the positive
// being trained, left out so that no item predicts itself.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "check.hpp"
#include "compositions/rows.hpp"
#include "log.hpp"
#include "scratch.hpp"

namespace topwise {

class HistoryContext {
  public:
    struct Source {
        using Context = HistoryContext;

        void check_for(const Log&, const Side& items) const {
            check(items.content.empty(), "contexts made of items need items that are ids alone");
        }
        template <class Do>
        void each_table(const Do&) const {}
    };

    HistoryContext(const Source&, const Log& log, const Side& items)
        : items_(items),
          known_(log.known),
          groups_(items.table.groups),
          sum_(items.table.groups),
          phi_(items.table.groups),
          total_(items.table.groups),
          direction_(items.table.groups) {}

    TOPWISE_INLINE void begin(std::int64_t context) {
        history_ = known_.row(context);
        sum_.clear();
        for (const std::int32_t item : history_) add(sum_.data(), 1, items_.own(item), groups_);
        total_.clear();
        own_.clear();
    }

    // False when nothing is left of the context without that item.
    TOPWISE_INLINE bool without(std::int32_t positive) {
        if (history_.size() < 2) return false;
        const float share = 1.0F / static_cast<float>(history_.size() - 1);
        const float* left_out = items_.own(positive);
        for (int g = 0; g < groups_ * kLanes; g += kLanes)
            lanes(phi_.data() + g) = share * (lanes(sum_.data() + g) - lanes(left_out + g));
        if (items_.bias) phi_.data()[items_.table.dim] = 1;
        return true;
    }

    TOPWISE_INLINE const float* phi() const { return phi_.data(); }

    // The gradient reaches every item of the context but the one left out, at the end of the visit.
    TOPWISE_INLINE void step(std::int32_t positive, float weight, const float* direction, float, float) {
        const auto others = static_cast<float>(history_.size() - 1);
        // The positive's own row has just moved, and the sum with it, or leaving it out again would leave a trace.
        const float* moved = items_.own(positive);
        for (int g = 0; g < groups_ * kLanes; g += kLanes)
            lanes(sum_.data() + g) = others * lanes(phi_.data() + g) + lanes(moved + g);
        const float share = weight / others;
        add(total_.data(), share, direction, groups_);
        own_.push_back({positive, static_cast<int>(own_.size())});
        if (gradients_.size() < own_.size()) gradients_.resize(own_.size());
        auto& kept = gradients_[own_.size() - 1];
        kept.resize(static_cast<std::size_t>(groups_ * kLanes));
        for (std::size_t j = 0; j < kept.size(); ++j) kept[j] = share * direction[j];
    }

    TOPWISE_INLINE void end(float rate) {
        if (own_.empty()) return;
        std::sort(own_.begin(), own_.end(), [](const Own& a, const Own& b) { return a.item < b.item; });
        auto next = own_.begin();
        for (const std::int32_t item : history_) {
            float* toward = direction_.data();
            for (int g = 0; g < groups_ * kLanes; g += kLanes) lanes(toward + g) = lanes(total_.data() + g);
            for (; next != own_.end() && next->item == item; ++next) {
                const auto& kept = gradients_[static_cast<std::size_t>(next->at)];
                for (std::size_t j = 0; j < kept.size(); ++j) toward[j] -= kept[j];
            }
            topwise::step(items_.table, items_.first + item, 1, toward, dot(toward, toward, groups_), rate);
        }
    }

  private:
    struct Own {
        std::int32_t item;
        int at;
    };

    const Side& items_;
    const RowLists& known_;
    int groups_;
    std::span<const std::int32_t> history_;
    AlignedRow sum_, phi_, total_, direction_;
    std::vector<Own> own_;
    std::vector<std::vector<float>> gradients_;
};

}  // namespace topwise
