#include "api/run_policy.hpp"

#include <algorithm>

namespace api {
namespace {

constexpr std::string_view ttl = "ttlSecondsAfterFinished";
constexpr std::string_view max_ttl = "maxTtlSecondsAfterFinished";
constexpr std::string_view deadline = "activeDeadlineSeconds";
constexpr std::string_view max_deadline = "maxActiveDeadlineSeconds";

std::optional<std::int64_t> at_least(std::int64_t least, const Json& value) {
    const auto number = value.as_int();
    return number && *number >= least ? number : std::nullopt;
}

}  // namespace

RunPolicy parse_run_policy(const Json& policy) {
    return {.ttl_seconds_after_finished = at_least(0, policy[ttl]),
            .max_ttl_seconds_after_finished = at_least(0, policy[max_ttl]),
            .active_deadline_seconds = at_least(1, policy[deadline]),
            .max_active_deadline_seconds = at_least(1, policy[max_deadline])};
}

RunPolicy run_policy_of(const Json& runtime) {
    const Json& spec = runtime["spec"];
    RunPolicy policy = parse_run_policy(spec["runPolicy"]);
    if (!policy.ttl_seconds_after_finished) policy.ttl_seconds_after_finished = at_least(0, spec[ttl]);
    return policy;
}

TtlAppliesTo ttl_applies_to(const Json& runtime) {
    return runtime["spec"]["runPolicy"]["ttlAppliesTo"].as_string() == "All" ? TtlAppliesTo::all_jobs
                                                                             : TtlAppliesTo::new_jobs;
}

std::optional<std::int64_t> cut_ttl(std::optional<std::int64_t> seconds, const RunPolicy& policy) {
    const auto most = policy.max_ttl_seconds_after_finished;
    return seconds && most ? std::min(seconds, most) : seconds ? seconds : most;
}

Json without_run_policy(Json runtime) {
    Json* spec = runtime.find("spec");
    if (!spec) return runtime;
    spec->erase(ttl);
    spec->erase("runPolicy");
    return runtime;
}

Json to_json_tree(const RunPolicy& policy) {
    Json tree = Json::object();
    if (policy.ttl_seconds_after_finished) tree[ttl] = *policy.ttl_seconds_after_finished;
    if (policy.max_ttl_seconds_after_finished) tree[max_ttl] = *policy.max_ttl_seconds_after_finished;
    if (policy.active_deadline_seconds) tree[deadline] = *policy.active_deadline_seconds;
    if (policy.max_active_deadline_seconds) tree[max_deadline] = *policy.max_active_deadline_seconds;
    return tree;
}

}  // namespace api
