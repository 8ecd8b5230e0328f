#include "explain/happenings.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "explain/pod_problems.hpp"

namespace cli {
namespace {

using api::Json;

// For a series, its latest time.
api::Time time_of(const Json& event) {
    for (const Json* text : {&event["series"]["lastObservedTime"], &event["lastTimestamp"],
                             &event["eventTime"], &event["metadata"]["creationTimestamp"]})
        if (const auto time = api::parse_time(text->as_string())) return *time;
    return {};
}

}  // namespace

std::vector<Happening> happenings_of(const std::vector<Json>& events) {
    std::map<std::tuple<std::string_view, std::string_view, std::string_view>, Happening> folded;
    for (const Json& event : events) {
        const std::string_view kind = event["involvedObject"]["kind"].as_string();
        const std::string_view reason = event["reason"].as_string();
        Happening& each = folded[{kind, reason, event["message"].as_string()}];
        const bool first = each.count == 0;
        each.count +=
            std::max({event["series"]["count"].int_or(1), event["count"].int_or(1), std::int64_t(1)});
        each.last = std::max(each.last, time_of(event));
        each.warning = event["type"].as_string() == "Warning";
        if (!first) continue;
        const std::string_view name = event["involvedObject"]["name"].as_string();
        each.object = kind;
        if (kind == "Pod" || kind == "Job") each.object.append(" ").append(name);
        each.reason = reason;
        each.message = event["message"].as_string();
    }
    std::vector<Happening> all;
    for (auto& [key, each] : folded) all.push_back(std::move(each));
    std::stable_sort(all.begin(), all.end(),
                     [](const Happening& a, const Happening& b) { return a.last < b.last; });
    return all;
}

std::string text_of(const Happening& happening) {
    return happening.object + "  " + happening.reason +
           (happening.count > 1 ? " (" + times(happening.count) + ")" : "") + ": " + happening.message;
}

}  // namespace cli
