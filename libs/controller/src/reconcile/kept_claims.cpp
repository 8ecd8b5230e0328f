#include "reconcile/kept_claims.hpp"

#include <algorithm>

#include "api/claim_policy.hpp"
#include "api/job_set_names.hpp"
#include "api/names.hpp"
#include "controller/reconcile/observe.hpp"
#include "kube/client/request.hpp"
#include "lifecycle/refusal.hpp"
#include "lifecycle/service.hpp"
#include "runtime/compare.hpp"

namespace controller {
namespace {

using api::Json;

// Returns the name that JobSet gives to a claim.
api::ObjectKey claim_key(const Json& claim_template, const api::ObjectKey& job_set) {
    return {job_set.ns,
            api::job_set_names::claim(job_set.name, claim_template["metadata"]["name"].as_string())};
}

std::string described(const api::ObjectKey& claim) { return "PersistentVolumeClaim " + to_string(claim); }

std::string_view volume_of(const Json& claim) { return claim["spec"]["volumeName"].as_string(); }

// A claim names its volume a moment before it is bound to it.
bool is_bound(const Json& claim) { return claim["status"]["phase"].as_string() == "Bound"; }

// Returns whether the claim is being deleted, or is garbage of a JobSet of that name, which does not exist
// any more: it is collected soon.
bool is_going(const Json& claim, const std::string& job_set) {
    const auto& owners = claim["metadata"]["ownerReferences"].items();
    return claim["metadata"].contains("deletionTimestamp") ||
           std::any_of(owners.begin(), owners.end(), [&](const Json& owner) {
               return owner["kind"].as_string() == "JobSet" && owner["name"].as_string() == job_set;
           });
}

// Returns what to say of a Service that will stand in the way of the JobSet's; "" if none will, or if that
// cannot be read.
kube::Task<std::string> obstacle_of_service(kube::ApiServer& server, const api::TrainJob& job,
                                            const Json& job_set) {
    const std::string& name = job.meta.name;
    const Json& spec = job_set["spec"];
    const api::ObjectKey key = {job.meta.ns, api::job_set_names::service(name, spec)};
    if (key.name.empty()) co_return std::string();
    const auto found = co_await read(server, kube::resources::services, key);
    if (!found || !*found) co_return std::string();
    if (!lifecycle::will_take_name(**found, name, lifecycle::labels_of_pods(name, spec)))
        co_return std::string();
    co_return lifecycle::describe_taken_service(key, key.name != name);
}

}  // namespace

kube::Async<ClaimedJobSet> with_kept_claims(kube::ApiServer& server, const api::TrainJob& job, Json job_set) {
    ClaimedJobSet made = {.job_set = std::move(job_set)};
    Json* policies = made.job_set["spec"].find("volumeClaimPolicies");
    if (!policies) co_return made;
    const bool had_one = lifecycle::had_job_set(job);
    for (Json& policy : policies->items()) {
        const bool kept = api::retains_claims(policy);
        for (Json& each : policy["templates"].items()) {
            const api::ObjectKey key = claim_key(each, job.meta.key());
            const auto claim = co_await read(server, kube::resources::volume_claims, key);
            if (!claim) co_return claim.error();
            if (!*claim) continue;
            const Json& live = **claim;
            if (is_going(live, job.meta.name)) {
                if (!made.going) made.going.emplace();
                made.going->objects.push_back(described(key));
                continue;
            }
            const bool made_for_it =
                live["metadata"]["labels"][api::job_set_name_label].as_string() == job.meta.name;
            if (!kept || !made_for_it ||
                !(had_one || runtime::is_contained(std::as_const(each)["spec"], live["spec"])))
                continue;
            if (volume_of(live) != volume_of(each) && !is_bound(live))
                made.refusal = lifecycle::rejection(
                    described(key) + " names volume \"" + std::string(volume_of(live)) +
                    "\" and is not bound to it: wait until it is, or delete it, and JobSet "
                    "makes a new one");
            each["spec"] = live["spec"];
        }
    }
    if (made.going) made.going->besides = co_await obstacle_of_service(server, job, made.job_set);
    co_return made;
}

kube::Async<std::string> lost_volume(kube::ApiServer& server, const Json& built, const Json& live) {
    const api::ObjectKey job_set = api::parse_meta(live).key();
    const Json& as_built = built["spec"]["volumeClaimPolicies"];
    const Json& policies = live["spec"]["volumeClaimPolicies"];
    for (std::size_t i = 0; i < policies.items().size(); ++i) {
        const Json& templates = policies[i]["templates"];
        for (std::size_t k = 0; k < templates.items().size(); ++k) {
            const Json& each = templates[k];
            const std::string volume(volume_of(each));
            if (!api::retains_claims(policies[i]) || volume.empty() ||
                volume == volume_of(as_built[i]["templates"][k]))
                continue;
            const api::ObjectKey key = claim_key(each, job_set);
            const auto claim = co_await read(server, kube::resources::volume_claims, key);
            if (!claim) co_return claim.error();
            if (*claim && is_bound(**claim)) continue;
            co_return "it names volume \"" + volume + "\", and " + described(key) +
                (*claim ? " is not bound to it" : " is gone");
        }
    }
    co_return std::string();
}

}  // namespace controller
