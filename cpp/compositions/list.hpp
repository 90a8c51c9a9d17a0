// A query together with the list of items that the step before gave it (LaSR, eq. 14):
//   phi(q) = [U q ; sum_j w_j S d_j],  psi(d) = [V d ; S d]
// The gradient reaches U, V and S, and S at the listed items too. V and S are tables of their own, each with its ball,
// whose rows lie side by side in memory, so that psi is read in one go.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>

#include "check.hpp"
#include "compositions/rows.hpp"
#include "log.hpp"
#include "scratch.hpp"

namespace topwise {

// psi is a row of V and, behind it, a row of S.
class PairItems {
  public:
    PairItems(const Side& items, float*, const Side& similar) : items_(items), similar_(similar) {}

    int groups() const { return 2 * items_.table.groups; }
    TOPWISE_INLINE const float* psi(std::int32_t item) const { return items_.own(item); }
    TOPWISE_INLINE const float* similar(std::int32_t item) const { return similar_.own(item); }
    TOPWISE_INLINE void step(std::int32_t item, float factor, const float* phi, float, float rate) const {
        const int half = items_.table.groups;
        topwise::step(items_.table, items_.first + item, factor, phi, dot(phi, phi, half), rate);
        const float* list = phi + half * kLanes;
        step_similar(item, factor, list, dot(list, list, half), rate);
    }
    TOPWISE_INLINE void step_similar(std::int32_t item, float factor, const float* direction, float length2,
                                     float rate) const {
        topwise::step(similar_.table, similar_.first + item, factor, direction, length2, rate);
    }
    void refresh(std::int64_t, std::int64_t) const {}

  private:
    const Side& items_;
    const Side& similar_;
};

// The same with content, materialised as in ContentItems: both halves of an item have the same features.
class PairContentItems {
  public:
    PairContentItems(const Side& items, float* vectors, const Side& similar)
        : items_(items), similar_(similar), vectors_(vectors) {}

    int groups() const { return 2 * items_.table.groups; }
    TOPWISE_INLINE const float* psi(std::int32_t item) const { return vector(item); }
    TOPWISE_INLINE const float* similar(std::int32_t item) const { return vector(item) + half(); }
    TOPWISE_INLINE void step(std::int32_t item, float factor, const float* phi, float, float rate) const {
        step_side(items_, item, factor, phi, dot(phi, phi, items_.table.groups), rate);
        compose(items_, item, vector(item));
        const float* list = phi + half();
        step_similar(item, factor, list, dot(list, list, items_.table.groups), rate);
    }
    TOPWISE_INLINE void step_similar(std::int32_t item, float factor, const float* direction, float length2,
                                     float rate) const {
        step_side(similar_, item, factor, direction, length2, rate);
        compose(similar_, item, vector(item) + half());
    }
    void refresh(std::int64_t begin, std::int64_t end) const {
        for (std::int64_t item = begin; item < end; ++item) {
            compose(items_, item, vector(item));
            compose(similar_, item, vector(item) + half());
        }
    }

  private:
    int half() const { return items_.table.groups * kLanes; }
    float* vector(std::int64_t item) const { return vectors_ + item * 2 * half(); }
    TOPWISE_INLINE static void step_side(const Side& side, std::int32_t item, float factor, const float* direction,
                                         float length2, float rate) {
        if (side.ids) topwise::step(side.table, side.first + item, factor, direction, length2, rate);
        step_content(side, item, factor, direction, length2, rate);
    }

    const Side& items_;
    const Side& similar_;
    float* vectors_;
};

// `Own` makes U q: from the query's id, or from its content.
template <class Own, class ItemsOf>
class ListContext {
  public:
    using Items = ItemsOf;
    struct Source {
        using Context = ListContext;
        typename Own::Source own;
        Side similar;                          // S
        std::span<const std::int32_t> lists;   // of every context as many items as there are weights, -1 for none
        std::span<const float> weights;        // w_j of eq. 4
        bool leave_out = false;                // a positive is left out of its own list
        float* vectors = nullptr;              // of items with content; the engine says where

