#include "lifecycle/judge.hpp"

#include <algorithm>
#include <array>

#include "api/failure.hpp"
#include "api/text.hpp"
#include "failure_message.hpp"

namespace lifecycle {
namespace {

using api::FailureDecision;

// JobSet's only rule for an attempt is about Jobs that failed by their podFailurePolicy, whose only rule is
// about disruptions.
bool was_disrupted(const api::JobSet& job_set) {
    return job_set.finished && job_set.finished->reason == api::reason::failed_by_rule;
}

bool matches(const api::FailureRule::ExitCodes& codes, const FailedPod& pod) {
    return std::any_of(pod.exits.begin(), pod.exits.end(), [&](const FailedPod::Exit& exit) {
        if (exit.code == 0 || (!codes.container.empty() && codes.container != exit.container)) return false;
        const bool is_named =
            std::find(codes.values.begin(), codes.values.end(), exit.code) != codes.values.end();
        return is_named == codes.in;
    });
}

bool has_condition(const FailedPod& pod, const api::FailureRule::PodCondition& wanted) {
    return std::find(pod.conditions.begin(), pod.conditions.end(), wanted) != pod.conditions.end();
}

bool is_disrupted(const FailedPod& pod) {
    return has_condition(pod, {.type = std::string(api::disrupted), .status = "True"});
}

bool matches(const std::vector<api::FailureRule::PodCondition>& wanted, const FailedPod* pod,
             bool disrupted) {
    return std::any_of(wanted.begin(), wanted.end(), [&](const auto& each) {
        // A disrupted Pod is deleted, so mostly the JobSet alone tells that there was one.
        if (disrupted && each.type == api::disrupted && each.status == "True") return true;
        return pod && has_condition(*pod, each);
    });
}

bool matches(const std::vector<std::string>& wanted, const FailedPod& pod) {
    const auto is_wanted = [&](std::string_view reason) {
        return std::find(wanted.begin(), wanted.end(), reason) != wanted.end();
    };
    return is_wanted(pod.failure.reason) ||
           std::any_of(pod.exits.begin(), pod.exits.end(),
                       [&](const FailedPod::Exit& exit) { return is_wanted(exit.reason); });
}

bool matches(const api::FailureRule& rule, const FailedPod* pod, bool disrupted) {
    if (rule.decision == FailureDecision::none) return false;
    if (rule.exit_codes) return pod && matches(*rule.exit_codes, *pod);
    if (!rule.conditions.empty()) return matches(rule.conditions, pod, disrupted);
    return pod && matches(rule.reasons, *pod);
}

// Reasons of the kubelet for Pods that it refuses or evicts, and that may do better elsewhere or later. One
// that it refuses for good, such as SysctlForbidden, counts.
bool is_of_infrastructure(const FailedPod& pod) {
    constexpr std::array reasons = {std::string_view("UnexpectedAdmissionError"),
                                    std::string_view("NodeAffinity"),
                                    std::string_view("NodeShutdown"),
                                    std::string_view("Evicted"),
                                    std::string_view("Terminated"),
                                    std::string_view("Shutdown"),
                                    std::string_view("Preempting"),
                                    std::string_view("NodeLost")};
    const std::string_view reason = pod.of_node;
    return is_disrupted(pod) || reason.starts_with("OutOf") ||
           std::find(reasons.begin(), reasons.end(), reason) != reasons.end() ||
           (reason.empty() && !pod.has_container_status);
}

struct Ruling {
    FailureDecision decision;
    std::int64_t rule;
    bool excludes_node;
};

// `pod`: the one that failed first of those that are left. If the JobSet says that another one was disrupted,
// this one followed it, and its exit code and its node say nothing.
Ruling ruling_of(const api::FailurePolicy& policy, const FailedPod* pod, bool disrupted) {
    if (disrupted && pod && !is_disrupted(*pod)) pod = nullptr;
    for (std::size_t i = 0; i < policy.rules.size(); ++i)
        if (const api::FailureRule& rule = policy.rules[i]; matches(rule, pod, disrupted))
            return {rule.decision, static_cast<std::int64_t>(i), pod && rule.excludes_node};
    if (disrupted || (pod && is_of_infrastructure(*pod)))
        return {FailureDecision::restart_uncounted, api::infrastructure_rule,
                pod && pod->of_node == "UnexpectedAdmissionError"};
    return {FailureDecision::restart, api::default_rule, false};
}

std::chrono::seconds delay_after(std::int64_t failures, const api::FailurePolicy& policy) {
    std::chrono::seconds delay = policy.first_delay;
    for (std::int64_t i = 1; i < failures && delay < policy.longest_delay; ++i) delay *= 2;
    return std::min(delay, policy.longest_delay);
}

// Status fields have 32 bits.
std::int64_t one_more(std::int64_t number) { return std::min<std::int64_t>(number, 1'000'000) + 1; }

// Applies the bounds of the policy to what was decided about the attempt. `lasted`: it has got somewhere.
Judgement within_bounds(const Ruling& ruling, bool lasted, const api::FailurePolicy& policy,
                        const api::Restarts& so_far, const api::Attempt& attempt) {
    Judgement judgement = {.decision = ruling.decision,
                           .rule = ruling.rule,
                           .excludes_node = ruling.excludes_node,
                           .failures = one_more(lasted ? 0 : attempt.failures),
                           .uncounted_failures = lasted ? 0 : attempt.uncounted_failures};
    const auto end = [&](std::string_view reason) {
        judgement.decision = FailureDecision::fail;
        judgement.reason = reason;
        judgement.excludes_node = false;
        return judgement;
    };
    if (judgement.decision == FailureDecision::fail) return end(api::reason::failed_by_rule);
    if (judgement.counts()) {
        if (so_far.counted >= policy.max_restarts) return end(api::reason::reached_max_restarts);
        judgement.uncounted_failures = 0;
    } else {
        if (judgement.uncounted_failures >= most_uncounted_restarts)
            return end(api::reason::too_many_uncounted);
        judgement.uncounted_failures = one_more(judgement.uncounted_failures);
    }
    judgement.delay = delay_after(judgement.failures, policy);
    return judgement;
}

bool has_lasted(const api::Attempt& attempt, api::Time until) {
    return attempt.began && until - *attempt.began >= lasting_attempt;
}

}  // namespace

bool is_judged(const Observed& observed) {
    const api::JobSet* job_set = own_job_set(observed);
    if (!job_set || !job_set->is_attempt) return false;
    const api::TrainJob& job = *observed.job;
    if (job.restarts.all <= job_set->restarts.all) return false;
    if (job_set->finished) return job_set->finished->type == "Failed";
    return is_said_to_restart(job, *job_set);
}

bool is_said_to_restart(const api::TrainJob& job, const api::JobSet& attempt) {
    if (job.failures.empty() || job.restarts.all <= attempt.restarts.all) return false;
    const api::Failure& newest = job.failures.front();
    return newest.attempt == attempt.restarts.all && (newest.decision == FailureDecision::restart ||
                                                      newest.decision == FailureDecision::restart_uncounted);
}

Judgement judge(const api::FailurePolicy& policy, const api::JobSet& job_set, const FailedPod* first,
                const api::Restarts& so_far, const api::Attempt& attempt) {
    Ruling ruling = ruling_of(policy, first, was_disrupted(job_set));
    ruling.excludes_node = ruling.excludes_node && !first->is_undecided;
    const bool lasted = has_lasted(attempt, job_set.finished->last_transition);
    return within_bounds(ruling, lasted, policy, so_far, attempt);
}

// No Pod says which node is to blame. The time in which it hung is none in which it got somewhere.
Judgement judge_hang(const api::FailurePolicy& policy, const api::Restarts& so_far,
                     const api::Attempt& attempt, std::optional<api::Time> lasted_until) {
    const Ruling ruling = {FailureDecision::restart, api::default_rule, false};
    const bool lasted = lasted_until && has_lasted(attempt, *lasted_until);
    return within_bounds(ruling, lasted, policy, so_far, attempt);
}

api::Failure hung_attempt(std::string_view text, api::Time now) {
    return {.time = now,
            .reason = std::string(api::reason::progress_deadline_exceeded),
            .message = api::cut_bytes(text, most_of_failure_message)};
}

std::optional<api::Time> next_look_at_placement(const Observed& observed) {
    const api::JobSet* job_set = own_job_set(observed);
    const bool may_starve = job_set && job_set->is_attempt && !job_set->excluded_nodes.empty() &&
                            !job_set->suspend && !job_set->finished && !job_set->meta.deletion &&
                            !job_set->all_started && !observed.job->attempt.began;
    if (!may_starve || observed.job->suspend || observed.job->meta.deletion || is_judged(observed))
        return std::nullopt;
    return start_of_run(observed) + exclusion_starves;
}

Judgement judge_starved(const api::Attempt& attempt) {
    return {.decision = FailureDecision::restart_uncounted,
            .rule = api::infrastructure_rule,
            .ends_exclusions = true,
            .failures = attempt.failures,
            .uncounted_failures = attempt.uncounted_failures};
}

api::Failure starved_attempt(const api::JobSet& job_set, api::Time now) {
    std::string nodes;
    for (const std::string& node : job_set.excluded_nodes) nodes += (nodes.empty() ? "" : ", ") + node;
    return {.time = now,
            .reason = std::string(api::no_node_left),
            .message = api::cut_bytes("Pods found no node for five minutes while these were avoided, which "
                                      "ends now: " +
                                          nodes,
                                      most_of_failure_message)};
}

std::string describe_end(const Judgement& judgement, const api::Restarts& so_far) {
    if (judgement.reason == api::reason::failed_by_rule)
        return "rule " + std::to_string(judgement.rule) + " of the failure policy ends the TrainJob";
    if (judgement.reason == api::reason::reached_max_restarts)
        return "the TrainJob has used the restarts of its failure policy: " + std::to_string(so_far.counted);
    return std::to_string(most_uncounted_restarts) +
           " restarts in a row did not count, and no attempt lasted for ten minutes";
}

api::Failure failure_without_pod(const api::JobSet& job_set) {
    return {.time = job_set.finished->last_transition,
            .reason = was_disrupted(job_set) ? std::string(api::disrupted) : std::string(),
            .message = api::cut_bytes(job_set.finished->message, most_of_failure_message)};
}

}  // namespace lifecycle
