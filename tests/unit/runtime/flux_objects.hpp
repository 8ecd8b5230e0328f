#pragma once
#include "fixtures.hpp"

/// The objects of a TrainJob with a Flux runtime.
struct FluxObjects {
    api::Json job_set = {};
    api::Json secret = {};
    api::Json config_map = {};
    runtime::ApplyPolicy secret_applied = runtime::ApplyPolicy::with_job_set;
    runtime::ApplyPolicy config_map_applied = runtime::ApplyPolicy::with_job_set;

    const api::Json& pod() const;        ///< spec of the job "node"
    const api::Json& node() const;       ///< its container
    const api::Json& installer() const;  ///< its init container
    std::string file(std::string_view name) const;
};

/// With a public key of 32 p and a secret key of 32 s.
api::Result<FluxObjects> build_flux(const std::vector<Change>& job, const std::vector<Change>& of_runtime);