        void check_for(const Log& log, const Side& items) const {
            const auto wanted = log.events.rows() * static_cast<std::int64_t>(weights.size());
            check(static_cast<std::int64_t>(lists.size()) == wanted, [&] {
                return "lists must be one a context, " + std::to_string(wanted) + " items in all, got " +
                       std::to_string(lists.size());
            });
            for (const std::int32_t item : lists)
                check(item >= -1 && item < log.items, [&] {
                    return "lists must hold items in 0.." + std::to_string(log.items - 1) + ", or -1, got " +
                           std::to_string(item);
                });
            own.check_for(log, items);
            check(own.side.table.groups == items.table.groups && similar.table.groups == items.table.groups,
                  "U, V and S must have as many columns");
            check(similar.table.count == items.table.count && similar.first == items.first && similar.ids == items.ids &&
                      similar.content.lists.indices.data() == items.content.lists.indices.data(),
                  "V and S must have the same rows");
            check(similar.table.rows == items.table.rows + items.table.groups * kLanes &&
                      similar.table.stride == items.table.stride,
                  "the rows of S must lie behind those of V");
        }
        template <class Do>
        void each_table(const Do& act) const {
            own.each_table(act);
            act(similar.table);
        }
    };

    ListContext(const Source& source, const Log& log, const Side& items)
        : source_(source),
          own_(source.own, log, items),
          items_(items, source.vectors, source.similar),
          half_(items.table.groups),
          phi_(2 * half_),
          sum_(half_),
          pending_(half_),
          kept_(source.leave_out ? source.weights.size() * static_cast<std::size_t>(half_) : 0) {}

    TOPWISE_INLINE void begin(std::int64_t context) {
        own_.begin(context);
        read_own();
        const std::size_t size = source_.weights.size();
        list_ = source_.lists.subspan(static_cast<std::size_t>(context) * size, size);
        sum_.clear();
        for (std::size_t j = 0; j < size; ++j)
            if (list_[j] >= 0) add(sum_.data(), source_.weights[j], items_.similar(list_[j]), half_);
        copy(sum_.data(), list_part());
        pending_.clear();
        left_out_ = -1;
        none_left_out_ = true;
    }

    TOPWISE_INLINE bool without(std::int32_t positive) {
        if (!source_.leave_out) return true;
        if (left_out_ >= 0) copy(sum_.data(), list_part());
        left_out_ = -1;
        const auto found = std::find(list_.begin(), list_.end(), positive);
        if (found != list_.end()) left_out_ = found - list_.begin();
        if (left_out_ >= 0)
            add(list_part(), -source_.weights[static_cast<std::size_t>(left_out_)], items_.similar(positive), half_);
        return true;
    }
    TOPWISE_INLINE const float* phi() const { return phi_.data(); }

    // The gradient along S d_j is w_j times the same for every j, and is followed at the end of the visit.
    TOPWISE_INLINE void step(std::int32_t positive, float weight, const float* direction, float, float rate) {
        own_.step(positive, weight, direction, dot(direction, direction, half_), rate);
        read_own();
        const float* toward = direction + half_ * kLanes;
        add(pending_.data(), weight, toward, half_);
        if (left_out_ < 0) return;
        if (none_left_out_) kept_.clear();
        none_left_out_ = false;
        add(kept_.data() + left_out_ * half_ * kLanes, -weight, toward, half_);
        // The positive's own row has just moved, and the sum with it, or leaving it out again would leave a trace.
        copy(list_part(), sum_.data());
        add(sum_.data(), source_.weights[static_cast<std::size_t>(left_out_)], items_.similar(positive), half_);
    }

    TOPWISE_INLINE void end(float rate) {
        own_.end(rate);
        const float length2 = dot(pending_.data(), pending_.data(), half_);
        if (!(length2 > 0)) return;
        for (std::size_t j = 0; j < list_.size(); ++j) {
            if (list_[j] < 0) continue;
            if (none_left_out_) {
                items_.step_similar(list_[j], source_.weights[j], pending_.data(), length2, rate);
            } else {
                float* others = kept_.data() + j * static_cast<std::size_t>(half_ * kLanes);
                const float own2 = add(others, 1, pending_.data(), half_);
                items_.step_similar(list_[j], source_.weights[j], others, own2, rate);
            }
        }
    }

  private:
    TOPWISE_INLINE void read_own() {
        copy(own_.phi(), phi_.data());
    }
    TOPWISE_INLINE float* list_part() { return phi_.data() + half_ * kLanes; }
    TOPWISE_INLINE void copy(const float* from, float* to) const {
        for (int g = 0; g < half_ * kLanes; g += kLanes) lanes(to + g) = lanes(from + g);
    }

    const Source& source_;
    Own own_;
    Items items_;
    int half_;
    std::span<const std::int32_t> list_;
    AlignedRow phi_, sum_, pending_;
    AlignedRow kept_;  // of every place of the list, what the steps without its item are to spare it
    std::int64_t left_out_ = -1;
    bool none_left_out_ = true;
};

}  // namespace topwise
