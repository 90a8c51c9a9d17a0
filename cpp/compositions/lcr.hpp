// Contexts that are a query and a user (LCR):
//   f(q, u, d) = (S_q^T U_u + V_u^T) T_d,   so   phi(q, u) = U_u^T s + v,   U_u = I + E_u
// where s and v are a query's and a user's bag of rows (eq. 1-6), and E_u, which begins at 0, is nothing, a diagonal, a
// low rank A^T A with a diagonal, or a full matrix.
#pragma once

#include <cmath>
#include <cstdint>

#include "check.hpp"
#include "compositions/rows.hpp"
#include "log.hpp"
#include "scratch.hpp"

namespace topwise {

enum class Interaction : std::uint8_t { kNone, kDiagonal, kLowRank, kFull };

class PairContext {
  public:
    struct Source {
        using Context = PairContext;
        Side users, queries;
        Interaction form = Interaction::kNone;
        int rank = 0;
        // A row is the whole of a user's E_u, lines of as many groups as a side's row: of the diagonal one, then one
        // for each row of A; or one for each row of a full matrix. The ball is that of its Frobenius norm.
        Table blocks;

        int lines() const {
            switch (form) {
                case Interaction::kNone: return 0;
                case Interaction::kDiagonal: return 1;
                case Interaction::kLowRank: return 1 + rank;
                case Interaction::kFull: break;
            }
            return users.table.dim;
        }
        void check_for(const Log& log, const Side&) const {
            const auto count = static_cast<std::size_t>(log.events.rows());
            check(log.users.size() == count && log.queries.size() == count, "pairs must have a user and a query each");
            for (std::size_t i = 0; i < count; ++i) {
                check(holds(users, log.users[i]), "users must have a row each");
                check(holds(queries, log.queries[i]), "queries must have a row each");
                check(form == Interaction::kNone || log.users[i] < blocks.count, "users must have an interaction each");
            }
        }
        template <class Do>
        void each_table(const Do& act) const {
            act(users.table);
            act(queries.table);
            if (form != Interaction::kNone) act(blocks);
        }

      private:
        static bool holds(const Side& side, std::int64_t entity) {
            return entity >= 0 && (side.content.empty() || entity < side.content.lists.rows()) &&
                   (!side.ids || side.first + entity < side.table.count);
        }
    };

    PairContext(const Source& source, const Log& log, const Side&)
        : source_(source),
          log_(log),
          users_(source.users),
          queries_(source.queries),
          groups_(source.users.table.groups),
          dim_(source.users.table.dim),
          phi_(static_cast<std::size_t>(groups_)),
          back_(static_cast<std::size_t>(groups_)),
          products_(static_cast<std::size_t>(source.rank / kLanes + 1)),
          returns_(static_cast<std::size_t>(source.rank / kLanes + 1)) {}

    TOPWISE_INLINE void begin(std::int64_t context) {
        user_ = log_.users[static_cast<std::size_t>(context)];
        users_.begin(user_);
        queries_.begin(log_.queries[static_cast<std::size_t>(context)]);
        block_ = source_.form == Interaction::kNone ? nullptr : source_.blocks.row(user_);
        make_phi();
    }
    TOPWISE_INLINE bool without(std::int32_t) {
        if (stale_) make_phi();
        return true;
    }
    TOPWISE_INLINE const float* phi() { return phi_.data(); }

    // With g the direction: v moves along g, s along U g, and E along s g^T, in so far as its form allows.
    TOPWISE_INLINE void step(std::int32_t, float weight, const float* g, float length2, float rate) {
        stale_ = true;
        switch (source_.form) {
            case Interaction::kNone: queries_.step(weight, g, length2, rate); break;
            case Interaction::kDiagonal: step_diagonal(weight, g, rate); break;
            case Interaction::kLowRank: step_low_rank(weight, g, rate); break;
            case Interaction::kFull: step_full(weight, g, length2, rate); break;
        }
        users_.step(weight, g, length2, rate);
    }
    TOPWISE_INLINE void end(float rate) {
        users_.end(rate);
        queries_.end(rate);
    }

  private:
    // Stores of floats might be to any member, for all that the compiler knows; so loops read theirs from locals.
    struct Shape {
        int groups, columns, dim, rank;
        float* block;

        TOPWISE_INLINE float* line(int i) const { return block + static_cast<std::int64_t>(i) * columns; }
    };
    TOPWISE_INLINE Shape shape() const { return {groups_, groups_ * kLanes, dim_, source_.rank, block_}; }

