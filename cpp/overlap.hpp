// The alpha * identity term of Wsabie: when contexts and items have features in one space, f = x (U'V + alpha I) y, so
// every score has alpha x . y added to the product of the embeddings. Nothing in it is trained.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "views.hpp"

namespace topwise {

class Overlap {
  public:
    Overlap() = default;
    Overlap(float alpha, RowLists contexts, std::span<const float> context_values, RowLists items,
            std::span<const float> item_values, std::int64_t features)
        : alpha_(alpha),
          contexts_(contexts),
          context_values_(context_values),
          items_(items),
          item_values_(item_values),
          dense_(static_cast<std::size_t>(features)) {}

    bool empty() const { return dense_.empty(); }

    // Spreads the context's features, so that an item's overlap costs as many loads as the item has features.
    void begin(std::int64_t context) {
        if (empty()) return;
        for (const std::int32_t feature : spread_) dense_[static_cast<std::size_t>(feature)] = 0;
        spread_ = contexts_.row(context);
        auto value = static_cast<std::size_t>(contexts_.indptr[static_cast<std::size_t>(context)]);
        for (const std::int32_t feature : spread_)
            dense_[static_cast<std::size_t>(feature)] = alpha_ * context_values_[value++];
    }

    float score(std::int32_t item) const {
        auto value = static_cast<std::size_t>(items_.indptr[static_cast<std::size_t>(item)]);
        float total = 0;
        for (const std::int32_t feature : items_.row(item))
            total += item_values_[value++] * dense_[static_cast<std::size_t>(feature)];
        return total;
    }

  private:
    float alpha_ = 0;
    RowLists contexts_;
    std::span<const float> context_values_;
    RowLists items_;
    std::span<const float> item_values_;
    std::vector<float> dense_;
    std::span<const std::int32_t> spread_;
};

}  // namespace topwise
