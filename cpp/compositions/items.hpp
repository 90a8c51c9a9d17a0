// Items made of a side's rows. With content, the item vectors are kept materialised: drawn negatives read them whole,
// a step renews those it moved, and a refresh between rounds renews the others that share its content rows.
#pragma once

#include <cstdint>

#include "compositions/rows.hpp"

namespace topwise {

// psi is the id's own row.
class IdItems {
  public:
    explicit IdItems(const Side& side, float*) : side_(side) {}

    int groups() const { return side_.table.groups; }
    TOPWISE_INLINE const float* psi(std::int32_t item) const { return side_.own(item); }
    TOPWISE_INLINE void step(std::int32_t item, float factor, const float* phi, float length2, float rate) const {
        topwise::step(side_.table, side_.first + item, factor, phi, length2, rate);
    }
    void refresh(std::int64_t, std::int64_t) const {}

  private:
    const Side& side_;
};

class ContentItems {
  public:
    ContentItems(const Side& side, float* vectors) : side_(side), vectors_(vectors) {}

    int groups() const { return side_.table.groups; }
    TOPWISE_INLINE const float* psi(std::int32_t item) const { return vector(item); }
    TOPWISE_INLINE void step(std::int32_t item, float factor, const float* phi, float length2, float rate) const {
        if (side_.ids) topwise::step(side_.table, side_.first + item, factor, phi, length2, rate);
        step_content(side_, item, factor, phi, length2, rate);
        compose(side_, item, vector(item));
    }
    void refresh(std::int64_t begin, std::int64_t end) const {
        for (std::int64_t item = begin; item < end; ++item) compose(side_, item, vector(item));
    }

  private:
    float* vector(std::int64_t item) const { return vectors_ + item * side_.table.groups * kLanes; }

    const Side& side_;
    float* vectors_;
};

}  // namespace topwise
