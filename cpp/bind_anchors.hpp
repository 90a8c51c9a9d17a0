// Python's view of anchors: distances under local metrics, and their weights Δ.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>

#include <cstdint>
#include <tuple>

#include "anchor_choice.hpp"
#include "anchor_distances.hpp"
#include "bind_retrieval.hpp"
#include "bind_training.hpp"
#include "compositions/anchors.hpp"

namespace topwise {

// Holds on to the arrays that the kernel borrows.
class BoundAnchors {
  public:
    BoundAnchors(FloatRows columns, List<float> centres, List<float> origin, std::int64_t width)
        : columns_(columns),
          centres_(centres),
          origin_(origin),
          distances_(AnchorColumns{view(columns_), view(centres_), view(origin_), width}) {}

    auto distances(const FloatRows& documents, int threads) const {
        std::vector<float> out(documents.shape(0) * static_cast<std::size_t>(distances_.anchors()));
        {
            nb::gil_scoped_release release;
            distances_.distances(view(documents), out.data(), threads, poll_signals);
        }
        return to_numpy(std::move(out), {documents.shape(0), static_cast<std::size_t>(distances_.anchors())});
    }

    auto scores(const FloatRows& documents, const FloatRows& weights, const std::optional<List<std::int32_t>>& query,
                int threads) const {
        std::vector<double> out(documents.shape(0));
        {
            nb::gil_scoped_release release;
            distances_.scores(view(documents), view(weights), view(query), out.data(), threads, poll_signals);
        }
        return to_numpy(std::move(out), {documents.shape(0)});
    }

  private:
    FloatRows columns_;
    List<float> centres_, origin_;
    AnchorDistances distances_;
};

inline std::tuple<std::int64_t, std::int64_t, std::int64_t, double> learn_bound_deltas(
    const WritableRows& psi, const List<std::int64_t>& indptr, const List<std::int32_t>& lower, const List<float>& weights,
    const WritableRows& deltas, float margin, float rate, std::int32_t max_trials, std::int64_t epochs,
    std::uint64_t seed, int threads) {
    const auto rows = static_cast<std::int64_t>(psi.shape(0));
    const int groups = static_cast<int>(psi.shape(1)) / kLanes;
    Candidates candidates{{aligned_rows(psi, "psi"), nullptr, rows, 0, groups, 0, nullptr}, view(indptr), view(lower)};
    check(candidates.queries() >= 1 && candidates.indptr.front() == 0 && candidates.indptr.back() == rows,
          "indptr must go from 0 to the number of rows");
    check(std::ssize(candidates.lower) == rows, "lower must be one a row");
    for (std::int64_t query = 0; query < candidates.queries(); ++query) {
        const std::int64_t begin = candidates.indptr[query], end = candidates.indptr[query + 1];
        check(begin <= end, "indptr must not decrease");
        for (std::int64_t row = begin; row < end; ++row) {
            check(candidates.lower[row] >= 0 && candidates.lower[row] <= row - begin,
                  "lower must count rows of the query that stand before the row");
            check(candidates.lower[row] < std::ssize(view(weights)), "weights must reach the longest query");
        }
    }
    check(deltas.shape(1) == psi.shape(1), "deltas must have as many columns as psi");
    const auto count = static_cast<std::int64_t>(deltas.shape(0));
    check(count == 1 || count == candidates.queries(), "deltas must have a row for each query, or one");
    check(max_trials >= 1, [&] { return "max_trials must be at least 1, got " + std::to_string(max_trials); });
    Loss loss;
    loss.weights = view(weights);
    const Table table{aligned_rows(deltas, "deltas"), nullptr, count, 0, groups, 0, nullptr};
    nb::gil_scoped_release release;
    const Progress done =
        learn_deltas(candidates, loss, {margin, rate, max_trials, epochs, seed}, table, threads, poll_signals);
    return {done.steps, done.trials, done.violations, done.loss};
}

inline void bind_anchors(nb::module_& module) {
    nb::class_<BoundAnchors>(module, "Anchors", "Anchors, each with a metric of its own.")
        .def(nb::init<FloatRows, List<float>, List<float>, std::int64_t>(), nb::arg("columns").noconvert(),
             nb::arg("centres").noconvert(), nb::arg("origin").noconvert(), nb::arg("width"))
        .def("distances", &BoundAnchors::distances, nb::arg("documents").noconvert(), nb::arg("threads"),
             "The distance of each document to each anchor.")
        .def("scores", &BoundAnchors::scores, nb::arg("documents").noconvert(), nb::arg("weights").noconvert(),
             nb::arg("query").noconvert().none(), nb::arg("threads"), "A score for each document, equation 13.");
    module.def(
        "ndcg_of_places",
        [](const FloatRows& places, const FloatRows& documents, const List<std::int64_t>& indptr,
           const List<float>& gains, int threads) {
            std::vector<double> quality = [&] {
                nb::gil_scoped_release release;
                return ndcg_of_places(view(places), view(documents), view(indptr), view(gains), threads, poll_signals);
            }();
            const std::size_t count = quality.size();
            return to_numpy(std::move(quality), {count});
        },
        nb::arg("places").noconvert(), nb::arg("documents").noconvert(), nb::arg("indptr").noconvert(),
        nb::arg("gains").noconvert(), nb::arg("threads"),
        "The sum over queries of the NDCG of each place, by whose distances the documents are ranked.");
    module.def("learn_deltas", &learn_bound_deltas, nb::arg("psi").noconvert(), nb::arg("indptr").noconvert(),
               nb::arg("lower").noconvert(), nb::arg("weights").noconvert(), nb::arg("deltas").noconvert(), nb::arg("margin"),
               nb::arg("rate"), nb::arg("max_trials"), nb::arg("epochs"), nb::arg("seed"), nb::arg("threads"),
               "Learns the rows of `deltas` in place. Returns the number of steps, of trials, of violations, and the "
               "summed loss.");
}

}  // namespace topwise