    TOPWISE_INLINE void make_phi() {
        const Shape of = shape();
        stale_ = false;
        float* phi = phi_.data();
        const float* s = queries_.vector();
        const float* v = users_.vector();
        for (int j = 0; j < of.columns; j += kLanes) lanes(phi + j) = lanes(s + j) + lanes(v + j);
        if (source_.form == Interaction::kDiagonal || source_.form == Interaction::kLowRank) {
            for (int j = 0; j < of.columns; j += kLanes) lanes(phi + j) += lanes(of.block + j) * lanes(s + j);
            for (int i = 1; i <= of.rank; ++i) add(phi, dot(of.line(i), s, of.groups), of.line(i), of.groups);
        } else if (source_.form == Interaction::kFull) {
            int g = 0;
            for (; g + 4 <= of.groups; g += 4) add_products<4>(of, phi, s, g);
            for (; g < of.groups; ++g) add_products<1>(of, phi, s, g);
        }
        if (source_.users.bias) phi[of.dim] = 1;
    }

    // phi += sum_i s_i E_i in some groups of the columns; two sums side by side, since each waits for its last addition.
    template <int kGroups>
    TOPWISE_INLINE static void add_products(const Shape& of, float* phi, const float* s, int first) {
        const float* row = of.block + first * kLanes;
        const std::int64_t stride = of.columns;
        Lanes even[kGroups] = {}, odd[kGroups] = {};
        int i = 0;
        for (; i + 2 <= of.dim; i += 2, row += 2 * stride) {
            TOPWISE_UNROLL for (int g = 0; g < kGroups; ++g) {
                even[g] += s[i] * lanes(row + g * kLanes);
                odd[g] += s[i + 1] * lanes(row + stride + g * kLanes);
            }
        }
        if (i < of.dim) {
            TOPWISE_UNROLL for (int g = 0; g < kGroups; ++g) even[g] += s[i] * lanes(row + g * kLanes);
        }
        float* to = phi + first * kLanes;
        TOPWISE_UNROLL for (int g = 0; g < kGroups; ++g) lanes(to + g * kLanes) += even[g] + odd[g];
    }

    TOPWISE_INLINE void step_diagonal(float weight, const float* g, float rate) {
        const Shape of = shape();
        const float* s = queries_.vector();
        float* back = back_.data();
        const float pace = block_rate(weight, along_diagonal(of, s, g, back), rate);
        keep_block(moved_diagonal(of, s, g, pace));
        queries_.step(weight, back, dot(back, back, of.groups), rate);
    }

    // d(s^T A^T A g) / dA = (A s) g^T + (A g) s^T
    TOPWISE_INLINE void step_low_rank(float weight, const float* g, float rate) {
        const Shape of = shape();
        const float* s = queries_.vector();
        float* back = back_.data();
        float* by_s = products_.data();
        float* by_g = returns_.data();
        float gradient2 = along_diagonal(of, s, g, back);
        const float s2 = dot(s, s, of.groups), g2 = dot(g, g, of.groups), sg = dot(s, g, of.groups);
        for (int i = 0; i < of.rank; ++i) {
            const float* a = of.line(i + 1);
            const float p = by_s[i] = dot(a, s, of.groups), q = by_g[i] = dot(a, g, of.groups);
            gradient2 += p * p * g2 + q * q * s2 + 2 * p * q * sg;
            add(back, q, a, of.groups);
        }
        const float pace = block_rate(weight, gradient2, rate);
        float norm2 = moved_diagonal(of, s, g, pace);
        for (int i = 0; i < of.rank; ++i) {
            add(of.line(i + 1), pace * by_s[i], g, of.groups);
            norm2 += add(of.line(i + 1), pace * by_g[i], s, of.groups);
        }
        keep_block(norm2);
        queries_.step(weight, back, dot(back, back, of.groups), rate);
    }

    // back = g + e * g; returns the squared norm of the diagonal's gradient, s * g.
    TOPWISE_INLINE static float along_diagonal(const Shape& of, const float* s, const float* g, float* back) {
        Lanes squares = {};
        for (int j = 0; j < of.columns; j += kLanes) {
            const Lanes toward = lanes(g + j), along = lanes(s + j) * toward;
            squares += along * along;
            lanes(back + j) = toward + lanes(static_cast<const float*>(of.block + j)) * toward;
        }
        return sum(squares);
    }

