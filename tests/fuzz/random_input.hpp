#pragma once
#include "api/json.hpp"
#include "schema_values.hpp"

/// A TrainJob and its runtime, both such as their CRDs' schemas admit.
struct Input {
    api::Json job = {};
    api::Json runtime = {};
    api::Json older_job = {};      ///< what the job was before an update; often the same
    api::Json older_runtime = {};  ///< likewise
};

/// From the schemas of the two specs. What the schemas alone let through but hardly anybody writes (patches
/// for jobs that are not there, claims without a source, two trainers, ...) is rare, so that most inputs come
/// as far as being built, and never absent, so that each refusal is met. Some are large: up to about what an
/// API server stores, most of it in a few lists, maps or texts.
Input make_input(SchemaValues& values, const api::Json& job_schema, const api::Json& runtime_schema);
