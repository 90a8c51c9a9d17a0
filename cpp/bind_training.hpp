// Python's view of training: the parts of an engine hold on to the arrays that they read and write.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "bind_retrieval.hpp"
#include "engine.hpp"

namespace topwise {

using WritableRows = nb::ndarray<float, nb::ndim<2>, nb::device::cpu>;
using WritableList = nb::ndarray<float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T>
std::span<const T> view(const std::optional<List<T>>& array) {
    return array ? view(*array) : std::span<const T>{};
}

// Floats from one row to the next: more than a row has where the rows of two tables lie side by side.
inline std::int64_t row_stride(const WritableRows& rows) {
    return rows.shape(0) > 1 ? rows.stride(0) : static_cast<std::int64_t>(rows.shape(1));
}

inline float* aligned_rows(const WritableRows& rows, const char* name) {
    const bool padded = rows.shape(1) % kLanes == 0 && row_stride(rows) % kLanes == 0 &&
                        row_stride(rows) >= static_cast<std::int64_t>(rows.shape(1)) && rows.stride(1) == 1;
    check(padded && reinterpret_cast<std::uintptr_t>(rows.data()) % 64 == 0,
          [&] { return std::string(name) + " must be padded to 16 columns and aligned to 64 bytes"; });
    return rows.data();
}

inline void check_within(std::span<const std::int32_t> indices, std::int64_t count, const char* name) {
    for (const std::int32_t index : indices) {
        check(index >= 0 && index < count, [&] {
            return std::string(name) + " must be in 0.." + std::to_string(count - 1) + ", got " + std::to_string(index);
        });
    }
}

struct BoundLog {
    List<std::int64_t> indptr, known_indptr;
    List<std::int32_t> items, known;
    std::optional<List<float>> weights;
    std::optional<List<std::int32_t>> drawable, users, queries;
    Log log;

    BoundLog(List<std::int64_t> indptr_, List<std::int32_t> items_, std::optional<List<float>> weights_,
             List<std::int64_t> known_indptr_, List<std::int32_t> known_, std::optional<List<std::int32_t>> drawable_,
             std::int64_t count, std::optional<List<std::int32_t>> users_, std::optional<List<std::int32_t>> queries_)
        : indptr(indptr_),
          known_indptr(known_indptr_),
          items(items_),
          known(known_),
          weights(weights_),
          drawable(drawable_),
          users(users_),
          queries(queries_) {
        log = {{view(indptr), view(items)}, view(weights), {view(known_indptr), view(known)}, view(drawable), count,
               view(users), view(queries)};
        check_within(log.drawable, count, "drawable");
        check_lists(log.known, log.events.rows(), count, "known");
        check(log.events.indptr.back() == static_cast<std::int64_t>(items.size()),
              "indptr must end at the number of events");
        check(!weights || weights->size() == items.size(), "weights must be as many as events");
        check_within(log.events.indices, count, "items");
    }
};

struct BoundLoss {
    List<float> weights;
    std::optional<List<float>> trial_weights, positions;
    Loss loss;

    BoundLoss(float margin, bool exact, std::int32_t max_trials, std::int32_t violators, List<float> weights_,
              std::optional<List<float>> trial_weights_, std::optional<List<float>> positions_)
        : weights(weights_), trial_weights(trial_weights_), positions(positions_) {
        check(max_trials >= 1, [&] { return "max_trials must be at least 1, got " + std::to_string(max_trials); });
        check(violators >= 1, [&] { return "violators must be at least 1, got " + std::to_string(violators); });
        check(weights.size() >= 2, "weights must have at least L(0) and L(1)");
        check(!trial_weights || trial_weights->size() > static_cast<std::size_t>(max_trials),
              "trial_weights must reach max_trials");
        const auto others = static_cast<std::int64_t>(weights.size()) - 1;
        loss = {margin, exact, trial_weights.has_value(), max_trials, violators, others,
                view(weights), view(trial_weights), view(positions)};
    }
};

struct BoundSide {
    WritableRows rows;
    std::optional<WritableList> squares;
    List<float> radii;
    std::optional<List<std::int64_t>> indptr;
    std::optional<List<std::int32_t>> indices;
    std::optional<List<float>> values;
    Side side;

