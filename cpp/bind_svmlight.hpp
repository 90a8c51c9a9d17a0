// Python's view of the reader and the writer of SVMlight's lines.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bind_retrieval.hpp"
#include "svmlight.hpp"
#include "svmlight_write.hpp"

namespace topwise {

inline auto spans_to_numpy(const std::vector<Span>& spans) {
    std::vector<std::int64_t> flat;
    flat.reserve(2 * spans.size());
    for (const Span& span : spans) {
        flat.push_back(span.begin);
        flat.push_back(span.end);
    }
    return to_numpy(std::move(flat), {spans.size(), 2});
}

inline void bind_svmlight(nb::module_& module) {
    using Bytes = List<std::uint8_t>;
    using Places = nb::ndarray<float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

    nb::class_<SvmlightReader>(module, "SvmlightReader", "Rows of a text of SVMlight's form.")
        .def(
            "__init__",
            [](SvmlightReader* self, const Bytes& text, bool zero_based, int threads) {
                nb::gil_scoped_release release;
                new (self) SvmlightReader({reinterpret_cast<const char*>(text.data()), text.shape(0)},
                                          zero_based, threads, poll_signals);
            },
            nb::arg("text").noconvert(), nb::arg("zero_based"), nb::arg("threads"), nb::keep_alive<1, 2>())
        .def_prop_ro("rows", &SvmlightReader::rows)
        .def_prop_ro("features", &SvmlightReader::features)
        .def_prop_ro("entries", &SvmlightReader::entries)
        .def(
            "read_dense",
            [](SvmlightReader& self, const Places& out) {
                const std::span<float> places(out.data(), out.size());
                const auto width = static_cast<std::int64_t>(out.shape(1));
                nb::gil_scoped_release release;
                self.read_dense(places, width);
            },
            nb::arg("out").noconvert(), "Fills an array of zeros.")
        .def("read_sparse",
             [](SvmlightReader& self) {
                 SvmlightReader::Sparse sparse = [&] {
                     nb::gil_scoped_release release;
                     return self.read_sparse();
                 }();
                 const std::size_t rows = sparse.indptr.size(), entries = sparse.values.size();
                 return std::tuple(to_numpy(std::move(sparse.indptr), {rows}),
                                   to_numpy(std::move(sparse.indices), {entries}),
                                   to_numpy(std::move(sparse.values), {entries}));
             })
        .def("labels",
             [](const SvmlightReader& self) {
                 std::vector<float> labels = self.labels();
                 const std::size_t rows = labels.size();
                 return to_numpy(std::move(labels), {rows});
             })
        .def(
            "comments", [](const SvmlightReader& self) { return spans_to_numpy(self.comments()); },
            "Where the comment of each row stands; nothing if there are none.")
        .def(
            "queries",
            [](const SvmlightReader& self) {
                SvmlightReader::Stretches found = self.stretches();
                const std::size_t count = found.starts.size();
                return std::pair(to_numpy(std::move(found.starts), {count}), spans_to_numpy(found.qids));
            },
            "The first row of each stretch of rows of one query, and where its qid stands.")
        .def("line_of", &SvmlightReader::line_of, nb::arg("row"));

    module.def(
        "svmlight_lines_dense",
        [](const List<float>& labels, const List<std::int64_t>& query_of_row,
           const std::vector<std::string>& qids, const std::vector<std::string>& said,
           const FloatRows& features, std::int64_t base, int threads) {
            const Matrix rows = view(features);
            check(features.shape(0) == labels.shape(0), "there must be a row of features for each label");
            std::string text = [&] {
                nb::gil_scoped_release release;
                return svmlight::lines({view(labels), view(query_of_row), qids, said}, base, threads,
                                       [&](std::int64_t row, auto&& put) {
                                           for (std::int64_t f = 0; f < rows.cols; ++f)
                                               put(f, rows.row(row)[f]);
                                       });
            }();
            return nb::bytes(text.data(), text.size());
        },
        nb::arg("labels").noconvert(), nb::arg("query_of_row").noconvert(), nb::arg("qids"), nb::arg("said"),
        nb::arg("features").noconvert(), nb::arg("base"), nb::arg("threads"));

    module.def(
        "svmlight_lines_sparse",
        [](const List<float>& labels, const List<std::int64_t>& query_of_row,
           const std::vector<std::string>& qids, const std::vector<std::string>& said,
           const List<std::int64_t>& indptr, const List<std::int32_t>& indices, const List<float>& values,
           std::int64_t base, int threads) {
            const auto ends = view(indptr);
            check(indptr.shape(0) == labels.shape(0) + 1 && indices.shape(0) == values.shape(0) &&
                      ends[0] == 0 && ends.back() == std::ssize(view(values)) &&
                      std::is_sorted(ends.begin(), ends.end()),
                  "indptr must rise from 0 to the number of entries");
            std::string text = [&] {
                nb::gil_scoped_release release;
                return svmlight::lines({view(labels), view(query_of_row), qids, said}, base, threads,
                                       [&](std::int64_t row, auto&& put) {
                                           for (std::int64_t e = ends[row]; e < ends[row + 1]; ++e)
                                               put(view(indices)[e], view(values)[e]);
                                       });
            }();
            return nb::bytes(text.data(), text.size());
        },
        nb::arg("labels").noconvert(), nb::arg("query_of_row").noconvert(), nb::arg("qids"), nb::arg("said"),
        nb::arg("indptr").noconvert(), nb::arg("indices").noconvert(), nb::arg("values").noconvert(),
        nb::arg("base"), nb::arg("threads"));
}

}  // namespace topwise
