// Pieces of a line of SVMlight's form: numbers, blanks, comments.
#pragma once

#include <charconv>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>

namespace topwise {

namespace svmlight {

inline constexpr std::int64_t kChunk = std::int64_t{1} << 22;
inline constexpr std::int64_t kMostFeatures = std::numeric_limits<std::int32_t>::max();

inline bool is_blank(char sign) {
    return sign == ' ' || sign == '\t' || sign == '\r';
}
inline bool is_digit(char sign) {
    return static_cast<unsigned char>(sign - '0') < 10;
}

// What a message can show of a piece of a file: short, and ASCII alone.
inline std::string shown(const char* begin, const char* end) {
    std::string text = "'";
    for (const char* at = begin; at < end; ++at) {
        if (at - begin == 40) return text + "…'";
        text += *at >= ' ' && *at <= '~' ? *at : '?';
    }
    return text + "'";
}

// The number at the beginning of [at, end), and where it ends; nullptr if there is none. Exact like strtod:
// up to 19 digits and powers of ten up to 22 give one rounding in double, all else goes to from_chars.
inline const char* parse_number(const char* at, const char* end, double& value) {
    static constexpr double kPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                         1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                         1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const bool negative = at < end && *at == '-';
    if (at < end && (*at == '-' || *at == '+')) ++at;
    const char* const unsigned_begin = at;
    std::uint64_t digits = 0;
    const char* const whole = at;
    while (at < end && is_digit(*at)) digits = digits * 10 + static_cast<std::uint64_t>(*at++ - '0');
    std::int64_t count = at - whole;
    std::int64_t exponent = 0;
    if (at < end && *at == '.') {
        const char* const fraction = ++at;
        while (at < end && is_digit(*at)) digits = digits * 10 + static_cast<std::uint64_t>(*at++ - '0');
        exponent = -(at - fraction);
        count += at - fraction;
    }
    const bool plain = count > 0 && count <= 19 && !(at < end && (*at == 'e' || *at == 'E'));
    if (plain && digits <= (std::uint64_t{1} << 53) && exponent >= -22) {
        const double size = static_cast<double>(digits) / kPowers[-exponent];
        value = negative ? -size : size;
        return at;
    }
    const auto [stopped, error] = std::from_chars(unsigned_begin, end, value);
    if (stopped == unsigned_begin || (unsigned_begin < end && *unsigned_begin == '-')) return nullptr;
    if (error ==
        std::errc::result_out_of_range) {  // too small is 0; too large is left to the check of bounds
        const std::string_view text(unsigned_begin, static_cast<std::size_t>(stopped - unsigned_begin));
        const std::size_t mark = text.find_first_of("eE");
        const bool small = mark != std::string_view::npos ? text.substr(mark + 1).starts_with('-')
                                                          : text.find_first_not_of("0.") > text.find('.');
        value = small ? 0.0 : std::numeric_limits<double>::infinity();
    }
    if (negative) value = -value;
    return stopped;
}

// A line without its comment and the blanks at both ends, and the comment without them.
struct Line {
    const char *begin, *end;
    const char *comment_begin, *comment_end;
};

inline Line strip(const char* begin, const char* end) {
    const char* hash =
        static_cast<const char*>(std::memchr(begin, '#', static_cast<std::size_t>(end - begin)));
    Line line{begin, hash ? hash : end, hash ? hash + 1 : end, end};
    while (line.begin < line.end && is_blank(*line.begin)) ++line.begin;
    while (line.end > line.begin && is_blank(line.end[-1])) --line.end;
    while (line.comment_begin < line.comment_end && is_blank(*line.comment_begin)) ++line.comment_begin;
    while (line.comment_end > line.comment_begin && is_blank(line.comment_end[-1])) --line.comment_end;
    return line;
}

inline const char* token_end(const char* at, const char* end) {
    while (at < end && !is_blank(*at)) ++at;
    return at;
}

inline const char* next_token(const char* at, const char* end) {
    while (at < end && is_blank(*at)) ++at;
    return at;
}

}  // namespace svmlight

}  // namespace topwise
