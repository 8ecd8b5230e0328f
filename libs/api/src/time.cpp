#include "api/time.hpp"

#include <algorithm>
#include <charconv>

#include "api/json.hpp"
#include "api/text.hpp"

namespace api {
namespace {

// Returns the four digits of a year, in UTC.
constexpr Time earliest = std::chrono::sys_days(std::chrono::year(0) / 1 / 1);
constexpr Time latest = std::chrono::sys_days(std::chrono::year(10000) / 1 / 1) - std::chrono::seconds(1);

// Removes exactly `width` digits from the front; returns -1 if they are missing.
int take_digits(std::string_view& text, std::size_t width) {
    int value = 0;
    if (text.size() < width) return -1;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + width, value);
    if (failed != std::errc() || end != text.data() + width || text.front() == '-') return -1;
    text.remove_prefix(width);
    return value;
}

void put_digits(std::string& text, std::size_t at, std::size_t width, unsigned value) {
    for (; width > 0; value /= 10) text[at + --width] = static_cast<char>('0' + value % 10);
}

bool take(std::string_view& text, char wanted) {
    if (!text.starts_with(wanted)) return false;
    text.remove_prefix(1);
    return true;
}

// Parses "Z" or "+hh:mm"; returns nullopt for other text.
std::optional<std::chrono::minutes> take_offset(std::string_view& text) {
    if (take(text, 'Z') || take(text, 'z')) return std::chrono::minutes(0);
    if (text.empty() || (text.front() != '+' && text.front() != '-')) return std::nullopt;
    const int sign = text.front() == '-' ? -1 : 1;
    text.remove_prefix(1);
    const int hours = take_digits(text, 2);
    if (hours < 0 || hours > 23 || !take(text, ':')) return std::nullopt;
    const int minutes = take_digits(text, 2);
    if (minutes < 0 || minutes > 59) return std::nullopt;
    return std::chrono::minutes(sign * (hours * 60 + minutes));
}

std::optional<Time> read(std::string_view text) {
    using namespace std::chrono;
    const int y = take_digits(text, 4);
    if (y < 0 || !take(text, '-')) return std::nullopt;
    const int mon = take_digits(text, 2);
    if (mon < 0 || !take(text, '-')) return std::nullopt;
    const int d = take_digits(text, 2);
    if (d < 0 || !(take(text, 'T') || take(text, 't'))) return std::nullopt;
    const int h = take_digits(text, 2);
    if (h < 0 || h > 23 || !take(text, ':')) return std::nullopt;
    const int min = take_digits(text, 2);
    if (min < 0 || min > 59 || !take(text, ':')) return std::nullopt;
    const int s = take_digits(text, 2);
    if (s < 0 || s > 60) return std::nullopt;
    if (take(text, '.')) {
        if (take_digits(text, 1) < 0) return std::nullopt;
        while (!text.empty() && text.front() >= '0' && text.front() <= '9') text.remove_prefix(1);
    }
    const auto offset = take_offset(text);
    const year_month_day date = year(y) / month(static_cast<unsigned>(mon)) / day(static_cast<unsigned>(d));
    if (!offset || !text.empty() || !date.ok()) return std::nullopt;
    const Time time = sys_days(date) + hours(h) + minutes(min) + seconds(s) - *offset;
    if (time != std::clamp(time, earliest, latest)) return std::nullopt;
    return time;
}

}  // namespace

Result<Time> parse_time(std::string_view text) {
    if (const auto time = read(text)) return *time;
    return invalid("", to_json(first_characters(text, 64)) + " is not an RFC 3339 time");
}

std::optional<Time> as_time(std::string_view text) { return read(text); }

std::string format_time(Time time) {
    using namespace std::chrono;
    time = std::clamp(time, earliest, latest);
    const auto days = floor<std::chrono::days>(time);
    const year_month_day date(days);
    const hh_mm_ss clock(time - days);
    std::string text = "0000-00-00T00:00:00Z";
    put_digits(text, 0, 4, static_cast<unsigned>(static_cast<int>(date.year())));
    put_digits(text, 5, 2, static_cast<unsigned>(date.month()));
    put_digits(text, 8, 2, static_cast<unsigned>(date.day()));
    put_digits(text, 11, 2, static_cast<unsigned>(clock.hours().count()));
    put_digits(text, 14, 2, static_cast<unsigned>(clock.minutes().count()));
    put_digits(text, 17, 2, static_cast<unsigned>(clock.seconds().count()));
    return text;
}

}  // namespace api
