#pragma once
#include "api/field_error.hpp"
#include "plugins/flux/flux_files.hpp"
#include "runtime/info.hpp"

namespace runtime {

/// Where the settings of a TrainJob's Flux instance come from.
struct FluxSources {
    const api::TrainJob& job;
    const api::Json& runtime;
    const api::Json& job_set_spec;  ///< with the TrainJob's patches
    const PodSet* nodes;            ///< of the job "node"; null if there is none
    std::int64_t gpus_per_node;     ///< 0 also if that is not known
};

inline constexpr std::string_view flux_job = "node";
inline constexpr std::string_view flux_installer = "flux-installer";

/// Adds an error for each setting that Flux could not start with (`flux`); what is returned may be used if
/// there is none.
FluxSettings flux_settings(const FluxSources& sources, api::FieldErrors& errors);

}  // namespace runtime
