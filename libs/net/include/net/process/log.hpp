#pragma once
#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>

#include "api/error.hpp"
#include "api/object_key.hpp"

namespace net {

enum class LogLevel { debug, info, warn, error };
enum class LogFormat { json, text };

/// One key and value of a log line. It refers to its texts: construct it in the call that logs.
class LogField {
public:
    LogField(std::string_view key, std::string_view value) : key_(key), value_(value) {}
    LogField(std::string_view key, const char* value) : key_(key), value_(std::string_view(value)) {}
    LogField(std::string_view key, const std::string& value) : key_(key), value_(std::string_view(value)) {}
    LogField(std::string_view key, bool value) : key_(key), value_(value) {}
    LogField(std::string_view key, double value) : key_(key), value_(value) {}
    template <std::integral T>
    requires(!std::same_as<T, bool>) LogField(std::string_view key, T value)
        : key_(key), value_(static_cast<std::int64_t>(value)) {}
    LogField(std::string_view key, const api::Error& error) : key_(key), value_(api::describe(error)) {}
    LogField(std::string_view key, const api::ObjectKey& object) : key_(key), value_(to_string(object)) {}

    using Value = std::variant<std::string_view, std::string, bool, double, std::int64_t>;
    std::string_view key() const { return key_; }
    const Value& value() const { return value_; }

private:
    std::string_view key_;
    Value value_;
};

/// Writes one line per event: JSON such as {"time":…,"level":"info","msg":…,"job":"ns/name"}, or text for a
/// terminal. A value may have any bytes: invalid UTF-8 and unprintable characters are escaped. Never throws;
/// a line that cannot be written is lost. Thread rule: any thread.
class Log {
public:
    using Fields = std::initializer_list<LogField>;
    using Sink = std::function<void(std::string_view line)>;  ///< takes whole lines with their '\n'

    /// Writes to stderr.
    explicit Log(LogLevel level = LogLevel::info, LogFormat format = LogFormat::json);
    Log(LogLevel level, LogFormat format, Sink sink);

    bool enabled(LogLevel level) const noexcept { return level >= level_; }
    void write(LogLevel level, std::string_view message, Fields fields = {}) noexcept;

    void debug(std::string_view message, Fields fields = {}) noexcept {
        write(LogLevel::debug, message, fields);
    }
    void info(std::string_view message, Fields fields = {}) noexcept {
        write(LogLevel::info, message, fields);
    }
    void warn(std::string_view message, Fields fields = {}) noexcept {
        write(LogLevel::warn, message, fields);
    }
    void error(std::string_view message, Fields fields = {}) noexcept {
        write(LogLevel::error, message, fields);
    }

private:
    LogLevel level_;
    LogFormat format_;
    Sink sink_;
};

}  // namespace net
