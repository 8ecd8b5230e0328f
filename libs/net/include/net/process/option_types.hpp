#pragma once
#include <chrono>
#include <concepts>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "api/error.hpp"
#include "api/object_key.hpp"
#include "net/process/log.hpp"

namespace net {

/// An address to listen on. Written HOST:PORT, [IPv6]:PORT, :PORT or PORT. The last two, as [::]:PORT, mean
/// all addresses of both families.
struct HostPort {
    std::string host = {};
    std::uint16_t port = 0;

    bool operator==(const HostPort&) const = default;
};

std::string to_string(const HostPort& address);

/// A number of bytes. Written as digits, or with Ki, Mi or Gi behind them.
struct ByteCount {
    std::int64_t bytes = 0;

    bool operator==(const ByteCount&) const = default;
};

/// "A=true,B=false"
using FeatureGates = std::map<std::string, bool>;

// A type can be an option's type if it has these two functions. read_option() changes `target` only on
// success; its error says what is allowed and does not repeat the name or the value. show_option() writes
// what read_option() reads.
api::Result<> read_option(std::string_view text, std::string& target);
api::Result<> read_option(std::string_view text, bool& target);
api::Result<> read_option(std::string_view text, double& target);
api::Result<> read_option(std::string_view text, HostPort& target);
api::Result<> read_option(std::string_view text, ByteCount& target);
api::Result<> read_option(std::string_view text, api::ObjectKey& target);  ///< NAMESPACE/NAME
api::Result<> read_option(std::string_view text,
                          std::chrono::milliseconds& target);  ///< 90s, 1m30s, 250ms, 2h
api::Result<> read_option(std::string_view text, std::chrono::seconds& target);
api::Result<> read_option(std::string_view text, FeatureGates& target);
/// May be given several times; each adds one item to the list.
api::Result<> read_option(std::string_view text, std::vector<std::string>& target);
api::Result<> read_option(std::string_view text, LogLevel& target);
api::Result<> read_option(std::string_view text, LogFormat& target);
/// Reads decimal digits. Fails if the number is not between `low` and `high`.
api::Result<std::int64_t> read_integer(std::string_view text, std::int64_t low, std::int64_t high);
template <std::integral T>
api::Result<> read_option(std::string_view text, T& target) {
    constexpr auto high = std::numeric_limits<T>::max();
    constexpr auto top = std::numeric_limits<std::int64_t>::max();
    const auto value =
        read_integer(text, std::is_unsigned_v<T> ? 0 : std::int64_t(std::numeric_limits<T>::min()),
                     std::cmp_less(high, top) ? std::int64_t(high) : top);
    if (!value) return value.error();
    target = static_cast<T>(*value);
    return {};
}

std::string show_option(const std::string& value);
std::string show_option(bool value);
std::string show_option(double value);
std::string show_option(const HostPort& value);
std::string show_option(ByteCount value);
std::string show_option(const api::ObjectKey& value);
std::string show_option(std::chrono::milliseconds value);
std::string show_option(const FeatureGates& value);
std::string show_option(const std::vector<std::string>& value);
std::string show_option(LogLevel value);
std::string show_option(LogFormat value);
template <std::integral T>
std::string show_option(T value) {
    return std::to_string(value);
}

}  // namespace net
