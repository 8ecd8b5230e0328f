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
    api::TrainJob job = {};    ///< the same, as build() reads it
    std::optional<api::Json> runtime = {};
    std::vector<api::Json> existing = {};
    runtime::Features features = {};  ///< the features that its configuration turns on
    api::Json want = {};              ///< null if it is not written yet
};

/// Returns the cases in the order of their names.
const std::vector<BuildCase>& all_build_cases();

/// "Kind/name"
std::string key_of(const api::Json& object);

/// Returns whether want.json has what build() makes of the case. In other cases a reconcile ends before it
/// builds, or because an object does not belong to the TrainJob.
bool decided_by_building(const BuildCase& c);

/// Returns the snapshot ConfigMap and the objects that a first reconcile of the case writes, as `objects` of
/// want.json.
api::Result<api::Json> built_objects(const BuildCase& c);

/// Returns the objects in the order of want.json, in which golden_object() has each.
api::Json golden_objects(std::vector<api::Json> objects);
