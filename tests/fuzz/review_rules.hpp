#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "random_input.hpp"
#include "runtime/pipeline.hpp"
#include "schema_values.hpp"

/// Checks the verdicts on every TrainJob and runtime that a schema admits, and on every change of one.
/// Returns the broken rule; empty if all hold. `admitted`: set to whether both may be created, with all
/// lookups answered.
std::string broken_review_rule(const Input& input, const runtime::Pipeline& pipeline, SchemaValues& values,
                               bool& admitted);

/// Returns whether an error names a field. `data[...]` is a field of a Secret.
bool is_path(std::string_view field);
void add_all(std::vector<api::Json>& observed, std::vector<api::Json> more);
