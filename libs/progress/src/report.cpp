#include "progress/report.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "api/field_error.hpp"
#include "api/hash.hpp"
#include "api/text.hpp"

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

// Reads the members of a report, until one is of another type.
class Decoder {
public:
    api::Result<std::optional<Report>> decode(std::string_view body) {
        const auto tree = api::parse_json(body);
        if (!tree || !is_object_or_null(*tree)) return unreadable();
        const Json& status = (*tree)["trainerStatus"];
        if (!is_object_or_null(status)) return unreadable();
        if (status.is_null()) return std::optional<Report>();
        Report report = {.percentage = number(status[percentage_field]),
                         .remaining_seconds = number(status[remaining_field]),
                         .metrics = metrics(status[metrics_field]),
                         .updated = time(status[updated_field])};
        if (!is_readable_) return unreadable();
        return std::optional(std::move(report));
    }

private:
    static bool is_object_or_null(const Json& value) { return value.is_object() || value.is_null(); }
    static api::Error unreadable() {
        return api::invalid("", "the body is no JSON object of a TrainJob's progress");
    }
    void require(bool holds) { is_readable_ = is_readable_ && holds; }

    std::optional<std::int32_t> number(const Json& value) {
        const auto found = value.as_int();
        const bool fits = found && std::in_range<std::int32_t>(*found);
        require(fits || value.is_null());
        return fits ? std::optional(static_cast<std::int32_t>(*found)) : std::nullopt;
    }
    std::vector<Metric> metrics(const Json& list) {
        require(list.is_array() || list.is_null());
        std::vector<Metric> found;
        found.reserve(list.items().size());
        for (const Json& item : list.items()) {
            require(item.is_object());
            found.push_back({.name = text(item["name"]), .value = text(item["value"])});
        }
        return found;
    }
    std::string text(const Json& value) {
        require(value.is_string() || value.is_null());
        return std::string(value.as_string());
    }
    std::optional<api::Time> time(const Json& value) {
        const auto found = api::as_time(value.as_string());
        require(found || value.is_null());
        return found;
    }

    bool is_readable_ = true;
};

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

api::Result<std::optional<Report>> decode_report(std::string_view body) { return Decoder().decode(body); }

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
