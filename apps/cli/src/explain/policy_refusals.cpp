#include "explain/policy_refusals.hpp"

#include <algorithm>

#include "api/names.hpp"
#include "job/findings.hpp"

namespace cli {
namespace {

using api::Json;
using By = PolicyRefusal::By;

// What the API server writes in front of a policy's name, and what ends the name there.
struct Pattern {
    By by;
    std::string_view before;
    std::string_view after;
    std::string_view kind = {};  // in front of a missing object's name
};
constexpr Pattern patterns[] = {
    {By::unreachable_webhook, "failed calling webhook \"", "\""},
    {By::webhook, "admission webhook \"", "\""},
    {By::quota, "exceeded quota: ", ","},
    {By::quota, "failed quota: ", ":"},
    {By::admission_policy, "ValidatingAdmissionPolicy '", "'"},
    {By::pod_security, "violates PodSecurity \"", "\""},
    // A LimitRange has no name there.
    {By::limit_range, "maximum ", " usage per "},
    {By::limit_range, "minimum ", " usage per "},
    // Templates whose own limit is too low are denied before.
    {By::default_limit, "must be less than or equal to ", " limit of "},
    {By::default_limit, "must be equal to ", " limit of "},
    {By::security_context_constraints, "unable to validate against any security context constraint", ": "},
    {By::missing_object, "no PriorityClass with name ", " was found", "PriorityClass "},
    {By::missing_object, "serviceaccount \"", "\" not found", "ServiceAccount "},
    {By::missing_object, "RuntimeClass \"", "\" not found", "RuntimeClass "},
};

struct Place {
    const Pattern* pattern = nullptr;
    std::size_t at = std::string_view::npos;
    std::size_t end = 0;  // of the name
};

Place outermost(std::string_view message) {
    Place first;
    for (const Pattern& pattern : patterns) {
        const std::size_t at = message.find(pattern.before);
        if (at >= first.at) continue;
        const std::size_t end = message.find(pattern.after, at + pattern.before.size());
        // Between two words of a LimitRange there is one: "cpu".
        const std::string_view name =
            message.substr(at + pattern.before.size(), end - at - pattern.before.size());
        if (end == std::string_view::npos || name.find(' ') != std::string_view::npos) continue;
        first = {.pattern = &pattern, .at = at, .end = end};
    }
    return first;
}

// The policy's own words, behind what the API server says of each policy of the kind.
std::string_view words_after(std::string_view rest) {
    for (const std::string_view fixed : {" denied the request", " denied request", " with binding '"}) {
        const std::size_t at = rest.find(fixed);
        if (at > 1) continue;
        rest.remove_prefix(at + fixed.size());
        // The name of the binding.
        if (fixed.ends_with('\'')) {
            rest.remove_prefix(std::min(rest.find('\''), rest.size()));
            return words_after(rest);
        }
        break;
    }
    const std::size_t begin = rest.find_first_not_of("\"', :");
    return begin == std::string_view::npos ? std::string_view() : rest.substr(begin);
}

// "[provider "anyuid": Forbidden: not usable by user or serviceaccount, provider restricted-v2: ...]": what
// keeps the Pod from those constraints that its account may use, if it may use any.
std::string reasons_of_usable(std::string_view list) {
    constexpr std::string_view next = ", provider ";
    const std::string all(list);
    if (list.starts_with('[') && list.ends_with(']')) list = list.substr(1, list.size() - 2);
    std::string kept;
    while (!list.empty()) {
        const std::size_t end = std::min(list.find(next), list.size());
        const std::string_view each = list.substr(0, end);
        list.remove_prefix(end == list.size() ? end : end + 2);
        if (each.ends_with("Forbidden: not usable by user or serviceaccount")) continue;
        if (!kept.empty()) kept += ", ";
        kept += each;
    }
    return kept.empty() ? all : kept;
}

api::Time creation_of(const Json& object) {
    const auto time = api::parse_time(object["metadata"]["creationTimestamp"].as_string());
    return time ? *time : api::Time();
}

// When the last Pod was created; of the Job if it is not empty.
api::Time last_creation(const std::vector<Json>& pods, std::string_view job) {
    api::Time last = {};
    for (const Json& pod : pods)
        if (job.empty() || pod["metadata"]["labels"]["batch.kubernetes.io/job-name"].as_string() == job)
            last = std::max(last, creation_of(pod));
    return last;
}

class Collected {
public:
    void add(std::string_view message, std::string object) {
        auto refusal = parse_policy_refusal(message);
        if (!refusal) return;
        refusal->object = std::move(object);
        const auto same = [&](const PolicyRefusal& each) {
            return each.by == refusal->by && each.name == refusal->name;
        };
        if (std::none_of(all_.begin(), all_.end(), same)) all_.push_back(std::move(*refusal));
    }
    std::vector<PolicyRefusal> take() && { return std::move(all_); }

private:
    std::vector<PolicyRefusal> all_ = {};
};

}  // namespace

std::optional<PolicyRefusal> parse_policy_refusal(std::string_view message) {
    const Place place = outermost(message);
    if (!place.pattern) return std::nullopt;
    PolicyRefusal refusal = {.by = place.pattern->by};
    if (refusal.by == By::limit_range) {
        refusal.message = message.substr(place.at);
        return refusal;
    }
    if (refusal.by == By::default_limit) {
        constexpr std::string_view in_front = " is invalid: ";
        const std::size_t field = message.rfind(in_front, place.at);
        refusal.message = message.substr(field == message.npos ? place.at : field + in_front.size());
        return refusal;
    }
    if (refusal.by == By::security_context_constraints) {
        refusal.message = reasons_of_usable(message.substr(place.end + place.pattern->after.size()));
        return refusal;
    }
    const std::size_t begin = place.at + place.pattern->before.size();
    refusal.name = std::string(place.pattern->kind) + std::string(message.substr(begin, place.end - begin));
    if (refusal.by != By::missing_object) refusal.message = words_after(message.substr(place.end));
    return refusal;
}

std::vector<PolicyRefusal> policy_refusals(const RelatedObjects& seen) {
    const api::TrainJob job = api::parse_train_job(seen.job);
    if (api::terminal_condition(job)) return {};
    Collected found;
    // "JobSet vision/night: the answer of the API server".
    const auto add_condition = [&](const api::Condition& condition) {
        const std::string_view text = condition.message;
        const std::size_t colon = text.find(": ");
        if (colon != std::string_view::npos)
            found.add(text.substr(colon), std::string(text.substr(0, colon)));
    };
    for (const api::Condition& each : job.conditions)
        if (each.type == api::condition::created && !each.is_true()) add_condition(each);
    for (const EventLine& event : event_lines_of(job.suspend ? std::vector<Json>() : seen.events.found)) {
        const bool of_job = event.object.starts_with("Job ");
        if (!event.warning || (!of_job && event.object != "JobSet")) continue;
        const std::string name = of_job ? event.object.substr(4) : "";
        if (event.last >= last_creation(seen.pods.found, name))
            found.add(event.message, of_job ? "Pods of Job " + name : "Jobs of the JobSet");
    }
    for (const api::Condition& each : job.conditions)
        if (each.type == api::condition::stalled && each.is_true()) add_condition(each);
    return std::move(found).take();
}

}  // namespace cli
