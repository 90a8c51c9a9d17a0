// What there is to learn from.
#pragma once

#include <cstdint>
#include <span>

#include "views.hpp"

namespace topwise {

// The events of each context: items, and perhaps a weight each. `known` is the same as sorted sets.
struct Log {
    RowLists events;
    std::span<const float> weights;
    RowLists known;
    std::span<const std::int32_t> drawable;  // the items that may be negatives; empty: all
    std::int64_t items = 0;
    // Where a context is a pair: its user and its query. Those of a user follow one another.
    std::span<const std::int32_t> users, queries;
};

}  // namespace topwise