    BoundSide(WritableRows rows_, std::optional<WritableList> squares_, List<float> radii_, int dim, bool ids, bool bias,
              std::int64_t first, std::int64_t frozen, std::optional<List<std::int64_t>> indptr_,
              std::optional<List<std::int32_t>> indices_,
              std::optional<List<float>> values_)
        : rows(rows_), squares(squares_), radii(radii_), indptr(indptr_), indices(indices_), values(values_) {
        const auto count = static_cast<std::int64_t>(rows.shape(0));
        check(!squares || static_cast<std::int64_t>(squares->size()) == count, "squares must be one a row");
        check(static_cast<std::int64_t>(radii.size()) == count, "radii must be one a row");
        check(first >= 0 && first <= count, [&] {
            return "first must be in 0.." + std::to_string(count) + ", got " + std::to_string(first);
        });
        check(dim >= 1 && dim + bias <= static_cast<int>(rows.shape(1)), "dim must fit the columns");
        side.table = {aligned_rows(rows, "rows"), squares ? squares->data() : nullptr, count, frozen,
                      static_cast<int>(rows.shape(1)) / kLanes, dim, radii.data(), row_stride(rows)};
        side.ids = ids;
        side.first = first;
        side.bias = bias;
        side.content = {{view(indptr), view(indices)}, view(values)};
        check(values.has_value() == indices.has_value() && indptr.has_value() == indices.has_value(),
              "content must have indptr, indices and values");
        if (indices) {
            check(values->size() == indices->size(), "content values must be as many as indices");
            check_within(view(indices), first, "content");
        }
    }
};

// What contexts are made from, and the arrays that it reads and writes.
struct BoundContexts {
    std::vector<BoundSide> sides;
    Contexts source;
    std::optional<BoundSide> blocks = std::nullopt;
    std::optional<List<std::int64_t>> indptr = std::nullopt;
    std::optional<List<std::int32_t>> lists = std::nullopt;
    std::optional<List<float>> weights = std::nullopt;

    static BoundContexts by_rows(const BoundSide& side) {
        if (side.indices) return {{side}, ContentContext::Source{side.side}};
        return {{side}, IdContext::Source{side.side}};
    }
    static BoundContexts by_lists(const BoundSide& own, const BoundSide& similar, List<std::int32_t> lists,
                                  List<float> weights, bool leave_out) {
        const auto make = [&]<class Context>(std::type_identity<Context>) -> Contexts {
            return typename Context::Source{{own.side}, similar.side, view(lists), view(weights), leave_out};
        };
        BoundContexts bound{.sides = {own, similar}, .source = HistoryContext::Source{}, .lists = lists, .weights = weights};
        if (own.indices && similar.indices) bound.source = make(std::type_identity<ListContext<ContentContext, PairContentItems>>{});
        else if (own.indices) bound.source = make(std::type_identity<ListContext<ContentContext, PairItems>>{});
        else if (similar.indices) bound.source = make(std::type_identity<ListContext<IdContext, PairContentItems>>{});
        else bound.source = make(std::type_identity<ListContext<IdContext, PairItems>>{});
        return bound;
    }
    static BoundContexts by_tastes(const BoundSide& side, List<std::int64_t> indptr, float smooth) {
        return {.sides = {side}, .source = TasteContext::Source{side.side, view(indptr), smooth}, .indptr = indptr};
    }
    static BoundContexts by_history() { return {{}, HistoryContext::Source{}}; }
    // `blocks` has a row for each user, and `squares` and `radii` an entry.
    static BoundContexts by_pairs(const BoundSide& users, const BoundSide& queries, const std::string& form, int rank,
                                  std::optional<BoundSide> blocks) {
        PairContext::Source source{users.side, queries.side, interaction(form), rank, {}};
        check(users.side.table.dim == queries.side.table.dim, "users and queries must have the same dim");
        check((rank > 0) == (source.form == Interaction::kLowRank), "rank goes with lowrank, and is at least 1 there");
        check(blocks.has_value() == (source.form != Interaction::kNone), "every form but none needs blocks");
        if (!blocks) return {{users, queries}, source};
        source.blocks = blocks->side.table;
        check(source.blocks.groups == source.lines() * users.side.table.groups, "blocks must have the columns of their form");
        return {{users, queries}, source, blocks};
    }

