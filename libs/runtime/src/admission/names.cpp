#include <algorithm>

#include "admission/review_case.hpp"
#include "pod_sets.hpp"

namespace runtime {
namespace {

using api::Json;

// Of a name that becomes a Pod's host name: a DNS label.
constexpr std::int64_t label = 63;
// A Pod's name ends with a hyphen and five random characters.
constexpr std::int64_t random_part = 6;

std::int64_t length(std::string_view text) { return static_cast<std::int64_t>(text.size()); }

// Of a number as it is written, with its sign.
std::int64_t digits(std::int64_t number) { return length(std::to_string(number)); }

// Of the largest index among so many; without any it is -1, as JobSet counts.
std::int64_t last_index_digits(std::int64_t count) { return digits(std::max<std::int64_t>(count, 0) - 1); }

struct Limit {
    std::int64_t characters = label;  // the Service has the name itself
    std::string because_of = "the Service";
};

// <name>-<job>-<replica>-<Pod>-<random>, by the names that JobSet checks with the largest indices.
void limit_by_job(const Json& job, const PodSet& pods, Limit& limit) {
    const std::int64_t replicas = is_known_ancestor(pods.ancestor) ? 1 : job["replicas"].int_or(1);
    std::int64_t rest = 1 + length(pods.name) + 1 + last_index_digits(replicas);
    const bool indexed = job["template"]["spec"]["completionMode"].as_string() != "NonIndexed";
    if (indexed) rest += 1 + last_index_digits(pods.count) + random_part;
    if (label - rest < limit.characters)
        limit = {label - rest,
                 std::string(indexed ? "the Pods" : "the Jobs") + " of job \"" + pods.name + "\""};
}

// The coordinator's host name, <name>-<job>-<replica>-<Pod>.<name>, is the value of a label.
void limit_by_coordinator(const Json& spec, Limit& limit) {
    const Json& coordinator = spec["coordinator"];
    if (!coordinator.is_object() || !spec["network"]["subdomain"].as_string().empty()) return;
    const std::int64_t rest = length(coordinator["replicatedJob"].as_string()) +
                              digits(coordinator["jobIndex"].int_or(0)) +
                              digits(coordinator["podIndex"].int_or(0)) + 4;
    if ((label - rest) / 2 < limit.characters) limit = {(label - rest) / 2, "the coordinator"};
}

void limit_by_claims(const Json& spec, Limit& limit) {
    for (const Json& policy : spec["volumeClaimPolicies"].items())
        for (const Json& claim : policy["templates"].items()) {
            const std::string_view name = claim["metadata"]["name"].as_string();
            if (const std::int64_t left = label - 1 - length(name); left < limit.characters)
                limit = {left, "volume claim \"" + std::string(name) + "\""};
        }
}

}  // namespace

void names_fit(const ReviewCase& review, api::FieldErrors& errors) {
    if (!review.is_create()) return;  // name and numNodes stay as they are
    const Json& spec = review.merged_spec;
    Limit limit;
    for (const PodSet& pods : count_pods(spec, review.runtime["spec"]["mlPolicy"],
                                         review.job.spec["trainer"]["numNodes"].as_int()))
        limit_by_job(spec["replicatedJobs"][pods.index], pods, limit);
    limit_by_coordinator(spec, limit);
    limit_by_claims(spec, limit);
    const std::string& name = review.job.meta.name;
    if (length(name) <= limit.characters) return;
    errors.push_back({api::FieldErrorType::invalid,
                      "metadata.name",
                      name,
                      limit.characters < 1
                          ? "no name is short enough for " + limit.because_of
                          : "must be at most " + std::to_string(limit.characters) +
                                " characters long: " + limit.because_of + " must have valid names",
                      {}});
}

}  // namespace runtime
