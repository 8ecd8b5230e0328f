#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "random_input.hpp"
#include "runtime/pipeline.hpp"
#include "schema_values.hpp"

/// What must hold of the verdicts on every TrainJob and runtime that a schema lets through, and on every
/// change of one: the rule that does not hold; empty if all do. `admitted`: whether nothing was said against
/// creating either of them, with all known that can be looked up.
std::string broken_review_rule(const Input& input, const runtime::Pipeline& pipeline, SchemaValues& values,
                               bool& admitted);

/// Whether an error says where it is. `data[...]` is of a Secret.
bool is_path(std::string_view field);
void add_all(std::vector<api::Json>& observed, std::vector<api::Json> more);