    static Interaction interaction(const std::string& form) {
        if (form == "diagonal") return Interaction::kDiagonal;
        if (form == "lowrank") return Interaction::kLowRank;
        if (form == "full") return Interaction::kFull;
        check(form == "none", [&] { return "interaction must be none, diagonal, lowrank or full, got " + form; });
        return Interaction::kNone;
    }
};

class BoundEngine {
  public:
    BoundEngine(const BoundLog& log, const BoundLoss& loss, const BoundContexts& contexts, const BoundSide& items,
                std::optional<WritableRows> vectors, float alpha, std::int64_t features, int threads, int blocks,
                int rounds, int visit, bool apart, std::int64_t first_context)
        : log_(log),
          loss_(loss),
          contexts_(contexts),
          items_(items),
          vectors_(vectors),
          engine_(check_parts(log, loss, contexts, items, vectors, threads, blocks, rounds, visit), loss.loss,
                  contexts.source, items.side, vectors ? vectors->data() : nullptr,
                  alpha != 0 ? overlap(alpha, contexts, items, features) : Overlap(), {threads, blocks, rounds, visit, apart, first_context}) {}

    std::tuple<std::int64_t, std::int64_t, std::int64_t, double> run_epoch(std::uint64_t seed, std::int64_t number,
                                                                           float first_rate, float last_rate) {
        nb::gil_scoped_release release;
        const Progress done = engine_.run_epoch({seed, number, first_rate, last_rate}, poll_signals);
        return {done.steps, done.trials, done.violations, done.loss};
    }

  private:
    static Overlap overlap(float alpha, const BoundContexts& contexts, const BoundSide& items, std::int64_t features) {
        check(contexts.sides.size() == 1, "alpha needs contexts of one side");
        const Content& content = contexts.sides[0].side.content;
        return Overlap(alpha, content.lists, content.values, items.side.content.lists, items.side.content.values, features);
    }

    static const Log& check_parts(const BoundLog& log, const BoundLoss& loss, const BoundContexts& contexts,
                                  const BoundSide& items, const std::optional<WritableRows>& vectors, int threads,
                                  int blocks, int rounds, int visit) {
        check(threads >= 1, [&] { return "threads must be at least 1, got " + std::to_string(threads); });
        check(blocks >= 1 && blocks <= 255, [&] { return "blocks must be 1 to 255, got " + std::to_string(blocks); });
        check(blocks == 1 || blocks >= threads, "blocks must be 1, or at least the threads");
        check(rounds >= 1 && rounds % blocks == 0, "rounds must be a multiple of blocks");
        check(visit >= 1, [&] { return "visit must be at least 1, got " + std::to_string(visit); });
        check(!loss.loss.exact || static_cast<std::int64_t>(loss.weights.size()) > log.log.items,
              "weights must reach the number of items");
        const bool content = items.indices.has_value();
        check(content == vectors.has_value(), "items with content must have vectors, and only those");
        check(content || items.side.table.count - items.side.first >= log.log.items, "items must have a row each");
        for (const BoundSide& side : contexts.sides)
            check(side.side.table.groups == items.side.table.groups, "both sides must have as many columns");
        if (vectors) {
            aligned_rows(*vectors, "vectors");
            check(static_cast<std::int64_t>(vectors->shape(0)) >= log.log.items, "vectors must be one an item");
            const auto rows = contexts.lists ? 2 : 1;  // V and S
            check(vectors->shape(1) == rows * items.rows.shape(1) && row_stride(*vectors) == vectors->shape(1),
                  "vectors must have the columns of items' rows");
        }
        return log.log;
    }

