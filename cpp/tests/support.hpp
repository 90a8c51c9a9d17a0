// What the native tests share: checks that count what failed, and lists that own their numbers.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "views.hpp"

namespace topwise {

using Rows = std::vector<std::vector<std::int32_t>>;

inline int failures = 0;

inline void expect(bool condition, const std::string& what) {
    if (condition) return;
    ++failures;
    std::fprintf(stderr, "FAILED: %s\n", what.c_str());
}

inline void expect_refused(const std::function<void()>& call, const std::string& part) {
    try {
        call();
    } catch (const std::invalid_argument& error) {
        expect(std::string(error.what()).find(part) != std::string::npos,
               "a message with '" + part + "', got: " + error.what());
        return;
    }
    expect(false, "no error, though it should say '" + part + "'");
}

struct Lists {
    std::vector<std::int64_t> indptr{0};
    std::vector<std::int32_t> indices;

    Lists() = default;
    explicit Lists(const Rows& rows) {
        for (const auto& row : rows) {
            indices.insert(indices.end(), row.begin(), row.end());
            indptr.push_back(std::ssize(indices));
        }
    }
    RowLists view() const { return {indptr, indices}; }
};

// Says how it went, and gives what main returns.
inline int summary(const char* name) {
    if (failures == 0) std::printf("%s: all checks passed\n", name);
    return failures == 0 ? 0 : 1;
}

}  // namespace topwise
