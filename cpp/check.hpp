// Argument checks: what a caller passes wrongly becomes std::invalid_argument, which Python sees as
// ValueError.
#pragma once

#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <string>

namespace topwise {

inline void check(bool condition, const char* message) {
    if (!condition) throw std::invalid_argument(message);
}

// For messages that name a value: `message` is called, and the text built, only when the check fails.
template <class Message>
    requires requires(Message message) { std::string(message()); }
void check(bool condition, Message&& message) {
    if (!condition) throw std::invalid_argument(message());
}

// A number as a message should show it: 0.1, 1e+30, nan.
inline std::string show(double number) {
    char text[32];
    std::snprintf(text, sizeof text, "%.6g", std::isnan(number) ? std::fabs(number) : number);
    return text;
}

}  // namespace topwise
