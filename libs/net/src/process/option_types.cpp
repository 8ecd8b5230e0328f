#include "net/process/option_types.hpp"

#include <array>
#include <charconv>
#include <cmath>

#include "api/text.hpp"

namespace net {
namespace {

api::Error must_be(std::string what) { return api::invalid("", "must be " + std::move(what)); }

template <class T, std::size_t N>
api::Result<> read_word(std::string_view text, T& target,
                        const std::array<std::pair<std::string_view, T>, N>& words) {
    std::string known;
    for (const auto& [word, value] : words) {
        if (word == text) {
            target = value;
            return {};
        }
        known += known.empty() ? "" : ", ";
        known += word;
    }
    return must_be("one of " + known);
}

template <class T, std::size_t N>
std::string show_word(T value, const std::array<std::pair<std::string_view, T>, N>& words) {
    for (const auto& [word, candidate] : words)
        if (candidate == value) return std::string(word);
    return {};
}

constexpr std::array<std::pair<std::string_view, bool>, 2> bool_words = {{{"true", true}, {"false", false}}};
constexpr std::array<std::pair<std::string_view, LogLevel>, 4> level_words = {{{"debug", LogLevel::debug},
                                                                               {"info", LogLevel::info},
                                                                               {"warn", LogLevel::warn},
                                                                               {"error", LogLevel::error}}};
constexpr std::array<std::pair<std::string_view, LogFormat>, 2> format_words = {
    {{"json", LogFormat::json}, {"text", LogFormat::text}}};

// In milliseconds. Of two names with a common prefix the longer one comes first.
constexpr std::array<std::pair<std::string_view, std::int64_t>, 4> units = {
    {{"ms", 1}, {"s", 1'000}, {"m", 60'000}, {"h", 3'600'000}}};
constexpr std::array<std::pair<std::string_view, std::int64_t>, 3> byte_units = {
    {{"Gi", std::int64_t(1) << 30}, {"Mi", 1 << 20}, {"Ki", 1 << 10}}};
constexpr std::int64_t max_bytes = std::int64_t(1) << 50;
constexpr std::int64_t max_duration = std::int64_t(100) * 365 * 24 * 3'600'000;

}  // namespace

api::Result<std::int64_t> read_integer(std::string_view text, std::int64_t low, std::int64_t high) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < low || value > high) {
        if (high == std::numeric_limits<std::int64_t>::max())
            return must_be("a whole number of at least " + std::to_string(low));
        return must_be("a whole number from " + std::to_string(low) + " to " + std::to_string(high));
    }
    return value;
}

api::Result<> read_option(std::string_view text, std::string& target) {
    target = text;
    return {};
}

api::Result<> read_option(std::string_view text, bool& target) { return read_word(text, target, bool_words); }

api::Result<> read_option(std::string_view text, double& target) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value) || value < 0)
        return must_be("a number of at least 0");
    target = value;
    return {};
}

api::Result<> read_option(std::string_view text, HostPort& target) {
    const auto wrong = [] { return must_be("HOST:PORT, such as 127.0.0.1:8080, [::1]:8080 or :8080"); };
    const auto colon = text.rfind(':');
    // A port alone means all addresses, as ":PORT".
    const auto port = read_integer(colon == std::string_view::npos ? text : text.substr(colon + 1), 0, 65535);
    if (!port) return wrong();
    auto host = colon == std::string_view::npos ? std::string_view() : text.substr(0, colon);
    if (host.size() >= 2 && host.front() == '[' && host.back() == ']')
        host = host.substr(1, host.size() - 2);
    else if (host.find_first_of(":[] /") != std::string_view::npos)
        return wrong();
    target = {.host = host.empty() ? "::" : std::string(host), .port = static_cast<std::uint16_t>(*port)};
    return {};
}

api::Result<> read_option(std::string_view text, ByteCount& target) {
    std::int64_t unit = 1;
    std::string_view digits = text;
    for (const auto& [suffix, bytes] : byte_units) {
        if (!text.ends_with(suffix)) continue;
        unit = bytes;
        digits.remove_suffix(suffix.size());
    }
    const auto count = read_integer(digits, 0, max_bytes / unit);
    if (!count) return must_be("a number of bytes, such as 65536, 512Ki or 1Mi");
    target.bytes = *count * unit;
    return {};
}