    BoundLog log_;
    BoundLoss loss_;
    BoundContexts contexts_;
    BoundSide items_;
    std::optional<WritableRows> vectors_;
    Engine engine_;
};

inline void bind_training(nb::module_& module) {
    nb::class_<BoundLog>(module, "Log", "The events of each context, and what is known of it as a set.")
        .def(nb::init<List<std::int64_t>, List<std::int32_t>, std::optional<List<float>>, List<std::int64_t>,
                      List<std::int32_t>, std::optional<List<std::int32_t>>, std::int64_t,
                      std::optional<List<std::int32_t>>, std::optional<List<std::int32_t>>>(),
             nb::arg("indptr"), nb::arg("items"), nb::arg("weights").none(), nb::arg("known_indptr"),
             nb::arg("known"), nb::arg("drawable").none(), nb::arg("n_items"), nb::arg("users") = nb::none(),
             nb::arg("queries") = nb::none());
    nb::class_<BoundLoss>(module, "Loss", "A loss as the kernel reads it.")
        .def(nb::init<float, bool, std::int32_t, std::int32_t, List<float>, std::optional<List<float>>,
                      std::optional<List<float>>>(),
             nb::arg("margin"), nb::arg("exact"), nb::arg("max_trials"), nb::arg("violators"), nb::arg("weights"),
             nb::arg("trial_weights").none(), nb::arg("positions").none());
    nb::class_<BoundSide>(module, "Side", "The rows of a side: by id, by content, or both.")
        .def(nb::init<WritableRows, std::optional<WritableList>, List<float>, int, bool, bool, std::int64_t, std::int64_t,
                      std::optional<List<std::int64_t>>, std::optional<List<std::int32_t>>,
                      std::optional<List<float>>>(),
             nb::arg("rows").noconvert(), nb::arg("squares").noconvert().none(), nb::arg("radii"), nb::arg("dim"),
             nb::arg("ids"), nb::arg("bias"), nb::arg("first"), nb::arg("frozen"), nb::arg("indptr").none(), nb::arg("indices").none(),
             nb::arg("values").none());
    nb::class_<BoundContexts>(module, "Contexts", "What contexts are made from.")
        .def_static("by_rows", &BoundContexts::by_rows, nb::arg("side"), "From the rows of ids, of content, or of both.")
        .def_static("by_tastes", &BoundContexts::by_tastes, nb::arg("side"), nb::arg("indptr"), nb::arg("smooth"),
                    "From several rows each, of which the one that suits an item best speaks.")
        .def_static("by_history", &BoundContexts::by_history, "From the rows of a context's known items.")
        .def_static("by_pairs", &BoundContexts::by_pairs, nb::arg("users"), nb::arg("queries"), nb::arg("interaction"),
                    nb::arg("rank"), nb::arg("blocks").none(), "From a user's and a query's rows, and the user's interaction.")
        .def_static("by_lists", &BoundContexts::by_lists, nb::arg("side"), nb::arg("similar"), nb::arg("lists"),
                    nb::arg("weights"), nb::arg("leave_out"),
                    "From the rows of ids or of content, and a list of items for each context.");
    nb::class_<BoundEngine>(module, "Engine", "Trains the rows of both sides in place, an epoch at a call.")
        .def(nb::init<const BoundLog&, const BoundLoss&, const BoundContexts&, const BoundSide&,
                      std::optional<WritableRows>, float, std::int64_t, int, int, int, int, bool, std::int64_t>(),
             nb::arg("log"), nb::arg("loss"), nb::arg("contexts"), nb::arg("items"),
             nb::arg("vectors").noconvert().none(), nb::arg("alpha"), nb::arg("features"), nb::arg("threads"),
             nb::arg("blocks"), nb::arg("rounds"), nb::arg("visit"), nb::arg("apart") = false, nb::arg("first_context") = 0)
        .def("run_epoch", &BoundEngine::run_epoch, nb::arg("seed"), nb::arg("number"), nb::arg("first_rate"),
             nb::arg("last_rate"), "Returns the number of steps, of trials, of violations, and the summed loss.");
}

}  // namespace topwise
