#include "admission/runtime_use.hpp"

#include "api/train_job.hpp"
#include "lifecycle/observed.hpp"
#include "lifecycle/ttl.hpp"
#include "runtime/compare.hpp"
#include "runtime/rule.hpp"

namespace admission {
namespace {

// Returns "1 TrainJob " and what one does, or "3 or more TrainJobs " and what several do.
std::string jobs_that(std::size_t count, bool more, std::string_view one_does, std::string_view several_do) {
    const bool is_one = count == 1 && !more;
    return std::to_string(count) + (more ? " or more " : " ") + (is_one ? "TrainJob " : "TrainJobs ") +
           std::string(is_one ? one_does : several_do);
}

}  // namespace

RuntimeChange change_of_runtime(const api::Json& object, const api::Json& old_object) {
    if (object.is_null()) return {.is_deletion = true};
    if (old_object.is_null()) return {};
    RuntimeChange change = {.is_edit =
                                !runtime::is_equivalent_but_for({"runPolicy", "ttlSecondsAfterFinished"},
                                                                object["spec"], old_object["spec"])};
    change.policy_of_all = new_policy_of_all(object, old_object);
    return change;
}

std::optional<api::RunPolicy> new_policy_of_all(const api::Json& object, const api::Json& old_object) {
    constexpr auto all = api::TtlAppliesTo::all_jobs;
    if (old_object.is_null() || api::ttl_applies_to(object) != all) return std::nullopt;
    const api::RunPolicy policy = api::run_policy_of(object);
    if (api::ttl_applies_to(old_object) == all && policy == api::run_policy_of(old_object))
        return std::nullopt;
    return policy;
}

void add_jobs_of_runtime(const api::Json& list, const UsedRuntime& runtime, RuntimeUse& use) {
    for (const api::Json& item : list["items"].items()) {
        const api::RuntimeRef ref = api::parse_runtime_ref(item["spec"]);
        if (!is_supported(ref) || ref.kind != runtime.kind || ref.name != runtime.name) continue;
        const api::TrainJob job = api::parse_train_job(item);
        if (!api::terminal_condition(job)) {
            ++(lifecycle::had_job_set(job) ? use.begun : use.waiting);
            if (!job.queue.empty()) ++use.queued;
        } else if (runtime.policy_of_all) {
            const auto ttl =
                lifecycle::ttl_policy(job, nullptr, runtime.policy_of_all, api::TtlAppliesTo::all_jobs);
            const auto left = lifecycle::time_to_live(job, ttl, runtime.now);
            if (left && left->count() == 0) ++use.expired;
        }
    }
}

api::Warnings warnings_of(const RuntimeUse& use, const RuntimeChange& change) {
    api::Warnings warnings;
    const auto warn = [&](std::string text) {
        warnings.push_back({.text = std::move(text), .rule = runtime::Rule::runtime_in_use});
    };
    if (use.more && use.unfinished() + use.expired == 0)
        warn("TrainJobs may use it: there are too many to look at all");
    if (use.expired > 0)
        warn(jobs_that(use.expired, use.more, "that has ended is", "that have ended are") +
             " deleted now, since runPolicy.ttlAppliesTo is All");
    if (!change.is_edit && !change.is_deletion) return warnings;
    if (use.waiting > 0 && change.is_deletion)
        warn(jobs_that(use.waiting, use.more, "has", "have") +
             " no JobSet yet and cannot begin before there is such a runtime again");
    else if (use.waiting > 0)
        warn(
            jobs_that(use.waiting, use.more, "has no JobSet yet and begins", "have no JobSet yet and begin") +
            " with it as it is now");
    if (use.begun > 0)
        warn(jobs_that(use.begun, use.more, "goes on as it began", "go on as they began") +
             (change.is_deletion ? ", but list_jobs() of Kubeflow's SDK fails in their namespaces" : ""));
    if (use.queued > 0)
        warn(change.is_deletion
                 ? jobs_that(use.queued, use.more,
                             "is in a queue: Kueue cannot count its Pods any more; delete it first",
                             "are in queues: Kueue cannot count their Pods any more; delete them first")
                 : jobs_that(use.queued, use.more, "is in a queue: Kueue counts its Pods",
                             "are in queues: Kueue counts their Pods") +
                       " by what the runtime is now");
    return warnings;
}

std::string denial_of_deletion(const RuntimeUse& use) {
    constexpr std::string_view advice = ": create a runtime under a new name, and delete this one once ";
    if (use.unfinished() > 0)
        return jobs_that(use.unfinished(), use.more, "that has not ended uses it",
                         "that have not ended use it") +
               std::string(advice) + "no job uses it";
    if (use.more)
        return "TrainJobs may use it, and there are too many to look at all" + std::string(advice) +
               "ended ones are deleted";
    return {};
}

}  // namespace admission
