#pragma once
#include <string>
#include <string_view>

#include "api/json.hpp"
#include "api/names.hpp"

/// Access to the jobs of a runtime, and their paths in errors.
namespace runtime {

/// Returns the path of a job as users write it: "spec.template.spec.replicatedJobs[0]".
inline std::string replicated_job_path(std::size_t index) {
    return "spec.template.spec.replicatedJobs[" + std::to_string(index) + "]";
}

/// Returns the path of the result of pod_spec_of().
inline std::string pod_spec_path(std::size_t index) {
    return replicated_job_path(index) + ".template.spec.template.spec";
}

inline const api::Json& jobs_of(const api::Json& runtime) {
    return runtime["spec"]["template"]["spec"]["replicatedJobs"];
}

inline const api::Json& pod_spec_of(const api::Json& replicated_job) {
    return replicated_job["template"]["spec"]["template"]["spec"];
}

/// Returns the step of a TrainJob that a replicated job runs, by its label; empty if it has none.
inline std::string_view ancestor_of(const api::Json& replicated_job) {
    return replicated_job["template"]["metadata"]["labels"][api::ancestor_label].as_string();
}

/// Returns whether a step fetches a data set or a model.
inline bool is_initializer(std::string_view ancestor) {
    return ancestor == api::ancestor_dataset_initializer || ancestor == api::ancestor_model_initializer;
}

/// Returns the beginning of a long name, which says enough in errors and warnings about many items.
inline std::string shortened(std::string_view name) {
    constexpr std::size_t enough = 63;
    return name.size() <= enough ? std::string(name) : std::string(name.substr(0, enough - 3)) + "...";
}

}  // namespace runtime
