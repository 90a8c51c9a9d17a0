// Contexts made of a side's rows: a user or a query by id, by content, or by both (MatrixFactorization, Wsabie).
#pragma once

#include <cstdint>

#include "check.hpp"
#include "compositions/rows.hpp"
#include "log.hpp"

namespace topwise {

// phi is the id's own row, which every step moves in place.
class IdContext {
  public:
    struct Source {
        using Context = IdContext;
        Side side;

        void check_for(const Log& log, const Side&) const {
            check(side.table.count - side.first >= log.events.rows(), "contexts must have a row each");
        }
        template <class Do>
        void each_table(const Do& act) const {
            act(side.table);
        }
    };

    IdContext(const Source& source, const Log&, const Side&) : side_(source.side) {}

    TOPWISE_INLINE void begin(std::int64_t context) {
        row_ = side_.first + context;
        phi_ = side_.table.row(row_);
    }
    TOPWISE_INLINE bool without(std::int32_t) { return true; }
    TOPWISE_INLINE const float* phi() const { return phi_; }
    TOPWISE_INLINE void step(std::int32_t, float weight, const float* direction, float length2, float rate) {
        topwise::step(side_.table, row_, weight, direction, length2, rate);
    }
    TOPWISE_INLINE void end(float) {}

  private:
    const Side& side_;
    std::int64_t row_ = 0;
    float* phi_ = nullptr;
};

// phi is the sum of content rows and perhaps the id's. The id's row moves at every step; the content rows once at the
// end of the visit, along the sum of its gradients.
class ContentContext {
  public:
    struct Source {
        using Context = ContentContext;
        Side side;

        void check_for(const Log& log, const Side&) const {
            check(side.content.lists.rows() >= log.events.rows(), "contexts must have a row of content each");
        }
        template <class Do>
        void each_table(const Do& act) const {
            act(side.table);
        }
    };

    ContentContext(const Source& source, const Log&, const Side&) : side_(source.side), bag_(side_) {}

    TOPWISE_INLINE void begin(std::int64_t context) {
        bag_.begin(context);
        if (side_.bias) bag_.vector()[side_.table.dim] = 1;
    }
    TOPWISE_INLINE bool without(std::int32_t) { return true; }
    TOPWISE_INLINE const float* phi() { return bag_.vector(); }
    TOPWISE_INLINE void step(std::int32_t, float weight, const float* direction, float length2, float rate) {
        bag_.step(weight, direction, length2, rate);
    }
    TOPWISE_INLINE void end(float rate) { bag_.end(rate); }

  private:
    const Side& side_;
    Bag bag_;
};

}  // namespace topwise
