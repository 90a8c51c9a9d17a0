// Lines of SVMlight's form, `label qid:… feature:value … # comment`, read on all threads.
//
// A file is cut into chunks at ends of lines. A first pass counts rows and finds the largest feature, so that
// a second one can write each row to its place; both take the chunks in parallel. An error names its line.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "check.hpp"
#include "parallel.hpp"
#include "svmlight_text.hpp"

namespace topwise {

// A stretch of the text.
struct Span {
    std::int64_t begin = 0, end = 0;
    std::int64_t size() const { return end - begin; }
};

class SvmlightReader {
  public:
    using Poll = std::function<void()>;

    // Counts; the text must outlive the reader.
    SvmlightReader(std::string_view text, bool zero_based, int threads, Poll poll = {})
        : text_(text), base_(zero_based ? 0 : 1), threads_(threads), poll_(std::move(poll)) {
        if (text_.starts_with("\xEF\xBB\xBF")) first_ = 3;
        cut();
        each_chunk([this](Chunk& chunk) { count(chunk); });
        for (Chunk& chunk : chunks_) {
            chunk.first_line = lines_ + 1;
            chunk.first_row = rows_;
            lines_ += chunk.lines;
            rows_ += chunk.rows;
            entries_ += chunk.entries;
            features_ = std::max(features_, chunk.features);
        }
        const auto filled =
            std::find_if(chunks_.begin(), chunks_.end(), [](const Chunk& c) { return c.rows > 0; });
        with_qid_ = filled != chunks_.end() && filled->first_has_qid;
    }

    std::int64_t rows() const { return rows_; }
    // The largest feature of the lines, as a width; and about how many entries they have.
    std::int64_t features() const { return features_; }
    std::int64_t entries() const { return entries_; }

    // Fills rows × width zeros with what the lines have.
    void read_dense(std::span<float> out, std::int64_t width) {
        check(width >= features_ && std::ssize(out) == rows_ * width,
              "the array must have a place for each feature");
        begin_rows();
        each_chunk([&](Chunk& chunk) {
            parse(chunk, [&](std::int64_t row, std::int64_t feature, float value) {
                // Only a line that is refused in a moment has a feature beyond its last one.
                if (feature < width) out[static_cast<std::size_t>(row * width + feature)] = value;
            });
        });
        finish();
    }

    struct Sparse {
        std::vector<std::int64_t> indptr;
        std::vector<std::int32_t> indices;
        std::vector<float> values;
    };

    // The entries that are not 0.
    Sparse read_sparse() {
        begin_rows();
        std::vector<Sparse> parts(chunks_.size());
        std::vector<std::int64_t> lengths(static_cast<std::size_t>(rows_), 0);
        each_chunk([&](Chunk& chunk) {
            Sparse& part = parts[static_cast<std::size_t>(&chunk - chunks_.data())];
            parse(chunk, [&](std::int64_t row, std::int64_t feature, float value) {
                if (value == 0) return;
                part.indices.push_back(static_cast<std::int32_t>(feature));
                part.values.push_back(value);
                ++lengths[static_cast<std::size_t>(row)];
            });
        });
        finish();
        Sparse whole;
        whole.indptr.reserve(lengths.size() + 1);
        whole.indptr.push_back(0);
        for (const std::int64_t length : lengths) whole.indptr.push_back(whole.indptr.back() + length);
        whole.indices.reserve(static_cast<std::size_t>(whole.indptr.back()));
        whole.values.reserve(static_cast<std::size_t>(whole.indptr.back()));
        for (Sparse& part : parts) {
            whole.indices.insert(whole.indices.end(), part.indices.begin(), part.indices.end());
            whole.values.insert(whole.values.end(), part.values.begin(), part.values.end());
            part = {};
        }
        return whole;
    }

    // What the last reading found beside the features.
    const std::vector<float>& labels() const { return labels_; }
    // A span a row, or none if no line has a comment.
    const std::vector<Span>& comments() const { return comments_; }