    // e += pace * s * g; returns its squared norm.
    TOPWISE_INLINE static float moved_diagonal(const Shape& of, const float* s, const float* g, float pace) {
        Lanes squares = {};
        for (int j = 0; j < of.columns; j += kLanes) {
            const Lanes moved = lanes(static_cast<const float*>(of.block + j)) + pace * (lanes(s + j) * lanes(g + j));
            lanes(of.block + j) = moved;
            squares += moved * moved;
        }
        return sum(squares);
    }

    TOPWISE_INLINE void step_full(float weight, const float* g, float length2, float rate) {
        const Shape of = shape();
        const float* s = queries_.vector();
        float* back = back_.data();
        const float s2 = dot(s, s, of.groups);
        const float pace = block_rate(weight, s2 * length2, rate);
        for (int j = 0; j < of.columns; j += kLanes) lanes(back + j) = lanes(g + j);
        const bool usual = of.groups == 4;
        const float norm2 = usual ? returned_lines<4>(of, g, back) : returned_lines<0>(of, g, back);
        float along = 0;  // s^T E g
        for (int i = 0; i < of.dim; ++i) along += s[i] * (back[i] - g[i]);
        const float shrink = shrinkage(norm2 + pace * (2 * along + pace * s2 * length2));
        usual ? move_lines<4>(of, s, g, pace, shrink) : move_lines<0>(of, s, g, pace, shrink);
        queries_.step(weight, back, dot(back, back, of.groups), rate);
    }

    // back += E g; returns the squared norm of E. With 0 groups there are as many as there are.
    template <int kGroups>
    TOPWISE_INLINE static float returned_lines(const Shape& of, const float* g, float* back) {
        const int groups = kGroups > 0 ? kGroups : of.groups;
        Lanes squares[4] = {};
        int i = 0;
        for (; i + 4 <= of.dim; i += 4) {
            const FourRows lines{{of.line(i), of.line(i + 1), of.line(i + 2), of.line(i + 3)}};
            const FourScores returned = dot(g, lines, groups);
            TOPWISE_UNROLL for (int k = 0; k < 4; ++k) {
                back[i + k] += returned.of[k];
                for (int j = 0; j < groups * kLanes; j += kLanes) squares[k] += lanes(lines.row[k] + j) * lanes(lines.row[k] + j);
            }
        }
        for (; i < of.dim; ++i) {
            back[i] += dot(g, of.line(i), groups);
            for (int j = 0; j < groups * kLanes; j += kLanes)
                squares[0] += lanes(static_cast<const float*>(of.line(i) + j)) * lanes(static_cast<const float*>(of.line(i) + j));
        }
        return sum(squares[0] + squares[1] + squares[2] + squares[3]);
    }

    // E = shrink * (E + pace * s g^T)
    template <int kGroups>
    TOPWISE_INLINE static void move_lines(const Shape& of, const float* s, const float* g, float pace, float shrink) {
        const int groups = kGroups > 0 ? kGroups : of.groups;
        for (int i = 0; i < of.dim; ++i) {
            float* line = of.line(i);
            const float along = shrink * pace * s[i];
            TOPWISE_UNROLL for (int j = 0; j < groups * kLanes; j += kLanes)
                lanes(line + j) = shrink * lanes(static_cast<const float*>(line + j)) + along * lanes(g + j);
        }
    }

    // The step size of E_u times the weight: plain SGD, or Adagrad with one accumulator a user. 0 for a frozen one.
    TOPWISE_INLINE float block_rate(float weight, float gradient2, float rate) {
        const Table& blocks = source_.blocks;
        if (user_ < blocks.frozen) return 0;
        if (blocks.squares != nullptr) {
            const float seen = blocks.squares[user_] += weight * weight * gradient2 / static_cast<float>(dim_);
            rate /= std::sqrt(seen);
        }
        return rate * weight;
    }

    // What brings E_u of this squared norm back into its ball.
    TOPWISE_INLINE float shrinkage(float norm2) const {
        const float radius = source_.blocks.radii[user_];
        return norm2 > radius * radius && user_ >= source_.blocks.frozen ? radius / std::sqrt(norm2) : 1.0F;
    }
    TOPWISE_INLINE void keep_block(float norm2) {
        const float shrink = shrinkage(norm2);
        if (shrink < 1) scale(block_, shrink, source_.blocks.groups);
    }

    const Source& source_;
    const Log& log_;
    Bag users_, queries_;
    int groups_, dim_;
    std::int64_t user_ = 0;
    float* block_ = nullptr;
    bool stale_ = false;
    AlignedRow phi_, back_, products_, returns_;
};

}  // namespace topwise
