#pragma once
#include "api/field_error.hpp"
#include "plugins/flux/flux_files.hpp"
#include "runtime/info.hpp"

namespace runtime {

/// The sources of the settings of a TrainJob's Flux instance.
struct FluxSources {
    const api::TrainJob& job;
    const api::Json& runtime;
    const api::Json& job_set_spec;  ///< with the TrainJob's patches
    const PodSet* nodes;            ///< of the job "node"; null if there is none
    std::int64_t gpus_per_node;     ///< 0 if it is unknown
};

inline constexpr std::string_view flux_job = "node";
inline constexpr std::string_view flux_installer = "flux-installer";

/// Returns the settings. Adds an error (`flux`) for each one with which Flux could not start; the result is
/// valid only without errors.
FluxSettings flux_settings(const FluxSources& sources, api::FieldErrors& errors);

}  // namespace runtime
