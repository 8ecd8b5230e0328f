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

/// The place of a tree that a path such as "spec.env[0].name" leads to; made where there is none. Members
/// whose name has dots or slashes are quoted: metadata.labels."a.b/c".
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
/// The same with `mlPolicy.<framework>: {}`.
api::Json runtime_with(const char* framework);

/// Builds, and gives the JobSet.
api::Result<api::Json> build_job_set(const api::Json& job, const api::Json& runtime);

/// Of a JobSet: the container "node" of the job "node".
const api::Json& node_container(const api::Json& job_set);
/// The same of a TrainJob with this `spec.trainer`, under `mlPolicy.<framework>` of a runtime with some
/// changes.
api::Json trainer_node(const char* framework, const char* trainer, const std::vector<Change>& runtime = {});
/// The same where no job has the trainer's label.
api::Json node_without_trainer(const char* framework);
/// "A=1 B=2 C=<field>": the environment of a container, in order.
std::string env_text(const api::Json& container);