    // The first row of each stretch of rows with the same qid, and where that qid stands in the text. Nothing
    // if the lines have no qid.
    struct Stretches {
        std::vector<std::int64_t> starts;
        std::vector<Span> qids;
    };
    Stretches stretches() const {
        Stretches found;
        if (!with_qid_) return found;
        for (std::size_t row = 0; row < qids_.size(); ++row) {
            if (row == 0 || piece(qids_[row]) != piece(qids_[row - 1])) {
                found.starts.push_back(static_cast<std::int64_t>(row));
                found.qids.push_back(qids_[row]);
            }
        }
        return found;
    }

    // The line of a row, counted from 1.
    std::int64_t line_of(std::int64_t row) const {
        check(row >= 0 && row < rows_, "there is no such row");
        const auto after =
            std::upper_bound(chunks_.begin(), chunks_.end(), row,
                             [](std::int64_t r, const Chunk& chunk) { return r < chunk.first_row; });
        const Chunk& chunk = *std::prev(after);
        std::int64_t at_row = chunk.first_row, at_line = chunk.first_line, found = 0;
        each_line(chunk, [&](const svmlight::Line& line) {
            if (line.begin < line.end && at_row++ == row) found = at_line;
            ++at_line;
        });
        return found;
    }

  private:
    struct Chunk {
        Span text;
        std::int64_t lines = 0, rows = 0, entries = 0, features = 0;
        std::int64_t first_line = 0, first_row = 0;
        bool first_has_qid = false, has_comments = false;
        std::optional<std::string> error;
    };

    std::string_view piece(Span span) const {
        return text_.substr(static_cast<std::size_t>(span.begin), static_cast<std::size_t>(span.size()));
    }

    void cut() {
        std::int64_t begin = first_;
        const auto size = static_cast<std::int64_t>(text_.size());
        while (begin < size) {
            std::int64_t end = std::min(size, begin + svmlight::kChunk);
            if (end < size) {
                const std::size_t newline = text_.find('\n', static_cast<std::size_t>(end - 1));
                end = newline == std::string_view::npos ? size : static_cast<std::int64_t>(newline) + 1;
            }
            chunks_.emplace_back().text = {begin, end};
            begin = end;
        }
    }

    template <class Body>
    void each_chunk(Body&& body) {
        parallel_for(std::ssize(chunks_), 1, threads_, [&](std::int64_t begin, std::int64_t end, int worker) {
            for (std::int64_t i = begin; i < end; ++i) body(chunks_[static_cast<std::size_t>(i)]);
            if (worker == 0 && poll_) poll_();
        });
    }

    template <class Body>
    void each_line(const Chunk& chunk, Body&& body) const {
        const char* at = text_.data() + chunk.text.begin;
        const char* const end = text_.data() + chunk.text.end;
        while (at < end) {
            const void* newline = std::memchr(at, '\n', static_cast<std::size_t>(end - at));
            const char* stop = newline ? static_cast<const char*>(newline) : end;
            body(svmlight::strip(at, stop));
            at = newline ? stop + 1 : end;
        }
    }

    void count(Chunk& chunk) const {
        each_line(chunk, [&](const svmlight::Line& line) {
            ++chunk.lines;
            if (line.begin == line.end) return;
            if (chunk.rows++ == 0) {
                const char* second =
                    svmlight::next_token(svmlight::token_end(line.begin, line.end), line.end);
                chunk.first_has_qid =
                    std::string_view(second, static_cast<std::size_t>(line.end - second)).starts_with("qid:");
            }
            chunk.entries += std::count(line.begin, line.end, ':');
            // Features rise within a line, or parsing refuses it: so the last one is the largest.
            const char* colon = line.end;
            while (colon > line.begin && colon[-1] != ':' && !svmlight::is_blank(colon[-1])) --colon;
            if (colon == line.begin || colon[-1] != ':') return;
            const char* number = --colon;
            while (number > line.begin && svmlight::is_digit(number[-1])) --number;
            std::int64_t feature = -1;
            const auto [stopped, error] = std::from_chars(number, colon, feature);
            if (error == std::errc{} && stopped == colon && feature - base_ < svmlight::kMostFeatures)
                chunk.features = std::max(chunk.features, feature - base_ + 1);
        });
    }

