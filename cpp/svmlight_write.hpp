// Rows as lines of SVMlight's form, with the shortest digits that give the same numbers back.
#pragma once

#include <charconv>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "check.hpp"
#include "parallel.hpp"

namespace topwise {

// Lines of rows. `query_of_row` points into `qids`; `said` has a comment a row, or is empty.
struct SvmlightRows {
    std::span<const float> labels;
    std::span<const std::int64_t> query_of_row;
    const std::vector<std::string>& qids;
    const std::vector<std::string>& said;
};

namespace svmlight {

inline void append_number(std::string& text, float value) {
    char digits[32];
    const auto [end, error] = std::to_chars(digits, digits + sizeof digits, value);
    (void)error;  // 32 signs hold any float
    text.append(digits, end);
}

// `entries(row, put)` calls put(feature, value) for the entries of a row.
template <class Entries>
std::string lines(const SvmlightRows& rows, std::int64_t base, int threads, Entries&& entries) {
    const std::int64_t count = std::ssize(rows.labels);
    check(std::ssize(rows.query_of_row) == count && (rows.said.empty() || std::ssize(rows.said) == count),
          "rows must have a label, a query and, if any has one, a comment each");
    for (const std::int64_t query : rows.query_of_row)
        check(query >= 0 && query < std::ssize(rows.qids), "a row has a query without a name");
    constexpr std::int64_t kRows = 256;
    std::vector<std::string> parts(static_cast<std::size_t>((count + kRows - 1) / kRows));
    parallel_for(count, kRows, threads, [&](std::int64_t begin, std::int64_t end, int) {
        std::string& text = parts[static_cast<std::size_t>(begin / kRows)];
        for (std::int64_t row = begin; row < end; ++row) {
            const auto at = static_cast<std::size_t>(row);
            append_number(text, rows.labels[at]);
            text += " qid:";
            text += rows.qids[static_cast<std::size_t>(rows.query_of_row[at])];
            entries(row, [&](std::int64_t feature, float value) {
                char digits[24];
                text += ' ';
                text.append(digits, std::to_chars(digits, digits + sizeof digits, feature + base).ptr);
                text += ':';
                append_number(text, value);
            });
            if (!rows.said.empty() && !rows.said[at].empty()) (text += " # ") += rows.said[at];
            text += '\n';
        }
    });
    std::string whole;
    for (const std::string& part : parts) whole += part;
    return whole;
}

}  // namespace svmlight
}  // namespace topwise