api::Result<> read_option(std::string_view text, api::ObjectKey& target) {
    const auto slash = text.find('/');
    const bool good = slash != std::string_view::npos && slash > 0 && slash + 1 < text.size() &&
                      text.find('/', slash + 1) == std::string_view::npos;
    if (!good) return must_be("NAMESPACE/NAME");
    target = {.ns = std::string(text.substr(0, slash)), .name = std::string(text.substr(slash + 1))};
    return {};
}

api::Result<> read_option(std::string_view text, std::chrono::milliseconds& target) {
    const auto wrong = [] { return must_be("a duration, such as 30s, 1m30s, 250ms or 2h"); };
    if (text.empty()) return wrong();
    std::int64_t sum = 0;
    auto rest = text == "0" ? std::string_view("0s") : text;
    while (!rest.empty()) {
        std::int64_t value = 0;
        const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
        if (error != std::errc() || value < 0 || value > max_duration) return wrong();
        rest.remove_prefix(end - rest.data());
        std::int64_t factor = 0;
        for (const auto& [name, milliseconds] : units) {
            if (!rest.starts_with(name)) continue;
            factor = milliseconds;
            rest.remove_prefix(name.size());
            break;
        }
        if (factor == 0 || value > (max_duration - sum) / factor) return wrong();
        sum += value * factor;
    }
    target = std::chrono::milliseconds(sum);
    return {};
}

api::Result<> read_option(std::string_view text, std::chrono::seconds& target) {
    std::chrono::milliseconds value{};
    if (auto read = read_option(text, value); !read) return read;
    if (value.count() % 1000 != 0) return must_be("a duration in whole seconds, such as 30s or 1m30s");
    target = std::chrono::duration_cast<std::chrono::seconds>(value);
    return {};
}

api::Result<> read_option(std::string_view text, FeatureGates& target) {
    FeatureGates gates;
    while (!text.empty()) {
        const auto gate = api::take_item(text);
        const auto equals = gate.find('=');
        bool on = false;
        if (equals == 0 || equals == std::string_view::npos || !read_option(gate.substr(equals + 1), on))
            return must_be("a list of NAME=true or NAME=false, separated by commas");
        gates[std::string(gate.substr(0, equals))] = on;
    }
    target = std::move(gates);
    return {};
}

api::Result<> read_option(std::string_view text, std::vector<std::string>& target) {
    target.emplace_back(text);
    return {};
}

api::Result<> read_option(std::string_view text, LogLevel& target) {
    return read_word(text, target, level_words);
}
api::Result<> read_option(std::string_view text, LogFormat& target) {
    return read_word(text, target, format_words);
}

std::string to_string(const HostPort& address) {
    const bool v6 = address.host.find(':') != std::string::npos;
    return (v6 ? "[" + address.host + "]" : address.host) + ":" + std::to_string(address.port);
}

std::string show_option(const std::string& value) { return value; }
std::string show_option(bool value) { return show_word(value, bool_words); }
std::string show_option(double value) {
    char digits[32];
    return {digits, std::to_chars(digits, digits + sizeof(digits), value).ptr};
}
std::string show_option(const HostPort& value) {
    return value.host.empty() && value.port == 0 ? "" : to_string(value);
}
std::string show_option(ByteCount value) {
    for (const auto& [suffix, bytes] : byte_units)
        if (value.bytes > 0 && value.bytes % bytes == 0)
            return std::to_string(value.bytes / bytes) + std::string(suffix);
    return std::to_string(value.bytes);
}

std::string show_option(const api::ObjectKey& value) { return to_string(value); }
std::string show_option(std::chrono::milliseconds value) {
    auto rest = value.count();
    if (rest == 0) return "0s";
    std::string text;
    for (const auto& [name, factor] : {units[3], units[2], units[1], units[0]}) {
        if (rest / factor == 0) continue;
        text += std::to_string(rest / factor) + std::string(name);
        rest %= factor;
    }
    return text;
}
std::string show_option(const FeatureGates& value) {
    std::string text;
    for (const auto& [name, on] : value) text += (text.empty() ? "" : ",") + name + (on ? "=true" : "=false");
    return text;
}
std::string show_option(const std::vector<std::string>& value) {
    std::string text;
    for (const std::string& each : value) text += (text.empty() ? "" : " ") + each;
    return text;
}
std::string show_option(LogLevel value) { return show_word(value, level_words); }
std::string show_option(LogFormat value) { return show_word(value, format_words); }

}  // namespace net
