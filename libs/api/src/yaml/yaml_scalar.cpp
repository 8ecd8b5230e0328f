#include "yaml/yaml_parts.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "json/number.hpp"

namespace api::yaml {
namespace {

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> words) {
    return std::find(words.begin(), words.end(), text) != words.end();
}

bool is_null(std::string_view text) { return is_one_of(text, {"", "~", "null", "Null", "NULL"}); }
bool is_true(std::string_view text) {
    return is_one_of(text, {"y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"});
}
bool is_false(std::string_view text) {
    return is_one_of(text, {"n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"});
}
bool is_infinite_or_nan(std::string_view text) {
    if (text.starts_with('+') || text.starts_with('-'))
        return is_one_of(text.substr(1), {".inf", ".Inf", ".INF"});
    return is_one_of(text, {".inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN"});
}

// Removes "0x", "0o", "0b" or the "0" of an octal number from the front.
int take_base(std::string_view& digits) {
    if (!digits.starts_with('0')) return 10;
    const char letter = digits.size() >= 3 ? static_cast<char>(digits[1] | 0x20) : ' ';
    const int base = letter == 'x' ? 16 : letter == 'b' ? 2 : 8;
    digits.remove_prefix(letter == 'x' || letter == 'b' || letter == 'o' ? 2 : 1);
    return base;
}

// Parses as Go's strconv.ParseInt and ParseUint with base 0. Beyond int64, and up to uint64, it returns a
// double.
std::optional<Json> read_integer(std::string_view text) {
    const bool negative = text.starts_with('-');
    if (negative || text.starts_with('+')) text.remove_prefix(1);
    if (text.empty()) return std::nullopt;
    const int base = take_base(text);
    std::uint64_t magnitude = 0;
    const char* end = text.data() + text.size();
    const auto [at, failed] = std::from_chars(text.data(), end, magnitude, base);
    if (!text.empty() && (failed != std::errc() || at != end)) return std::nullopt;
    constexpr auto largest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (magnitude <= largest) {
        const auto value = static_cast<std::int64_t>(magnitude);
        return Json(negative ? -value : value);
    }
    if (negative) return magnitude == largest + 1 ? std::optional<Json>(INT64_MIN) : std::nullopt;
    return Json(static_cast<double>(magnitude));
}

// Kubernetes converts every YAML document to JSON, so 1.0 and 1e3 are integers.
Json from_double(double value) {
    constexpr double exact = 9007199254740992;  // 2^53
    if (std::trunc(value) == value && std::abs(value) <= exact) return static_cast<std::int64_t>(value);
    return value;
}

enum class Kind { null, boolean, integer, floating, string };

struct Scalar {
    Kind kind = Kind::string;
    Json value = {};
};

Result<Scalar> resolve(std::string_view text) {
    if (is_null(text)) return Scalar{Kind::null, nullptr};
    if (is_true(text)) return Scalar{Kind::boolean, true};
    if (is_false(text)) return Scalar{Kind::boolean, false};
    if (is_infinite_or_nan(text)) return invalid("", std::string(text) + " cannot be said in JSON");
    constexpr std::string_view number_start = "+-.0123456789";
    if (number_start.find(text.front()) == std::string_view::npos) return Scalar{Kind::string, text};
    std::string digits(text);
    std::erase(digits, '_');
    if (auto integer = read_integer(digits)) return Scalar{Kind::integer, *std::move(integer)};
    if (const auto number = to_double(digits)) return Scalar{Kind::floating, from_double(*number)};
    return Scalar{Kind::string, text};
}

}  // namespace

Result<Json> resolve_plain(std::string_view text) {
    auto scalar = resolve(text);
    if (!scalar) return scalar.error();
    return std::move(scalar->value);
}

Result<Json> resolve_tagged(std::string_view tag, std::string_view text) {
    constexpr std::string_view core = "tag:yaml.org,2002:";
    if (!tag.starts_with(core)) return Json(text);
    tag.remove_prefix(core.size());
    if (tag == "binary")
        return invalid("", "the tag !!binary is not supported: write base64 as a plain string");
    const bool is_null_tag = tag == "null";
    const bool is_bool_tag = tag == "bool";
    const bool is_int_tag = tag == "int";
    const bool is_float_tag = tag == "float";
    if (!is_null_tag && !is_bool_tag && !is_int_tag && !is_float_tag) return Json(text);
    auto scalar = resolve(text);
    if (!scalar) return scalar.error();
    const Kind kind = scalar->kind;
    const bool fits = (is_null_tag && kind == Kind::null) || (is_bool_tag && kind == Kind::boolean) ||
                      ((is_int_tag || is_float_tag) && kind == Kind::integer) ||
                      (is_float_tag && kind == Kind::floating);
    if (!fits) return invalid("", to_json(text) + " does not fit the tag !!" + std::string(tag));
    return std::move(scalar->value);
}

}  // namespace api::yaml
