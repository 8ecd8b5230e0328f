#include "lifecycle/recreate.hpp"

#include <algorithm>
#include <charconv>

#include "api/claim_policy.hpp"
#include "api/meta.hpp"
#include "api/names.hpp"
#include "lifecycle/refusal.hpp"
#include "managed_fields.hpp"

namespace lifecycle {
namespace {

api::Error unapplied(const api::Error& refusal, const std::string& why) {
    return rejection(refusal.message + ": " + why, refusal.field);
}

}  // namespace

Recreation recreation(const RefusedChange& change) {
    // These come before the wait for active pods, which would not change them.
    if (change.has_run && change.deletes_claims) return Recreation::loses_claims;
    if (change.has_finished) return Recreation::loses_work;
    return change.any_active ? Recreation::wait : Recreation::recreate;
}

RefusedChange refused_change(const api::Json& live) {
    const api::JobSet index = api::parse_job_set(live);
    return {.any_active = index.any_active(),
            .has_run = may_have_run(live),
            .deletes_claims = deletes_volume_claims(live["spec"]),
            .has_finished = has_finished_jobs(index)};
}

// The differences may come only from the ways in which the two controllers build the same. Nothing shows
// that, and the user has no change to undo.
bool keeps_template_of_others(const api::Json& live) {
    return !api::is_applied_here(live) && loses_something(recreation(refused_change(live)));
}

Event template_kept(std::string_view field) {
    return warning_event(event_reason::job_set_kept,
                         "The JobSet keeps what an earlier controller has built, since a new one would "
                         "lose what has finished or its volume claims: " +
                             std::string(field) +
                             " is not as this controller builds it. Delete the JobSet to start again");
}

std::string_view loss(Recreation verdict) {
    if (verdict == Recreation::loses_claims) return "delete its volume claims with what they hold";
    return verdict == Recreation::loses_work ? "run again what has finished" : "";
}

api::Error cannot_take(Recreation why, const api::Error& refusal) {
    return unapplied(refusal, "only a new JobSet makes a new claim, and that would " +
                                  std::string(loss(why)) +
                                  "; restore the claim, or delete the JobSet to start again");
}

api::Error changed_by_cluster(const api::Error& refusal, std::string field) {
    api::Error error = refusal;
    error.message = (field.empty() ? std::string("a field that must not change in a JobSet")
                                   : std::string("must not change in a JobSet, and")) +
                    " is changed by a policy or webhook of the cluster with every UPDATE: exempt existing "
                    "JobSets from it";
    error.field = std::move(field);
    return error;
}

// The note is "GENERATION/COUNT/UID", with the UID of the last JobSet that counts.
int recreations(const api::Json& snapshot, std::int64_t generation, std::string_view uid) {
    const std::string_view note =
        snapshot["metadata"]["annotations"][api::recreations_annotation].as_string();
    const std::string of_generation = std::to_string(generation) + "/";
    if (!note.starts_with(of_generation)) return 0;
    int count = 0;
    const auto [end, error] =
        std::from_chars(note.data() + of_generation.size(), note.data() + note.size(), count);
    // A note that was edited permits no further recreation.
    if (error != std::errc() || count < 0) return max_recreations;
    const std::string_view last(end, note.data() + note.size());
    return count > 0 && last.starts_with('/') && last.substr(1) == uid ? count - 1 : count;
}

api::Json with_recreation(api::Json snapshot, std::int64_t generation, std::string_view uid) {
    const int count = recreations(snapshot, generation, uid) + 1;
    snapshot["metadata"]["annotations"][api::recreations_annotation] =
        std::to_string(generation) + "/" + std::to_string(count) + "/" + std::string(uid);
    return snapshot;
}

api::Error too_many_recreations(const api::Error& refusal) {
    return unapplied(refusal,
                     "the JobSet was created again " + std::to_string(max_recreations) +
                         " times for this generation of the TrainJob, and each time the cluster made "
                         "something else of it: look for a policy or webhook that changes JobSets");
}

// The texts are of JobSet's webhook, of the CEL rules of its CRD, and of the schema. The last one appears
// when an API server removes all members of an object, leaves null in its place, and denies that
// (kubernetes/kubernetes#117447; seen with 1.33).
bool refuses_immutable_field(const api::Error& error) {
    if (!is_rejection(error)) return false;
    for (const char* text :
         {"field is immutable", "Value is immutable", "in body must be of type object: \"null\""})
        if (error.message.find(text) != std::string::npos) return true;
    return false;
}

bool may_have_run(const api::Json& live) {
    if (!live["spec"]["suspend"].bool_or(false)) return true;
    // The generation counts the changes of a spec, and no client can write it.
    if (api::parse_meta(live).generation == 1) return false;
    return api::is_taken_over(live) || !only_own_applies_set(live, "suspend");
}

api::Json with_mark_of_takeover(api::Json wanted, const api::Json& live, bool keeps_template) {
    const bool stays_suspended = std::as_const(wanted)["spec"]["suspend"].bool_or(false);
    const bool claims_matter =
        stays_suspended && deletes_volume_claims(live["spec"]) && api::parse_meta(live).generation != 1;
    if (api::is_taken_over(live) && (keeps_template || claims_matter))
        wanted["metadata"]["annotations"][api::taken_over_annotation] = "true";
    return wanted;
}

bool deletes_volume_claims(const api::Json& job_set_spec) {
    const auto& policies = job_set_spec["volumeClaimPolicies"].items();
    // JobSet's default is Delete.
    return std::any_of(policies.begin(), policies.end(),
                       [](const api::Json& policy) { return !api::retains_claims(policy); });
}

bool has_finished_jobs(const api::JobSet& job_set) {
    return !job_set.finished_jobs.empty() ||
           std::any_of(job_set.replicated_jobs.begin(), job_set.replicated_jobs.end(),
                       [](const api::JobStatus& each) { return each.succeeded > 0; });
}

}  // namespace lifecycle
