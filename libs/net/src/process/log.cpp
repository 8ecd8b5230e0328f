#include "net/process/log.hpp"

#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cmath>
#include <ctime>

#include "api/text.hpp"

namespace net {
namespace {

std::string_view name_of(LogLevel level) {
    constexpr std::string_view names[] = {"debug", "info", "warn", "error"};
    return names[static_cast<int>(level)];
}

// Appends \uXXXX.
void append_escape(std::string& out, char32_t unit) {
    out += "\\u";
    for (int shift = 12; shift >= 0; shift -= 4) out += "0123456789abcdef"[(unit >> shift) & 0xF];
}

// Escapes for a JSON string. Invalid bytes become U+FFFD. C1 controls, DEL and line separators are escaped
// too, so that a line is one line on every terminal and in every viewer.
void append_escaped(std::string& out, std::string_view text) {
    while (!text.empty()) {
        std::string_view rest = text;
        const char32_t c = api::take_character(rest);
        if (c == '"' || c == '\\')
            out.append({'\\', text.front()});
        else if (c == '\n')
            out += "\\n";
        else if (c == '\r')
            out += "\\r";
        else if (c == '\t')
            out += "\\t";
        else if (c == api::invalid_character)
            append_escape(out, 0xFFFD);
        else if (api::is_control(c) || c == 0x2028 || c == 0x2029)
            append_escape(out, c);
        else
            out += text.substr(0, text.size() - rest.size());
        text = rest;
    }
}

void append_quoted(std::string& out, std::string_view text) {
    out += '"';
    append_escaped(out, text);
    out += '"';
}

template <class Number>
void append_number(std::string& out, Number number) {
    char digits[32];
    const auto end = std::to_chars(digits, digits + sizeof(digits), number).ptr;
    out.append(digits, end);
}

bool is_plain_word(std::string_view text) {
    for (const char c : text)
        if (static_cast<unsigned char>(c) <= ' ' || static_cast<unsigned char>(c) >= 0x7F || c == '"' ||
            c == '=' || c == '\\')
            return false;
    return !text.empty();
}

struct ValueWriter {
    std::string& out;
    LogFormat format;

    void operator()(std::string_view text) const {
        if (format == LogFormat::text && is_plain_word(text))
            out += text;
        else
            append_quoted(out, text);
    }
    void operator()(const std::string& text) const { (*this)(std::string_view(text)); }
    void operator()(bool value) const { out += value ? "true" : "false"; }
    void operator()(std::int64_t value) const { append_number(out, value); }
    void operator()(double value) const {
        // JSON has no such numbers.
        if (std::isfinite(value))
            append_number(out, value);
        else
            out += std::isnan(value) ? "\"NaN\"" : value > 0 ? "\"+Inf\"" : "\"-Inf\"";
    }
};

// RFC 3339 in UTC with milliseconds.
void append_time(std::string& out) {
    const auto now = std::chrono::system_clock::now();
    const auto seconds = std::chrono::floor<std::chrono::seconds>(now);
    const std::time_t time = std::chrono::system_clock::to_time_t(seconds);
    std::tm utc = {};
    ::gmtime_r(&time, &utc);
    char text[32];
    auto length = std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S.", &utc);
    auto millis =
        static_cast<unsigned>(std::chrono::duration_cast<std::chrono::milliseconds>(now - seconds).count());
    for (unsigned unit = 100; unit > 0; unit /= 10)
        text[length++] = static_cast<char>('0' + millis / unit % 10);
    text[length++] = 'Z';
    out.append(text, length);
}

std::string json_line(LogLevel level, std::string_view message, Log::Fields fields) {
    std::string line = "{\"time\":\"";
    append_time(line);
    line += "\",\"level\":\"";
    line += name_of(level);
    line += "\",\"msg\":";
    append_quoted(line, message);
    for (const auto& field : fields) {
        line += ',';
        append_quoted(line, field.key());
        line += ':';
        std::visit(ValueWriter{line, LogFormat::json}, field.value());
    }
    line += "}\n";
    return line;
}

std::string text_line(LogLevel level, std::string_view message, Log::Fields fields) {
    std::string line;
    append_time(line);
    line += ' ';
    line += name_of(level);
    line.append(6 - name_of(level).size(), ' ');
    append_escaped(line, message);
    for (const auto& field : fields) {
        line += "  ";
        append_escaped(line, field.key());
        line += '=';
        std::visit(ValueWriter{line, LogFormat::text}, field.value());
    }
    line += '\n';
    return line;
}

// One write per line, so that the lines of several threads do not mix.
void write_to_stderr(std::string_view line) {
    while (!line.empty()) {
        const auto count = ::write(STDERR_FILENO, line.data(), line.size());
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return;
        line.remove_prefix(count);
    }
}

}  // namespace

Log::Log(LogLevel level, LogFormat format) : Log(level, format, write_to_stderr) {}
Log::Log(LogLevel level, LogFormat format, Sink sink)
    : level_(level), format_(format), sink_(std::move(sink)) {}

void Log::write(LogLevel level, std::string_view message, Fields fields) noexcept {
    if (!enabled(level)) return;
    try {
        sink_(format_ == LogFormat::json ? json_line(level, message, fields)
                                         : text_line(level, message, fields));
    } catch (...) {
        // Most likely there is no memory: a lost line is the least harm.
    }
}

}  // namespace net
