#include "progress/report.hpp"

#include <algorithm>
#include <charconv>
#include <functional>
#include <limits>
#include <utility>

#include "api/field_error.hpp"
#include "api/hash.hpp"
#include "api/text.hpp"
#include "go_json.hpp"

namespace progress {
namespace {

using api::Json;

constexpr std::string_view percentage_field = "progressPercentage";
constexpr std::string_view remaining_field = "estimatedRemainingSeconds";
constexpr std::string_view metrics_field = "metrics";
constexpr std::string_view updated_field = "lastUpdatedTime";

// The limits of manifests/crds-source/trainjob-status.yaml.
constexpr std::int32_t max_percentage = 100;
constexpr std::size_t max_metrics = 256;
constexpr std::size_t max_characters = 64;

// Go's zero time, which its encoder writes as null.
constexpr api::Time no_time = std::chrono::sys_days(std::chrono::year(1) / 1 / 1);

// Parses a time as Go's time.Parse() does with the layout of RFC 3339.
class GoTime {
public:
    explicit GoTime(std::string_view text) : rest_(text) {}

    std::optional<api::Time> read() {
        using namespace std::chrono;
        const int y = number(4), m = take('-') ? number(2) : -1, d = take('-') ? number(2) : -1;
        // The layout has the hour of a 24-hour clock, which may be one digit.
        const int h = take('T') ? number(rest_.size() > 1 && api::is_digit(rest_[1]) ? 2 : 1) : -1;
        const int min = take(':') ? number(2) : -1, s = take(':') ? number(2) : -1;
        if (y < 0 || m < 0 || d < 0 || h < 0 || h > 23 || min < 0 || min > 59 || s < 0 || s > 59)
            return std::nullopt;
        skip_fraction();
        const auto offset = zone();
        const year_month_day date = year(y) / month(static_cast<unsigned>(m)) / day(static_cast<unsigned>(d));
        if (!offset || !rest_.empty() || !date.ok()) return std::nullopt;
        const api::Time time = sys_days(date) + hours(h) + minutes(min) + seconds(s) - *offset;
        // Times that RFC 3339 cannot represent in UTC.
        const year there = year_month_day(floor<days>(time)).year();
        if (there < year(0) || there > year(9999)) return std::nullopt;
        return time;
    }

private:
    bool take(char wanted) {
        if (!rest_.starts_with(wanted)) return false;
        rest_.remove_prefix(1);
        return true;
    }
    int number(std::size_t width) {
        int value = 0;
        if (rest_.size() < width) return -1;
        for (const char c : rest_.substr(0, width)) {
            if (!api::is_digit(c)) return -1;
            value = value * 10 + (c - '0');
        }
        rest_.remove_prefix(width);
        return value;
    }
    void skip_fraction() {
        if (rest_.size() < 2 || (rest_[0] != '.' && rest_[0] != ',') || !api::is_digit(rest_[1])) return;
        rest_.remove_prefix(1);
        while (!rest_.empty() && api::is_digit(rest_.front())) rest_.remove_prefix(1);
    }
    std::optional<std::chrono::minutes> zone() {
        if (take('Z')) return std::chrono::minutes(0);
        if (rest_.empty() || (rest_[0] != '+' && rest_[0] != '-')) return std::nullopt;
        const int sign = rest_[0] == '-' ? -1 : 1;
        rest_.remove_prefix(1);
        const int h = number(2), min = take(':') ? number(2) : -1;
        // Go's limit.
        if (h < 0 || h > 24 || min < 0 || min > 60) return std::nullopt;
        return std::chrono::minutes(sign * (h * 60 + min));
    }

    std::string_view rest_;
};

class Decoder {
public:
    explicit Decoder(std::string_view body) : json_(body) {}

    bool request(std::optional<Report>& report) {
        if (json_.peek() == 'n') return json_.null();
        return json_.object([&](std::string_view key) {
            return is_field(key, "trainerStatus") ? trainer_status(report) : json_.skip();
        });
    }

private:
    bool trainer_status(std::optional<Report>& report) {
        if (json_.peek() == 'n') {
            report.reset();
            return json_.null();
        }
        // If there are several objects, Go decodes later ones into the earlier ones.
        if (!report) report.emplace();
        return json_.object([&](std::string_view key) {
            if (is_field(key, percentage_field)) return int32(report->percentage);
            if (is_field(key, remaining_field)) return int32(report->remaining_seconds);
            if (is_field(key, metrics_field)) return metrics(report->metrics);
            if (is_field(key, updated_field)) return time(report->updated);
            return json_.skip();
        });
    }

    bool int32(std::optional<std::int32_t>& target) {
        if (json_.peek() == 'n') {
            target.reset();
            return json_.null();
        }
        std::string_view digits;
        std::int32_t value = 0;
        if (!json_.number(digits)) return false;
        const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
        if (failed != std::errc() || end != digits.data() + digits.size()) return false;
        target = value;
        return true;
    }

    bool metrics(std::vector<Metric>& target) {
        target.clear();
        if (json_.peek() == 'n') return json_.null();
        return json_.array([&] { return metric(target.emplace_back()); });
    }

