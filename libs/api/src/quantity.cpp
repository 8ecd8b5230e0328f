#include "api/quantity.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

#include "api/text.hpp"

namespace api {
namespace {

__extension__ typedef __int128 Int128;
__extension__ typedef unsigned __int128 Uint128;

constexpr Int128 largest = static_cast<Int128>(~Uint128(0) >> 1);
constexpr Int128 nanos_per_unit = 1'000'000'000;

Int128 add_or_saturate(Int128 left, Int128 right) {
    Int128 sum = 0;
    if (!__builtin_add_overflow(left, right, &sum)) return sum;
    return left < 0 ? -largest : largest;
}

Int128 multiply_or_saturate(Int128 left, Int128 right) {
    Int128 product = 0;
    if (!__builtin_mul_overflow(left, right, &product)) return product;
    return (left < 0) != (right < 0) ? -largest : largest;
}

std::string_view take_digits(std::string_view& text) {
    const auto size =
        static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_digit) - text.begin());
    const auto digits = text.substr(0, size);
    text.remove_prefix(size);
    return digits;
}

// The scale of the mantissa: 10^decimal * 2^binary.
struct Scale {
    std::int64_t decimal = 0;
    int binary = 0;
};

std::optional<Scale> read_suffix(std::string_view suffix) {
    constexpr std::string_view decimal_units = "num.kMGTPE";
    constexpr std::string_view binary_units = "KMGTPE";
    if (suffix.empty()) return Scale();
    if (suffix.size() == 1 && suffix[0] != '.')
        if (const auto unit = decimal_units.find(suffix[0]); unit != std::string_view::npos)
            return Scale{.decimal = 3 * static_cast<int>(unit) - 9};
    if (suffix.size() == 2 && suffix[1] == 'i') {
        const auto unit = binary_units.find(suffix[0]);
        if (unit == std::string_view::npos) return std::nullopt;
        return Scale{.binary = 10 * (static_cast<int>(unit) + 1)};
    }
    if (suffix[0] != 'e' && suffix[0] != 'E') return std::nullopt;
    suffix.remove_prefix(1);
    if (suffix.size() > 1 && suffix[0] == '+' && is_digit(suffix[1])) suffix.remove_prefix(1);
    Scale scale;
    const char* end = suffix.data() + suffix.size();
    const auto [at, failed] = std::from_chars(suffix.data(), end, scale.decimal);
    if (failed != std::errc() || at != end) return std::nullopt;
    return scale;
}

std::string digits_of(Int128 value) {
    const bool negative = value < 0;
    std::string text;
    do {
        text += static_cast<char>('0' + static_cast<int>(negative ? -(value % 10) : value % 10));
        value /= 10;
    } while (value != 0);
    if (negative) text += '-';
    std::reverse(text.begin(), text.end());
    return text;
}

// Returns how often the value can be divided by `factor`, `most` times at most, and divides it.
std::size_t take_factors(Int128& value, Int128 factor, std::size_t most) {
    std::size_t count = 0;
    for (; count < most && value != 0 && value % factor == 0; ++count) value /= factor;
    return count;
}

// Returns digits * 10^-fraction_size * scale in nanos, rounded up; exact for any number of digits.
Int128 to_nanos(std::string_view digits, std::size_t fraction_size, Scale scale) {
    const Int128 unit = nanos_per_unit << scale.binary;
    const auto size = static_cast<std::int64_t>(digits.size());
    // Beyond 60 places the result is saturated, or the smallest one, with any exponent.
    const std::int64_t shift = std::clamp<std::int64_t>(scale.decimal, -size - 60, size + 60);
    const std::int64_t point = size - static_cast<std::int64_t>(fraction_size) + shift;
    const auto digit = [&](std::int64_t i) {
        return i >= 0 && i < size ? digits[static_cast<std::size_t>(i)] - '0' : 0;
    };

    Int128 whole = 0;
    for (std::int64_t i = 0; i < point && whole < largest; ++i)
        whole = add_or_saturate(multiply_or_saturate(whole, 10), digit(i));
    // From the last digit to the first: a floor of floors is the floor of the exact quotient, and it was
    // exact if no step left a remainder.
    Int128 fraction = 0;
    bool inexact = false;
    for (std::int64_t i = size - 1; i >= point; --i) {
        const Int128 sum = fraction + unit * digit(i);
        inexact = inexact || sum % 10 != 0;
        fraction = sum / 10;
    }
    return add_or_saturate(multiply_or_saturate(whole, unit), fraction + (inexact ? 1 : 0));
}

