#pragma once
#include "api/json.hpp"
#include "schema_values.hpp"

/// A TrainJob and its runtime, as the schemas of their CRDs admit them.
struct Input {
    api::Json job = {};
    api::Json runtime = {};
    api::Json older_job = {};      ///< the job before an update; often the same
    api::Json older_runtime = {};  ///< likewise
};

/// Makes an input from the schemas of the two specs. Objects that the schemas admit but that are unusual
/// (patches for missing jobs, claims without a source, two trainers, ...) are rare, so that most inputs are
/// built, and never absent, so that each error occurs. Some inputs are large: up to about the size that an
/// API server stores, most of it in a few lists, maps or texts.
Input make_input(SchemaValues& values, const api::Json& job_schema, const api::Json& runtime_schema);
