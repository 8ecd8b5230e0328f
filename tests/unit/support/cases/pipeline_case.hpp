#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/train_job.hpp"
#include "runtime/build.hpp"

/// One directory of tests/data/build: what exists, and what the original makes of it (README.md there).
struct PipelineCase {
    std::string name = {};
    api::Json train_job = {};  ///< the whole object
    api::TrainJob job = {};    ///< the same, as building reads it
    std::optional<api::Json> runtime = {};
    std::vector<api::Json> existing = {};
    runtime::Features features = {};  ///< what its configuration turns on
    api::Json want = {};
};

/// "Kind/name"
std::string key_of(const api::Json& object);

/// In the order of their names.
const std::vector<PipelineCase>& all_pipeline_cases();

/// The runtime that the case is built from: its snapshot, or the live one.
api::Result<api::Json> runtime_of(const PipelineCase& c);

/// Snapshot ConfigMap and objects that a first pass over the case applies, by key_of().
api::Result<std::map<std::string, api::Json>> built_objects(const PipelineCase& c);

/// As the rules of comparison want it: nothing empty (but an emptyDir), quantities in one form, without what
/// they say to ignore.
api::Json comparable(const api::Json& tree);
/// Of a snapshot ConfigMap: the runtime in it as a tree, without what the server has set.
api::Json comparable_snapshot(const api::Json& config_map);