    void begin_rows() {
        labels_.assign(static_cast<std::size_t>(rows_), 0);
        qids_.assign(with_qid_ ? static_cast<std::size_t>(rows_) : 0, {});
        comments_.assign(static_cast<std::size_t>(rows_), {});
    }

    // Throws the error of the earliest line.
    void finish() {
        bool any_comment = false;
        for (const Chunk& chunk : chunks_) {
            if (chunk.error) throw std::invalid_argument(*chunk.error);
            any_comment |= chunk.has_comments;
        }
        if (!any_comment) comments_ = {};
    }

    template <class Put>
    void parse(Chunk& chunk, Put&& put) {
        std::int64_t number = chunk.first_line, row = chunk.first_row;
        chunk.error.reset();
        each_line(chunk, [&](const svmlight::Line& line) {
            if (!chunk.error && line.begin < line.end) {
                if (std::string wrong = parse_line(line, row, put); !wrong.empty())
                    chunk.error = "line " + std::to_string(number) + ": " + wrong;
                chunk.has_comments |= line.comment_begin < line.comment_end;
                ++row;
            }
            ++number;
        });
    }

    // Writes a row, or says what is wrong with it.
    template <class Put>
    std::string parse_line(const svmlight::Line& line, std::int64_t row, Put& put) {
        using namespace svmlight;
        const char* const end = line.end;
        const auto at_row = static_cast<std::size_t>(row);
        double label = 0;
        const char* at = parse_number(line.begin, end, label);
        if (at == nullptr || (at < end && !is_blank(*at)))
            return "a label must be a number, got " + shown(line.begin, token_end(line.begin, end));
        if (!(label >= 0) || !std::isfinite(static_cast<float>(label)))
            return "a label must be finite and at least 0, got " + shown(line.begin, at) +
                   ": leave such rows out";
        labels_[at_row] = static_cast<float>(label);
        comments_[at_row] = {line.comment_begin - text_.data(), line.comment_end - text_.data()};
        at = next_token(at, end);
        const bool has_qid = end - at >= 4 && std::memcmp(at, "qid:", 4) == 0;
        if (has_qid != with_qid_)
            return with_qid_ ? "there is no qid after the label, though the first row has one"
                             : "there is a qid, though the first row has none";
        if (has_qid) {
            const char* qid_end = token_end(at, end);
            if (qid_end == at + 4) return "the qid is empty";
            qids_[at_row] = {at + 4 - text_.data(), qid_end - text_.data()};
            at = next_token(qid_end, end);
        }
        std::int64_t before = -1;
        while (at < end) {
            const char* const token = at;
            std::int64_t feature = 0;
            while (at < end && is_digit(*at) && feature <= kMostFeatures)
                feature = feature * 10 + (*at++ - '0');
            if (at == token || at == end || *at != ':')
                return "an entry must be feature:value with a whole number for the feature, got " +
                       shown(token, token_end(token, end));
            feature -= base_;
            if (feature < 0) return "features count from 1, got 0: pass zero_based=True if they count from 0";
            if (feature >= kMostFeatures)
                return "a feature must be below 2147483647, got " + shown(token, at);
            if (feature <= before)
                return "features must rise from one to the next, got " + shown(token, at) + " after '" +
                       std::to_string(before + base_) + "'";
            before = feature;
            const char* const value_begin = ++at;
            double value = 0;
            at = parse_number(value_begin, end, value);
            if (at == nullptr || (at < end && !is_blank(*at)))
                return "the value of feature " + std::to_string(feature + base_) + " must be a number, got " +
                       shown(value_begin, token_end(value_begin, end));
            const auto single = static_cast<float>(value);
            if (!std::isfinite(single))
                return "the value of feature " + std::to_string(feature + base_) + " must be finite, got " +
                       shown(value_begin, at);
            put(row, feature, single);
            at = next_token(at, end);
        }
        return {};
    }

    std::string_view text_;
    std::int64_t base_, first_ = 0;
    int threads_;
    Poll poll_;
    std::vector<Chunk> chunks_;
    std::int64_t lines_ = 0, rows_ = 0, entries_ = 0, features_ = 0;
    bool with_qid_ = false;
    std::vector<float> labels_;
    std::vector<Span> qids_, comments_;
};

}  // namespace topwise