    bool metric(Metric& target) {
        if (json_.peek() == 'n') return json_.null();
        return json_.object([&](std::string_view key) {
            if (is_field(key, "name")) return text(target.name);
            if (is_field(key, "value")) return text(target.value);
            return json_.skip();
        });
    }

    bool text(std::string& target) { return json_.peek() == 'n' ? json_.null() : json_.string(target); }

    bool time(std::optional<api::Time>& target) {
        target.reset();
        if (json_.peek() == 'n') return json_.null();
        std::string written;
        if (!json_.string(written)) return false;
        const auto read = GoTime(written).read();
        if (!read) return false;
        if (*read != no_time) target = read;
        return true;
    }

    GoJson json_;
};

// The field of errors of the whole object.

class Errors {
public:
    void add(const std::string& path, std::string_view text) {
        if (texts_.size() < max_errors) texts_.push_back(path + ": " + std::string(text));
    }
    void invalid(const std::string& path, std::string_view value, std::string_view rule) {
        add(path,
            "Invalid value: " + std::string(value) + ": " + path + " in body should be " + std::string(rule));
    }
    void number(const std::string& path, const std::optional<std::int32_t>& value, std::int32_t most) {
        if (!value) return;
        if (*value < 0) invalid(path, std::to_string(*value), "greater than or equal to 0");
        if (*value > most)
            invalid(path, std::to_string(*value), "less than or equal to " + std::to_string(most));
    }
    void text(const std::string& path, const std::string& value) {
        if (value.empty()) invalid(path, "\"\"", "at least 1 chars long");
        if (std::cmp_less_equal(api::count_characters(value), max_characters)) return;
        // The API server counts characters, and its message calls them bytes.
        add(path, "Too long: may not be more than " + std::to_string(max_characters) + " bytes");
        blocks_rules = true;
    }
    std::vector<std::string> take() { return std::move(texts_); }

    bool blocks_rules = false;  ///< the API server checks CEL rules only without such errors

private:
    std::vector<std::string> texts_ = {};
};

}  // namespace

api::Result<std::optional<Report>> decode_report(std::string_view body) {
    std::optional<Report> report;
    if (!Decoder(body).request(report))
        return api::invalid("", "the body is no JSON object of a TrainJob's progress");
    return report;
}

std::vector<std::string> report_errors(const Report& report) {
    Errors errors;
    const std::string path = "status.trainerStatus";
    const auto at = [&](std::string_view field) { return path + "." + std::string(field); };
    errors.number(at(percentage_field), report.percentage, max_percentage);
    errors.number(at(remaining_field), report.remaining_seconds, std::numeric_limits<std::int32_t>::max());
    const std::size_t count = report.metrics.size();
    for (std::size_t i = 0; i < std::min(count, max_metrics); ++i) {
        const std::string item = at(metrics_field) + "[" + std::to_string(i) + "]";
        errors.text(item + ".name", report.metrics[i].name);
        errors.text(item + ".value", report.metrics[i].value);
    }
    if (count > max_metrics) {
        errors.add(at(metrics_field), "Too many: " + std::to_string(count) + ": must have at most " +
                                          std::to_string(max_metrics) + " items");
        errors.blocks_rules = true;
    }
    if (errors.blocks_rules)
        errors.add(std::string(api::no_field),
                   "Invalid value: null: some validation rules were not checked because the object was "
                   "invalid; correct the existing errors to complete validation");
    else if (!report.updated)
        errors.add(path, "Invalid value: lastUpdatedTime is required");
    return errors.take();
}

Json to_json_tree(const Report& report) {
    Json tree = Json::object();
    if (report.percentage) tree[percentage_field] = *report.percentage;
    if (report.remaining_seconds) tree[remaining_field] = *report.remaining_seconds;
    if (!report.metrics.empty()) {
        Json::Array list;
        list.reserve(report.metrics.size());
        for (const Metric& metric : report.metrics)
            list.push_back(Json::object({{"name", metric.name}, {"value", metric.value}}));
        tree[metrics_field] = Json(std::move(list));
    }
    if (report.updated) tree[updated_field] = api::format_time(*report.updated);
    return tree;
}

Report read_report(const Json& trainer_status) {
    Report report;
    const auto number = [&](std::string_view field) -> std::optional<std::int32_t> {
        const auto value = trainer_status[field].as_int();
        if (!value || !std::in_range<std::int32_t>(*value)) return std::nullopt;
        return static_cast<std::int32_t>(*value);
    };
    report.percentage = number(percentage_field);
    report.remaining_seconds = number(remaining_field);
    for (const Json& metric : trainer_status[metrics_field].items())
        report.metrics.push_back({.name = std::string(metric["name"].as_string()),
                                  .value = std::string(metric["value"].as_string())});
    if (const auto time = api::parse_time(trainer_status[updated_field].as_string())) report.updated = *time;
    return report;
}

std::uint64_t progress_hash(const Report& report) {
    std::string text = report.percentage ? std::to_string(*report.percentage) : "-";
    for (const Metric& metric : report.metrics)
        for (const std::string& part : {std::cref(metric.name), std::cref(metric.value)})
            text.append(" ").append(std::to_string(part.size())).append(":").append(part);
    return api::keyed_hash(text);
}

}  // namespace progress
