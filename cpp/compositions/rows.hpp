// A side as a bag of rows: the row of its id, the rows of its content features, or both.
//   phi(c) = R[first + c] + sum_f x_cf R[f]
#pragma once

#include <cstdint>
#include <span>

#include "scratch.hpp"
#include "table.hpp"
#include "views.hpp"

namespace topwise {

// The content rows of each entity: sparse, with values.
struct Content {
    RowLists lists;
    std::span<const float> values;

    bool empty() const { return lists.indptr.empty(); }
};

struct Side {
    Table table;
    bool ids = true;         // every entity has a row of its own,
    std::int64_t first = 0;  // from this one on; before it are the rows of the content
    bool bias = false;       // one more column: 1 in every context, the bias in every item
    Content content;

    float* own(std::int64_t entity) const { return table.row(first + entity); }
};

// to = the sum of the entity's rows.
TOPWISE_INLINE void compose(const Side& side, std::int64_t entity, float* to) {
    const int groups = side.table.groups;
    if (side.ids) {
        const float* own = side.own(entity);
        for (int g = 0; g < groups; ++g) lanes(to + g * kLanes) = lanes(own + g * kLanes);
    } else {
        for (int g = 0; g < groups; ++g) lanes(to + g * kLanes) = Lanes{};
    }
    const std::int64_t begin = side.content.lists.indptr[static_cast<std::size_t>(entity)];
    const std::int64_t end = side.content.lists.indptr[static_cast<std::size_t>(entity) + 1];
    for (std::int64_t i = begin; i < end; ++i) {
        const auto at = static_cast<std::size_t>(i);
        const float* row = side.table.row(side.content.lists.indices[at]);
        const float value = side.content.values[at];
        for (int g = 0; g < groups; ++g) lanes(to + g * kLanes) += value * lanes(row + g * kLanes);
    }
}

// One step of the entity's content rows along `direction`.
TOPWISE_INLINE void step_content(const Side& side, std::int64_t entity, float factor, const float* direction,
                                 float length2, float rate) {
    const std::int64_t begin = side.content.lists.indptr[static_cast<std::size_t>(entity)];
    const std::int64_t end = side.content.lists.indptr[static_cast<std::size_t>(entity) + 1];
    for (std::int64_t i = begin; i < end; ++i) {
        const auto at = static_cast<std::size_t>(i);
        step(side.table, side.content.lists.indices[at], factor * side.content.values[at],
             direction, length2, rate);
    }
}

// The vector of one entity after the other, and the way back to its rows. The id's row moves at every step; content
// rows once at the end, along the sum of the gradients.
class Bag {
  public:
    explicit Bag(const Side& side)
        : side_(side), sum_(static_cast<std::size_t>(side.table.groups)), pending_(static_cast<std::size_t>(side.table.groups)) {}

    TOPWISE_INLINE void begin(std::int64_t entity) {
        entity_ = entity;
        if (side_.content.empty()) {
            vector_ = side_.own(entity);
            return;
        }
        vector_ = sum_.data();
        pending_.clear();
        compose(side_, entity, vector_);
    }
    TOPWISE_INLINE float* vector() { return vector_; }
    TOPWISE_INLINE void step(float weight, const float* direction, float length2, float rate) {
        if (side_.content.empty()) {
            topwise::step(side_.table, side_.first + entity_, weight, direction, length2, rate);
            return;
        }
        const int groups = side_.table.groups;
        add(pending_.data(), weight, direction, groups);
        if (!side_.ids) return;
        const float* own = side_.own(entity_);
        for (int g = 0; g < groups; ++g) lanes(vector_ + g * kLanes) -= lanes(own + g * kLanes);
        topwise::step(side_.table, side_.first + entity_, weight, direction, length2, rate);
        for (int g = 0; g < groups; ++g) lanes(vector_ + g * kLanes) += lanes(own + g * kLanes);
    }
    TOPWISE_INLINE void end(float rate) {
        if (side_.content.empty()) return;
        const float length2 = dot(pending_.data(), pending_.data(), side_.table.groups);
        if (length2 > 0) step_content(side_, entity_, 1, pending_.data(), length2, rate);
    }

  private:
    const Side& side_;
    std::int64_t entity_ = 0;
    float* vector_ = nullptr;
    AlignedRow sum_, pending_;
};

}  // namespace topwise
