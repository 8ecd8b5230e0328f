#pragma once
#include <catch2/catch.hpp>

#include "api/yaml.hpp"
#include "merge/strategic_merge.hpp"
#include "support/printers.hpp"

/// Parses YAML in flow style, so that a table's row fits on a line.
inline api::Json tree(std::string_view yaml) {
    auto parsed = api::parse_yaml(yaml);
    if (!parsed) FAIL(parsed.error() << " in " << yaml);
    return *parsed;
}

/// Merges into the Pod spec of the only job, "node", of a JobSet, and returns that Pod spec.
inline api::Result<api::Json> merge_pod_spec(const api::Json& base, const api::Json& patch) {
    using api::Json;
    const auto job_set = [](const Json& pod_spec) {
        const Json pod = Json::object({{"spec", pod_spec}});
        const Json job = Json::object({{"spec", Json::object({{"template", pod}})}});
        return Json::object(
            {{"replicatedJobs", Json::array({Json::object({{"name", "node"}, {"template", job}})})}});
    };
    const auto merged = merge::strategic_merge(job_set(base), job_set(patch), merge::job_set_spec());
    if (!merged) return merged.error();
    return std::as_const(*merged)["replicatedJobs"][0]["template"]["spec"]["template"]["spec"];
}
