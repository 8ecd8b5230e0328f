#include <algorithm>

#include "api/job_set_names.hpp"
#include "build/pod_sets.hpp"
#include "rules/runtime_rules.hpp"
#include "rules/validation_context.hpp"

namespace runtime {
namespace {

namespace names = api::job_set_names;
using api::Json;

// The longest DNS label, as a Pod's host name is one.
constexpr std::int64_t label = 63;
// What is left of a derived name without the name of its JobSet is what others take of its length.
constexpr std::string_view unnamed;

std::int64_t length(std::string_view text) { return static_cast<std::int64_t>(text.size()); }

// Returns the largest index of `count` items. Without items JobSet counts with the index -1.
std::int64_t last_index(std::int64_t count) { return std::max<std::int64_t>(count, 0) - 1; }

// Without indices JobSet checks the names of Jobs only.
bool has_indexed_pods(const Json& job) {
    return job["template"]["spec"]["completionMode"].as_string() != "NonIndexed";
}

struct Limit {
    std::int64_t characters = label;  // the Service has the name itself
    std::string because_of = "the Service";
};

void limit_by_job(const Json& job, const PodSet& pods, Limit& limit) {
    if (const std::int64_t longest = longest_name_for(job, pods); longest < limit.characters)
        limit = {longest, std::string(has_indexed_pods(job) ? "the Pods" : "the Jobs") + " of job \"" +
                              pods.name + "\""};
}

// The coordinator's host name, <name>-<job>-<replica>-<Pod>.<subdomain>, is the value of a label; the
// subdomain is the name once more unless it is given.
void limit_by_coordinator(const Json& spec, Limit& limit) {
    const Json& coordinator = spec["coordinator"];
    if (!coordinator.is_object()) return;
    const std::int64_t left =
        label - length(names::address(unnamed, spec, coordinator["replicatedJob"].as_string(),
                                      coordinator["jobIndex"].int_or(0), coordinator["podIndex"].int_or(0)));
    const bool has_it_twice = names::subdomain(unnamed, spec).empty();
    if (const std::int64_t each = has_it_twice ? left / 2 : left; each < limit.characters)
        limit = {each, "the coordinator"};
}

void limit_by_claims(const Json& spec, Limit& limit) {
    for (const Json& policy : spec["volumeClaimPolicies"].items())
        for (const Json& claim : policy["templates"].items()) {
            const std::string_view name = claim["metadata"]["name"].as_string();
            if (const std::int64_t left = label - length(names::claim(unnamed, name));
                left < limit.characters)
                limit = {left, "volume claim \"" + std::string(name) + "\""};
        }
}

void names_fit(const ValidationContext& review, api::FieldErrors& errors) {
    // The name stays as it is. The number of nodes may change.
    const Json& nodes = review.job.spec["trainer"]["numNodes"];
    const bool scaled = !review.is_create() && review.nodes_changed();
    const Json& spec = review.merged_spec;
    Limit limit;
    for (const PodSet& pods : count_pods(spec, review.plugins, nodes.as_int()))
        limit_by_job(spec["replicatedJobs"][pods.index], pods, limit);
    limit_by_coordinator(spec, limit);
    limit_by_claims(spec, limit);
    const std::string& name = review.job.meta.name;
    if (length(name) <= limit.characters) return;
    if (scaled) {
        errors.push_back({api::FieldErrorType::invalid,
                          "spec.trainer.numNodes",
                          nodes,
                          "the name of the TrainJob is too long for as many: " + limit.because_of +
                              " must have valid names",
                          {}});
        return;
    }
    errors.push_back({api::FieldErrorType::invalid,
                      "metadata.name",
                      name,
                      limit.characters < 1
                          ? "no name is short enough for " + limit.because_of
                          : "must be at most " + std::to_string(limit.characters) +
                                " characters long: " + limit.because_of + " must have valid names",
                      {}});
}

constexpr Check checks[] = {
    {Rule::name_length, names_fit, RuleInput::merged_template, AppliesTo::new_ones_or_new_nodes},
};

}  // namespace

constinit const std::span<const Check> name_checks = checks;

// <name>-<job>-<replica>-<Pod>-<random>, by the names that JobSet checks with the largest indices.
std::int64_t longest_name_for(const Json& job, const PodSet& pods) {
    const std::int64_t replicas = is_known_ancestor(pods.ancestor) ? 1 : job["replicas"].int_or(1);
    const std::int64_t last = last_index(replicas);
    if (!has_indexed_pods(job)) return label - length(names::job(unnamed, pods.name, last));
    return label - length(names::host(unnamed, pods.name, last, last_index(pods.count))) -
           names::random_part_of_pods;
}

}  // namespace runtime
