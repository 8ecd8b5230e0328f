#pragma once
#include <vector>

#include "api/json.hpp"
#include "runtime/build.hpp"
#include "schema_values.hpp"

/// What a cluster may hold of an object that a build asks to see: nothing, one as its kind's schema has it,
/// or one that is damaged: members are missing or of another type, as in kinds that keep whatever they are
/// given. Its controller is the TrainJob (whose UID is "u"), another object, or nobody. A need without a name
/// may find several objects.
std::vector<api::Json> make_observed(SchemaValues& values, const runtime::Need& need);
