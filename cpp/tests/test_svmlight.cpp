// The reader and the writer of SVMlight's lines, under sanitizers: known texts, random numbers, random bytes.
#include <cmath>
#include <cstdlib>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "support.hpp"
#include "svmlight.hpp"
#include "svmlight_write.hpp"

using namespace topwise;

namespace {

struct Read {
    std::int64_t rows, width;
    std::vector<float> features, labels;
    SvmlightReader::Sparse sparse;
    SvmlightReader::Stretches stretches;
};

// Reads a text both ways. It has a buffer of its own size, so that a step past its end is seen.
Read read(const std::string& text, bool zero_based = false, int threads = 2) {
    const std::vector<char> exact(text.begin(), text.end());
    SvmlightReader reader({exact.data(), exact.size()}, zero_based, threads);
    Read out{reader.rows(), reader.features(), {}, {}, {}, {}};
    out.features.assign(static_cast<std::size_t>(out.rows * out.width), 0);
    out.sparse = reader.read_sparse();
    reader.read_dense(out.features, out.width);
    out.labels = reader.labels();
    out.stretches = reader.stretches();
    if (out.rows > 0) expect(reader.line_of(0) <= reader.line_of(out.rows - 1), "lines in the order of rows");
    return out;
}

void known_text() {
    const Read got =
        read("\xEF\xBB\xBF# head\n2 qid:a 1:0.5 3:-1e-3 # docid = 7\r\n\n0 qid:a\n1 qid:b 2:.25 4:+3.");
    expect(got.rows == 3 && got.width == 4, "three rows of four features");
    expect(got.labels == std::vector<float>{2, 0, 1}, "labels");
    expect(got.features == std::vector<float>{0.5f, 0, -1e-3f, 0, 0, 0, 0, 0, 0, 0.25f, 0, 3}, "values");
    expect(got.stretches.starts == std::vector<std::int64_t>{0, 2}, "two queries");
    expect(got.sparse.indptr == std::vector<std::int64_t>{0, 2, 2, 4}, "entries of each row");
    expect(read("1 0:2 5:1\n", true).width == 6, "features from 0");
    expect(read("").rows == 0 && read("\n\n# only this\n").rows == 0, "nothing");
}

void bad_lines() {
    const std::pair<std::string, std::string> cases[] = {
        {"x qid:1 1:2", "line 1: a label must be a number, got 'x'"},
        {"1 qid:1 1:2\n-1 qid:1 1:2", "line 2: a label must be finite and at least 0, got '-1'"},
        {"nan qid:1 1:2", "line 1: a label must be finite"},
        {"1 qid:1 1:2\n\n# c\n1 1:2", "line 4: there is no qid"},
        {"1 1:2\n1 qid:1 1:2", "line 2: there is a qid"},
        {"1 qid: 1:2", "the qid is empty"},
        {"1 qid:1 2:1 1:2", "features must rise from one to the next, got '1' after '2'"},
        {"1 qid:1 9:1 2:1", "features must rise"},
        {"1 qid:1 2:1 2:2", "features must rise"},
        {"1 qid:1 0:1", "features count from 1, got 0"},
        {"1 qid:1 1:inf", "must be finite, got 'inf'"},
        {"1 qid:1 1:1e39", "must be finite, got '1e39'"},
        {"1 qid:1 1:nan", "must be finite"},
        {"1 qid:1 1:2x", "the value of feature 1 must be a number, got '2x'"},
        {"1 qid:1 1:", "must be a number, got ''"},
        {"1 qid:1 1:--2", "must be a number, got '--2'"},
        {"1 qid:1 1 2", "an entry must be feature:value"},
        {"1 qid:1 7:1 x", "an entry must be feature:value"},
        {"1 qid:1 -1:2", "an entry must be feature:value"},
        {"1 qid:1 99999999999999999999:2", "feature"},
        {"1 qid:1 2147483648:2", "a feature must be below 2147483647"},
    };
    for (const auto& [text, message] : cases) expect_refused([&] { read(text); }, message);
}

void earliest_error_across_chunks() {
    std::string text;
    while (text.size() < 3 * static_cast<std::size_t>(svmlight::kChunk))
        text += "1 qid:1 1:0.25 2:0.5 3:0.125\n";
    const auto lines = static_cast<std::int64_t>(text.size() / 29);
    expect(read(text, false, 3).rows == lines, "rows over several chunks");
    const std::size_t at = text.size() / 29 / 2 * 29;
    std::string broken = text.substr(0, at) + "1 qid:1 1:oops\n" + text.substr(at) + "1 qid:1 1:worse\n";
    expect_refused([&] { read(broken, false, 3); }, "line " + std::to_string(at / 29 + 1) + ": the value");
}

// What strtod says is what a number is.
void random_numbers() {
    std::mt19937_64 random(1);
    for (int trial = 0; trial < 20'000; ++trial) {
        std::string text = random() % 2 ? "-" : "";
        for (std::uint64_t n = 1 + random() % 21; n > 0; --n) text += static_cast<char>('0' + random() % 10);
        if (random() % 2) {
            text += '.';
            for (std::uint64_t n = random() % 24; n > 0; --n) text += static_cast<char>('0' + random() % 10);
        }
        if (random() % 4 == 0) text += "e" + std::to_string(static_cast<std::int64_t>(random() % 700) - 350);
        double value = 0;
        const char* end = svmlight::parse_number(text.data(), text.data() + text.size(), value);
        const double wanted = std::strtod(text.c_str(), nullptr);
        const bool tiny = std::fabs(wanted) < 1e-300;  // from_chars may call them out of range, so 0
        expect(end == text.data() + text.size() && (value == wanted || (tiny && std::fabs(value) < 1e-300)),
               text);
    }
}

void random_bytes() {
    std::mt19937 random(2);
    const std::string signs = "0123456789.:e-+# \t\r\nqid:x\xC3";
    for (int trial = 0; trial < 5'000; ++trial) {
        std::string text = trial % 2 ? "1 qid:3 1:2.5 4:1\n" : "";
        for (std::uint32_t n = random() % 80; n > 0; --n) text += signs[random() % signs.size()];
        try {
            const Read got = read(text, trial % 3 == 0);
            for (const float value : got.features) expect(std::isfinite(value), "finite");
        } catch (const std::invalid_argument&) {
        }
    }
}

void round_trip() {
    std::mt19937 random(3);
    std::uniform_real_distribution<float> values(-1e3f, 1e3f);
    const std::vector<std::string> qids{"a", "17"}, said{"docid = x", "", "y z"};
    const std::vector<float> labels{0, 1.5f, 4};
    const std::vector<std::int64_t> query{0, 0, 1};
    std::vector<float> features(6);
    for (float& value : features) value = values(random) * 1e-4f;
    const std::string text =
        svmlight::lines({labels, query, qids, said}, 1, 2, [&](std::int64_t row, auto&& put) {
            for (std::int64_t f = 0; f < 2; ++f) put(f, features[static_cast<std::size_t>(2 * row + f)]);
        });
    const Read got = read(text);
    expect(got.features == features && got.labels == labels, "the same numbers: " + text);
    expect(got.stretches.starts == std::vector<std::int64_t>{0, 2}, "the same queries");
}

}  // namespace

int main() {
    known_text();
    bad_lines();
    earliest_error_across_chunks();
    random_numbers();
    random_bytes();
    round_trip();
    return summary("test_svmlight");
}
