#pragma once
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "api/names.hpp"
#include "api/yaml.hpp"
#include "runtime/build.hpp"
#include "support/printers.hpp"

/// YAML, mostly in flow style.
api::Json tree(std::string_view yaml);

/// Returns the part of a tree at a path such as "spec.env[0].name", and creates it if it is missing. Names
/// with dots or slashes are quoted: metadata.labels."a.b/c".
api::Json& at(api::Json& tree, std::string_view path);

/// One difference from a valid object: the value (YAML) at the path; "-" removes it.
struct Change {
    const char* path;
    const char* value;
};
api::Json changed(api::Json object, const std::vector<Change>& changes);

/// A TrainJob "job" in namespace "ns" of ClusterTrainingRuntime "runtime".
api::Json train_job();
/// A runtime without policy, whose job "node" trains in the container of that name.
api::Json plain_runtime();
/// Returns the same with `mlPolicy.<framework>: {}`.
api::Json runtime_with(const char* framework);

/// Builds, and returns the JobSet.
api::Result<api::Json> build_job_set(const api::Json& job, const api::Json& runtime);

/// Returns the container "node" of the job "node" of a JobSet.
const api::Json& node_container(const api::Json& job_set);
/// Returns the same for a TrainJob with this `spec.trainer`, under `mlPolicy.<framework>` of a changed
/// runtime.
api::Json trainer_node(const char* framework, const char* trainer, const std::vector<Change>& runtime = {});
/// Returns the same for a runtime without the trainer's label.
api::Json node_without_trainer(const char* framework);
/// Returns "A=1 B=2 C=<field>": the environment of a container, in order.
std::string env_text(const api::Json& container);
