#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "api/train_job.hpp"
#include "runtime/build.hpp"

/// One directory of tests/data/build (see its README.md).
struct BuildCase {
    std::filesystem::path folder = {};
    std::string name = {};
    api::Json train_job = {};  ///< the whole object
    api::TrainJob job = {};    ///< the same, as building reads it
    std::optional<api::Json> runtime = {};
    std::vector<api::Json> existing = {};
    runtime::Features features = {};  ///< what its configuration turns on
    api::Json want = {};              ///< null if it is not written yet
};

/// In the order of their names.
const std::vector<BuildCase>& all_build_cases();

/// "Kind/name"
std::string key_of(const api::Json& object);

/// Whether want.json tells what building makes of the case. Of the others a pass ends before it builds, or
/// because of an object that is not the TrainJob's.
bool decided_by_building(const BuildCase& c);

/// Snapshot ConfigMap and objects that a first pass over the case writes, as `objects` of want.json.
api::Result<api::Json> built_objects(const BuildCase& c);

/// In the order of want.json, in which golden_object() has each.
api::Json golden_objects(std::vector<api::Json> objects);
