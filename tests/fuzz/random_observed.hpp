#pragma once
#include <vector>

#include "api/json.hpp"
#include "runtime/build.hpp"
#include "schema_values.hpp"

/// Returns an object that a build reads, as a cluster may have it: none, one of its kind's schema, or a
/// damaged one, with missing members or wrong types, as in kinds that store unknown fields. Its controller is
/// the TrainJob (with the UID "u"), another object, or none. A need without a name may return several
/// objects.
std::vector<api::Json> make_observed(SchemaValues& values, const runtime::Need& need);