Error no_quantity(std::string_view text) {
    return invalid("", to_json(first_characters(text, 64)) +
                           " is not a quantity: a number and a suffix, such as 500m, 2 or 1.5Gi");
}

}  // namespace

std::int64_t Quantity::round_up() const {
    const Int128 away = nanos_ % nanos_per_unit == 0 ? 0 : nanos_ < 0 ? -1 : 1;
    const Int128 units = nanos_ / nanos_per_unit + away;
    using Limits = std::numeric_limits<std::int64_t>;
    return static_cast<std::int64_t>(std::clamp<Int128>(units, Limits::min(), Limits::max()));
}

Quantity& Quantity::operator+=(const Quantity& other) {
    if (is_zero()) form_ = other.form_;
    nanos_ = add_or_saturate(nanos_, other.nanos_);
    return *this;
}

Quantity operator*(std::int64_t factor, const Quantity& quantity) {
    Quantity product = quantity;
    product.nanos_ = multiply_or_saturate(factor, quantity.nanos_);
    return product;
}

Result<Quantity> parse_quantity(std::string_view text) {
    std::string_view rest = text;
    const bool negative = !rest.empty() && rest[0] == '-';
    if (negative || (!rest.empty() && rest[0] == '+')) rest.remove_prefix(1);
    std::string digits(take_digits(rest));
    std::size_t fraction_size = 0;
    if (!rest.empty() && rest[0] == '.') {
        rest.remove_prefix(1);
        const auto fraction = take_digits(rest);
        fraction_size = fraction.size();
        digits += fraction;
    }
    const auto scale = read_suffix(rest);
    if (digits.empty() || !scale) return no_quantity(text);
    Quantity quantity;
    quantity.nanos_ = to_nanos(digits, fraction_size, *scale);
    // Kubernetes caps binary suffixes there, so that 8Ei is not more than the largest count of bytes.
    if (scale->binary > 0)
        quantity.nanos_ =
            std::min(quantity.nanos_, std::numeric_limits<std::int64_t>::max() * nanos_per_unit);
    if (negative) quantity.nanos_ = -quantity.nanos_;
    if (scale->binary > 0)
        quantity.form_ = Quantity::Form::binary;
    else if (!rest.empty() && (rest[0] == 'e' || (rest[0] == 'E' && rest.size() > 1)))
        quantity.form_ = Quantity::Form::exponent;
    return quantity;
}

std::string to_string(const Quantity& quantity) {
    using Form = Quantity::Form;
    constexpr const char* binary_suffixes[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
    constexpr const char* decimal_suffixes[] = {"n", "u", "m", "", "k", "M", "G", "T", "P", "E"};
    constexpr int places_of_nanos = 9;
    const Int128 units = quantity.nanos_ / nanos_per_unit;
    const bool is_whole = quantity.nanos_ % nanos_per_unit == 0;
    if (quantity.form_ == Form::binary && is_whole && (units >= 1024 || units <= -1024)) {
        Int128 rest = units;
        const std::size_t suffix = take_factors(rest, 1024, std::size(binary_suffixes) - 1);
        return digits_of(rest) + binary_suffixes[suffix];
    }
    if (quantity.is_zero()) return "0";
    Int128 rest = quantity.nanos_;
    if (quantity.form_ != Form::exponent) {
        const std::size_t suffix = take_factors(rest, 1000, std::size(decimal_suffixes) - 1);
        return digits_of(rest) + decimal_suffixes[suffix];
    }
    const int exponent = 3 * static_cast<int>(take_factors(rest, 1000, 13)) - places_of_nanos;
    return digits_of(rest) + (exponent == 0 ? "" : "e" + std::to_string(exponent));
}

Result<Quantity> parse_quantity(const Json& value) {
    if (value.is_string()) return parse_quantity(value.as_string());
    if (value.is_number()) return parse_quantity(std::string_view(to_json(value)));
    return invalid("", "a quantity is a string or a number");
}

}  // namespace api
