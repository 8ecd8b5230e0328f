#include <algorithm>

#include "build/pod_sets.hpp"
#include "rules/runtime_rules.hpp"
#include "rules/validation_context.hpp"

namespace runtime {
namespace {

using api::Json;

// The longest DNS label, as a Pod's host name is one.
constexpr std::int64_t label = 63;
// A Pod's name ends with a hyphen and five random characters.
constexpr std::int64_t random_part = 6;

std::int64_t length(std::string_view text) { return static_cast<std::int64_t>(text.size()); }

// Returns the number of characters of a number, with its sign.
std::int64_t digits(std::int64_t number) { return length(std::to_string(number)); }

// Returns the characters of the largest index of `count` items. Without items JobSet counts with the index
// -1.
std::int64_t last_index_digits(std::int64_t count) { return digits(std::max<std::int64_t>(count, 0) - 1); }

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
    const std::int64_t rest = length(coordinator["replicatedJob"].as_string()) +
                              digits(coordinator["jobIndex"].int_or(0)) +
                              digits(coordinator["podIndex"].int_or(0)) + 4;
    const std::int64_t subdomain = length(spec["network"]["subdomain"].as_string());
    const std::int64_t left = subdomain > 0 ? label - rest - subdomain : (label - rest) / 2;
    if (left < limit.characters) limit = {left, "the coordinator"};
}

void limit_by_claims(const Json& spec, Limit& limit) {
    for (const Json& policy : spec["volumeClaimPolicies"].items())
        for (const Json& claim : policy["templates"].items()) {
            const std::string_view name = claim["metadata"]["name"].as_string();
            if (const std::int64_t left = label - 1 - length(name); left < limit.characters)
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
    const std::int64_t of_job = 1 + length(pods.name) + 1 + last_index_digits(replicas);
    const std::int64_t of_pod = 1 + last_index_digits(pods.count) + random_part;
    return label - of_job - (has_indexed_pods(job) ? of_pod : 0);
}

}  // namespace runtime
