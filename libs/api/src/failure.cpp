#include "api/failure.hpp"

#include <algorithm>
#include <array>

#include "api/condition.hpp"
#include "api/text.hpp"

namespace api {
namespace {

// A line with more would hide what comes after it.
constexpr std::size_t most_of_message = 200;

std::string text_of(const Json& json) { return std::string(json.as_string()); }

void put(Json& object, std::string_view name, const std::string& text) {
    if (!text.empty()) object[name] = text;
}

void put(Json& object, std::string_view name, const std::optional<std::int64_t>& number) {
    if (number) object[name] = *number;
}

// In the order of the enumeration.
constexpr std::array<std::string_view, 4> decisions = {"", "Restart", "RestartUncounted", "Fail"};

FailureDecision decision_of(std::string_view text) {
    const auto at = std::find(decisions.begin(), decisions.end(), text);
    return at == decisions.end() ? FailureDecision::none
                                 : static_cast<FailureDecision>(at - decisions.begin());
}

std::string how(const Failure& failure) {
    return failure.exit_code ? exit_text(failure.reason, *failure.exit_code) : failure.reason;
}

}  // namespace

std::vector<Failure> parse_failures(const Json& list) {
    std::vector<Failure> failures;
    for (const Json& item : list.items()) {
        const auto time = as_time(item["time"].as_string());
        if (!time) continue;
        Failure failure = {.attempt = item["attempt"].int_or(0),
                           .time = *time,
                           .pod = text_of(item["pod"]),
                           .node = text_of(item["node"]),
                           .replicated_job = text_of(item["replicatedJob"]),
                           .index = item["index"].as_int(),
                           .container = text_of(item["container"]),
                           .exit_code = item["exitCode"].as_int(),
                           .signal = item["signal"].as_int(),
                           .reason = text_of(item["reason"]),
                           .message = text_of(item["message"]),
                           .failed_pods = item["failedPods"].int_or(0),
                           .decision = decision_of(item["decision"].as_string()),
                           .rule = item["rule"].int_or(default_rule),
                           .excludes_node = item["excludesNode"].bool_or(false)};
        failures.push_back(std::move(failure));
    }
    return failures;
}

Json to_json_tree(const std::vector<Failure>& failures) {
    Json list = Json::array();
    for (const Failure& failure : failures) {
        Json item = Json::object({{"attempt", failure.attempt},
                                  {"time", format_time(failure.time)},
                                  {"failedPods", failure.failed_pods}});
        put(item, "pod", failure.pod);
        put(item, "reason", failure.reason);
        put(item, "node", failure.node);
        put(item, "replicatedJob", failure.replicated_job);
        put(item, "index", failure.index);
        put(item, "container", failure.container);
        put(item, "exitCode", failure.exit_code);
        put(item, "signal", failure.signal);
        put(item, "message", failure.message);
        if (failure.decision != FailureDecision::none) {
            item["decision"] = decisions[static_cast<std::size_t>(failure.decision)];
            item["rule"] = failure.rule;
        }
        if (failure.excludes_node) item["excludesNode"] = true;
        list.push_back(std::move(item));
    }
    return list;
}

std::string exit_text(std::string_view reason, std::int64_t exit_code) {
    const std::string code = "exit code " + std::to_string(exit_code);
    return reason.empty() || reason == "Error" ? code : std::string(reason) + ", " + code;
}

bool is_of_pod(const Failure& failure) {
    return !failure.pod.empty() ||
           (failure.reason != no_node_left && failure.reason != reason::progress_deadline_exceeded);
}

std::string describe(const Failure& failure) {
    if (!is_of_pod(failure)) return failure.message.empty() ? failure.reason : failure.message;
    // JobSet's message has nothing more: such a Pod is deleted, mostly before anybody has seen it fail.
    if (failure.pod.empty() && failure.reason == disrupted)
        return "a Pod was disrupted: its node was drained, tainted or lost, or another Pod took its place";
    if (failure.pod.empty())
        return "no failed Pod is left" + (failure.message.empty() ? "" : ": " + failure.message);
    std::string line = "Pod " + failure.pod;
    if (!failure.node.empty()) line += " on node " + failure.node;
    if (const std::string why = how(failure); !why.empty()) line += ": " + why;
    if (!failure.message.empty()) line += ": " + quoted(last_bytes(failure.message, most_of_message));
    if (failure.failed_pods == 2) line += "; one more Pod failed";
    if (failure.failed_pods > 2) line += "; " + std::to_string(failure.failed_pods - 1) + " more Pods failed";
    return line;
}

}  // namespace api
