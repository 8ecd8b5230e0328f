#include "lifecycle/service.hpp"

#include <algorithm>

#include "api/names.hpp"
#include "duration.hpp"
#include "lifecycle/judge.hpp"
#include "lifecycle/requeue.hpp"
#include "lifecycle/stall.hpp"
#include "service_watch.hpp"

namespace lifecycle {
namespace {

using api::Json;

// JobSet makes the Service before the Jobs. What an earlier JobSet of that name has left is collected soon.
constexpr std::chrono::seconds start_lasts{30};
constexpr std::chrono::hours first_looks_last{1};
// Between two looks at a Service of another owner.
constexpr std::chrono::seconds shortest_pause{15};
constexpr std::chrono::seconds longest_pause{300};

// Returns the JobSet whose Service matters; nullptr if there is none.
const api::JobSet* served_job_set(const Observed& observed, const Decision& decision) {
    const api::JobSet* job_set = own_job_set(observed);
    const bool runs = std::holds_alternative<Run>(decision) && !observed.job->meta.deletion;
    const bool is_served =
        runs && job_set && !job_set->meta.deletion && !job_set->finished && !is_judged(observed);
    return is_served && !job_set->service.empty() ? job_set : nullptr;
}

std::optional<ServiceWatch> watch_of(const Observed& observed, const api::JobSet& job_set) {
    const auto& watch = observed.retry_state.service;
    return watch && watch->job_set_creation == job_set.meta.creation ? watch : std::nullopt;
}

// Returns when to look; no value: never.
std::optional<api::Time> next_look(const Observed& observed, const api::JobSet& job_set,
                                   const std::optional<ServiceWatch>& watch, api::Time now) {
    if (!watch || !watch->looked) {
        const auto reason = stall_reason_of(*observed.job);
        if (reason == StallReason::service_taken) return now;
        const api::Time due = job_set.meta.creation + start_lasts;
        return now < due + first_looks_last || reason ? std::optional(due) : std::nullopt;
    }
    if (watch->found != ServiceLook::unread && !watch->stall) return std::nullopt;
    const api::Time since = watch->stall ? watch->stall->since : job_set.meta.creation;
    const auto pause = (*watch->looked - since) / 2;
    return *watch->looked + std::clamp<std::chrono::seconds>(pause, shortest_pause, longest_pause);
}

// The longest name and value of a label.
constexpr std::size_t longest_name = 317;
constexpr std::size_t longest_value = 63;
// Each is looked for in all jobs.
constexpr std::size_t most_labels = 32;

const Json& labels_of(const Json& replicated_job) {
    return replicated_job["template"]["spec"]["template"]["metadata"]["labels"];
}

// Returns whether a Service of another owner stood in the way of this JobSet's when it was looked at last.
bool was_service_taken(const Observed& observed) {
    const auto& watch = observed.retry_state.service;
    return (watch && watch->stall) || stall_reason_of(*observed.job) == StallReason::service_taken;
}

std::string text_of(const ServiceWatch& watch, const api::JobSet& job_set) {
    const api::ObjectKey service = {job_set.meta.ns, job_set.service};
    if (watch.found == ServiceLook::absent)
        return "Service " + to_string(service) +
               ", which was not the JobSet's, is gone, and JobSet has not made its own yet";
    return describe_taken_service(service, job_set.service != job_set.meta.name);
}

}  // namespace

Json labels_of_pods(std::string_view job_set, const Json& spec) {
    Json common = Json::object({{api::job_set_name_label, job_set}});
    const auto& jobs = spec["replicatedJobs"].items();
    if (jobs.empty()) return common;
    std::size_t looked_at = 0;
    for (const auto& [name, value] : labels_of(jobs.front()).members()) {
        if (++looked_at > most_labels) break;
        if (name.size() > longest_name || value.as_string().size() > longest_value) continue;
        // JobSet sets its own label whatever the templates say.
        const bool all_have_it = std::all_of(
            jobs.begin(), jobs.end(),
            [&, &label = name, &text = value](const Json& job) { return labels_of(job)[label] == text; });
        if (all_have_it && name != api::job_set_name_label) common[name] = value;
    }
    return common;
}

bool selects_pods(const Json& service, const Json& labels) {
    const auto& selector = service["spec"]["selector"].members();
    return !selector.empty() && std::all_of(selector.begin(), selector.end(), [&](const auto& wanted) {
        const auto& [name, value] = wanted;
        return labels[name] == value;
    });
}

bool will_take_name(const Json& service, std::string_view job_set, const Json& labels) {
    const auto& owners = service["metadata"]["ownerReferences"].items();
    const bool is_left = std::any_of(owners.begin(), owners.end(), [&](const Json& owner) {
        return owner["kind"].as_string() == "JobSet" && owner["name"].as_string() == job_set;
    });
    return !is_left && !service["metadata"].contains("deletionTimestamp") && !selects_pods(service, labels);
}

bool wants_service(const Observed& observed, const Decision& decision, const Outcome& outcome,
                   api::Time now) {
    const api::JobSet* job_set = served_job_set(observed, decision);
    if (!job_set || std::holds_alternative<ReadFailed>(outcome.result)) return false;
    const auto at = next_look(observed, *job_set, watch_of(observed, *job_set), now);
    return at && now >= *at;
}

std::string describe_taken_service(const api::ObjectKey& service, bool is_shared) {
    return "Service " + to_string(service) +
           " exists already, so host names of Pods do not resolve: delete it, or " +
           (is_shared ? "leave network.subdomain out of the runtime" : "name the TrainJob otherwise");
}

std::optional<std::string> follow_service(Conclusion& conclusion, const Observed& observed,
                                          const Decision& decision, const Outcome& outcome, api::Time now) {
    const api::JobSet* job_set = served_job_set(observed, decision);
    if (!job_set) return std::nullopt;
    auto watch = watch_of(observed, *job_set);
    if (outcome.service_look) {
        if (!watch) watch = ServiceWatch{.job_set_creation = job_set->meta.creation};
        const bool was_there = watch->found == ServiceLook::taken;
        watch->looked = now;
        // What cannot be read stays as it is said.
        if (*outcome.service_look != ServiceLook::unread || !watch->stall)
            watch->found = *outcome.service_look;
        const bool stands_in_the_way = watch->found == ServiceLook::taken ||
                                       (watch->found != ServiceLook::usable && was_service_taken(observed));
        if (!stands_in_the_way) watch->stall.reset();
        if (stands_in_the_way && !watch->stall)
            watch->stall = Stall{.reason = api::reason::service_taken, .since = now};
        // JobSet makes its own soon.
        if (was_there && watch->stall && watch->found == ServiceLook::absent) watch->stall->since = now;
    }
    conclusion.retry_state.service = watch;
    const auto at = next_look(observed, *job_set, watch, now);
    if (at) conclusion.requeue_after = sooner(conclusion.requeue_after, time_until(*at, now));
    conclusion.requeues_for_service = at.has_value();
    if (!watch || !watch->stall) return std::nullopt;
    if (watch->found == ServiceLook::unread) {
        const auto* said = api::find_condition(observed.job->conditions, api::condition::stalled);
        return said && said->reason == api::reason::service_taken ? std::optional(said->message)
                                                                  : std::nullopt;
    }
    return text_of(*watch, *job_set);
}

}  // namespace lifecycle
