// Python's view of retrieval and of full-catalogue ranks: arrays in without a copy, results out without one.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "rank.hpp"
#include "rank_tastes.hpp"
#include "topk.hpp"
#include "views.hpp"

namespace topwise {

namespace nb = nanobind;

using FloatRows = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using List = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

inline Matrix view(const FloatRows& array) {
    return {array.data(), static_cast<std::int64_t>(array.shape(0)),
            static_cast<std::int64_t>(array.shape(1))};
}

template <class T>
std::span<const T> view(const List<T>& array) {
    return {array.data(), array.shape(0)};
}

// Hands a vector over to numpy, which frees it.
template <class T>
nb::ndarray<nb::numpy, T> to_numpy(std::vector<T>&& values, std::initializer_list<std::size_t> shape) {
    auto held = std::make_unique<std::vector<T>>(std::move(values));
    nb::capsule owner(held.get(), [](void* vector) noexcept { delete static_cast<std::vector<T>*>(vector); });
    return {held.release()->data(), shape, owner};
}

// Lets Ctrl-C through while a kernel runs without the GIL.
inline void poll_signals() {
    nb::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

inline void bind_retrieval(nb::module_& module) {
    nb::class_<ItemIndex>(module, "ItemIndex", "Exact top-k by dot product over the rows of a matrix.")
        .def(
            "__init__",
            [](ItemIndex* self, const FloatRows& items) {
                nb::gil_scoped_release release;
                new (self) ItemIndex(view(items));
            },
            nb::arg("items").noconvert())
        .def_prop_ro("size", &ItemIndex::size)
        .def_prop_ro("dim", &ItemIndex::dim)
        .def(
            "search",
            [](const ItemIndex& self, const FloatRows& contexts, std::int64_t k,
               const List<std::int64_t>& exclude_indptr, const List<std::int32_t>& exclude,
               const std::optional<List<std::int32_t>>& candidates, int threads) {
                const RowLists excluded{view(exclude_indptr), view(exclude)};
                std::optional<std::span<const std::int32_t>> among;
                if (candidates) among = view(*candidates);
                TopK best = [&] {
                    nb::gil_scoped_release release;
                    return self.search(view(contexts), k, excluded, among, threads, poll_signals);
                }();
                const std::size_t rows = contexts.shape(0), columns = static_cast<std::size_t>(k);
                return std::pair(to_numpy(std::move(best.items), {rows, columns}),
                                 to_numpy(std::move(best.scores), {rows, columns}));
            },
            nb::arg("contexts").noconvert(), nb::arg("k"), nb::arg("exclude_indptr").noconvert(),
            nb::arg("exclude").noconvert(), nb::arg("candidates").noconvert().none(), nb::arg("threads"),
            "The k best items of each context and their scores, best first, ties by lower item number; -1 "
            "and -inf\n"
            "where fewer remain. Items in a context's row of `exclude` do not count, nor any outside "
            "`candidates`.");

    module.def(
        "rank_items",
        [](const FloatRows& contexts, const FloatRows& items, const List<std::int64_t>& indptr,
           const List<std::int32_t>& targets, const List<std::int64_t>& exclude_indptr,
           const List<std::int32_t>& exclude, int threads) {
            const RowLists wanted{view(indptr), view(targets)}, excluded{view(exclude_indptr), view(exclude)};
            Ranks ranks = [&] {
                nb::gil_scoped_release release;
                return rank_items(view(contexts), view(items), wanted, excluded, threads, poll_signals);
            }();
            const std::size_t count = targets.shape(0);
            return std::pair(to_numpy(std::move(ranks.greater), {count}),
                             to_numpy(std::move(ranks.equal), {count}));
        },
        nb::arg("contexts").noconvert(), nb::arg("items").noconvert(), nb::arg("indptr").noconvert(),
        nb::arg("targets").noconvert(), nb::arg("exclude_indptr").noconvert(), nb::arg("exclude").noconvert(),
        nb::arg("threads"),
        "For each target of a context: how many items score above it and how many the same, among the items "
        "that\n"
        "are neither targets nor excluded.");

    module.def(
        "rank_tastes",
        [](const FloatRows& tastes, const List<std::int64_t>& taste_indptr, float smooth, const FloatRows& items,
           const List<std::int64_t>& indptr, const List<std::int32_t>& targets,
           const List<std::int64_t>& exclude_indptr, const List<std::int32_t>& exclude, int threads) {
            const RowLists wanted{view(indptr), view(targets)}, excluded{view(exclude_indptr), view(exclude)};
            Ranks ranks = [&] {
                nb::gil_scoped_release release;
                return rank_tastes({view(tastes), view(taste_indptr), smooth}, view(items), wanted, excluded, threads,
                                   poll_signals);
            }();
            const std::size_t count = targets.shape(0);
            return std::pair(to_numpy(std::move(ranks.greater), {count}),
                             to_numpy(std::move(ranks.equal), {count}));
        },
        nb::arg("tastes").noconvert(), nb::arg("taste_indptr").noconvert(), nb::arg("smooth"),
        nb::arg("items").noconvert(), nb::arg("indptr").noconvert(), nb::arg("targets").noconvert(),
        nb::arg("exclude_indptr").noconvert(), nb::arg("exclude").noconvert(), nb::arg("threads"),
        "rank_items for contexts of several vectors, those of one between two ends of taste_indptr: the score of "
        "an item\n"
        "is its largest product, or with smooth above 0 their sum, each weighing `smooth` times the one before.");
}

}  // namespace topwise
