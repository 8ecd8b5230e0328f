#include "json/number.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace api {
namespace {

// Returns whether a number beyond the range of double is too small rather than too large, by the power of ten
// of its first digit that is not zero.
bool is_tiny(std::string_view number) {
    const auto end_of_mantissa = std::min(number.find_first_of("eE"), number.size());
    const std::string_view mantissa = number.substr(0, end_of_mantissa);
    const auto first = mantissa.find_first_of("123456789");
    if (first == std::string_view::npos) return true;
    const auto point = std::min(mantissa.find('.'), mantissa.size());

    std::string_view digits = number.substr(std::min(end_of_mantissa + 1, number.size()));
    if (digits.starts_with('+')) digits.remove_prefix(1);
    const bool negative = digits.starts_with('-');
    std::int64_t exponent = 0;
    const auto [at, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
    if (failed == std::errc::result_out_of_range) return negative;
    // A text is shorter than 2^62 bytes, so the sum cannot overflow, and the digits that are cut off do not
    // matter.
    constexpr std::int64_t limit = std::int64_t(1) << 62;
    const auto power = static_cast<std::int64_t>(point) - static_cast<std::int64_t>(first);
    return power + std::clamp(exponent, -limit, limit) < 0;
}

}  // namespace

std::optional<double> to_double(std::string_view text) {
    if (text.starts_with('+')) text.remove_prefix(1);
    if (text.find_first_not_of("+-.0123456789eE") != std::string_view::npos) return std::nullopt;
    double number = 0;
    const char* end = text.data() + text.size();
    const auto [at, failed] = std::from_chars(text.data(), end, number);
    if (at != end || failed == std::errc::invalid_argument) return std::nullopt;
    if (failed == std::errc()) return number;
    return is_tiny(text) ? std::optional(0.0) : std::nullopt;
}

}  // namespace api
