#include "lifecycle/failed_pods.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

#include "api/condition.hpp"
#include "api/failure.hpp"
#include "api/names.hpp"
#include "api/pod.hpp"
#include "api/text.hpp"
#include "failure_message.hpp"
#include "lifecycle/refusal.hpp"

namespace lifecycle {
namespace {

using api::Json;

constexpr std::chrono::seconds about_the_same_time{2};
constexpr std::size_t most_of_reason = 128;
constexpr std::int64_t signals = 64;
constexpr std::int64_t most_of_grace = 365 * 86'400;

std::string cut(const Json& text, std::size_t limit) { return api::cut_bytes(text.as_string(), limit); }

// The end says what went wrong: it may be the last lines of a log.
std::string end_of_message(std::string_view text) {
    constexpr std::string_view blanks = " \t\r\n";
    text.remove_suffix(text.size() - std::min(text.size(), text.find_last_not_of(blanks) + 1));
    std::string printed;
    for (std::string_view rest =
             text.substr(text.size() - std::min(text.size(), 2 * most_of_failure_message));
         !rest.empty();) {
        const char32_t c = api::take_character(rest);
        if (c == api::invalid_character || api::is_bidi_control(c)) continue;
        api::append_character(printed, api::is_control(c) || api::is_separator(c) ? U' ' : c);
    }
    return std::string(api::last_bytes(printed, most_of_failure_message));
}

// Of a Pod whose containers say nothing. A node that refuses a Pod does so as soon as it is made.
api::Time time_of(const Json& pod) {
    const auto conditions = api::parse_conditions(pod["status"]["conditions"]);
    for (const std::string_view type :
         {api::disrupted, std::string_view("Ready"), std::string_view("PodScheduled")})
        if (const auto* condition = api::find_condition(conditions, type)) return condition->last_transition;
    return api::as_time(pod["metadata"]["creationTimestamp"].as_string()).value_or(api::Time());
}

bool is_disrupted(const Json& pod) {
    return api::is_true(api::parse_conditions(pod["status"]["conditions"]), api::disrupted);
}

// A disruption tells a Pod to end, too, and is the cause.
bool was_told_to_end(const Json& pod, api::Time failed) {
    const auto deletion = api::as_time(pod["metadata"]["deletionTimestamp"].as_string());
    if (!deletion || is_disrupted(pod)) return false;
    const std::int64_t grace = pod["metadata"]["deletionGracePeriodSeconds"].int_or(0);
    return failed >= *deletion - std::chrono::seconds(std::clamp<std::int64_t>(grace, 0, most_of_grace));
}

// The API server would refuse a status with any other number, and the job would not end.
std::optional<std::int64_t> as_int32(const Json& number) {
    using Limits = std::numeric_limits<std::int32_t>;
    const auto value = number.as_int();
    return value && *value >= Limits::min() && *value <= Limits::max() ? value : std::nullopt;
}

std::vector<FailedPod::Exit> exits_of(const Json& status) {
    std::vector<FailedPod::Exit> exits;
    for (const char* kind : {"initContainerStatuses", "containerStatuses"})
        for (const Json& container : status[kind].items())
            if (const Json& ended = container["state"]["terminated"]; ended.is_object())
                exits.push_back({.container = cut(container["name"], 63),
                                 .code = ended["exitCode"].int_or(0),
                                 .reason = cut(ended["reason"], most_of_reason)});
    return exits;
}

std::vector<api::FailureRule::PodCondition> conditions_of(const Json& status) {
    std::vector<api::FailureRule::PodCondition> found;
    for (const api::Condition& condition : api::parse_conditions(status["conditions"]))
        found.push_back({.type = condition.type, .status = condition.status});
    return found;
}

std::optional<std::int64_t> index_of(const Json& pod) {
    const std::string_view text = pod["metadata"]["labels"][api::completion_index_label].as_string();
    if (text.empty() || text.size() > 9 || !std::ranges::all_of(text, api::is_digit)) return std::nullopt;
    return std::stoll(std::string(text));
}

}  // namespace

FailedPods::Seen FailedPods::see(const Json& pod) {
    const Json& status = pod["status"];
    Seen seen;
    seen.pod = {.failure = {.time = time_of(pod),
                            .pod = cut(pod["metadata"]["name"], 253),
                            .node = cut(pod["spec"]["nodeName"], 253),
                            .replicated_job = cut(pod["metadata"]["labels"][api::replicated_job_label], 63),
                            .index = index_of(pod)},
                .exits = exits_of(status),
                .conditions = conditions_of(status),
                .of_node = cut(status["reason"], most_of_reason),
                .has_container_status = !status["initContainerStatuses"].items().empty() ||
                                        !status["containerStatuses"].items().empty()};
    api::Failure& failure = seen.pod.failure;
    const Json* first = nullptr;
    for (const char* kind : {"initContainerStatuses", "containerStatuses"})
        for (const Json& container : status[kind].items()) {
            const Json& ended = container["state"]["terminated"];
            const auto end = api::as_time(ended["finishedAt"].as_string());
            if (ended["exitCode"].int_or(0) == 0 || !end || (first && *end >= failure.time)) continue;
            first = &ended;
            failure.time = *end;
            failure.container = cut(container["name"], 63);
        }
    const std::string& of_pod = seen.pod.of_node;
    const bool disrupted = is_disrupted(pod);
    const bool by_node = !first || disrupted || !of_pod.empty();
    if (!of_pod.empty()) {
        // What its containers exit with follows from that.
        failure.reason = of_pod;
        failure.container.clear();
    } else if (first) {
        failure.exit_code = as_int32((*first)["exitCode"]);
        if (const auto sent = as_int32((*first)["signal"]); sent && *sent > 0) failure.signal = sent;
        const std::int64_t code = failure.exit_code.value_or(0);
        if (!failure.signal && code > 128 && code <= 128 + signals) failure.signal = code - 128;
        failure.reason = cut((*first)["reason"], most_of_reason);
    }
    if (failure.reason.empty()) failure.reason = disrupted ? api::disrupted : std::string_view("Error");
    const std::string_view said = first && !by_node ? (*first)["message"].as_string() : std::string_view();
    failure.message = end_of_message(said.empty() ? status["message"].as_string() : said);
    if (by_node)
        seen.kind = Kind::node;
    else if (failure.reason == "OOMKilled")
        seen.kind = Kind::memory;
    else if (failure.signal)
        seen.kind = Kind::signal;
    return seen;
}

void FailedPods::add(const std::vector<Json>& pods) {
    for (const Json& pod : pods) {
        const std::string_view job_set_uid = api::job_set_uid_of(pod);
        if (job_set_uid.empty() || job_set_uid != job_set_uid_) continue;
        Seen seen = see(pod);
        if (!was_told_to_end(pod, seen.pod.failure.time)) seen_.push_back(std::move(seen));
    }
}

std::optional<FailedPod> FailedPods::first() const {
    if (seen_.empty()) return std::nullopt;
    const auto time_of_failure = [](const Seen& each) { return each.pod.failure.time; };
    const api::Time earliest = time_of_failure(*std::ranges::min_element(seen_, {}, time_of_failure));
    const auto is_later = [&](const Seen& each) {
        return time_of_failure(each) > earliest + about_the_same_time;
    };
    const auto order = [&](const Seen& each) {
        const api::Failure& failure = each.pod.failure;
        return std::tuple(is_later(each), each.kind, failure.time, failure.index.value_or(-1),
                          std::string_view(failure.pod));
    };
    const auto first = std::ranges::min_element(seen_, std::less(), order);
    FailedPod found = first->pod;
    found.failure.failed_pods = static_cast<std::int64_t>(seen_.size());
    found.is_undecided = std::ranges::any_of(seen_, [&](const Seen& each) {
        return each.kind == first->kind && !is_later(each) && each.pod.failure.node != found.failure.node;
    });
    return found;
}

bool wants_failed_pods(const Decision& decision) {
    const auto* finish = std::get_if<Finish>(&decision);
    return finish && finish->from_job_set && finish->condition.type == api::condition::failed;
}

bool wants_failure_policy(const Decision& decision) {
    const auto* finish = std::get_if<Finish>(&decision);
    return finish && finish->judges != Judged::nothing;
}

bool waits_for_failed_pods(const api::Error& unread, const RetryState& retry_state, api::Time now) {
    if (is_rejection(unread) || obstacle_of(unread) == Obstacle::permission ||
        unread.code == api::Errc::too_large)
        return false;
    const auto since = retry_state.errors_since;
    return !since || now < *since + failed_pods_wait;
}

}  // namespace lifecycle
