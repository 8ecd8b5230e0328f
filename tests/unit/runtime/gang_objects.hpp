#pragma once
#include "fixtures.hpp"
#include "runtime/plugin.hpp"

/// Shared parts of the tests of gang scheduling. `policy` is "coscheduling" or "volcano".

using Objects = std::vector<api::Json>;

/// Of two nodes.
api::Json gang_runtime(const char* policy);
/// The same with this Pod spec.
api::Json with_pod(const char* policy, const char* pod_spec);
/// Returns the same with so many jobs, each with another class in this member of its Pod spec ("class-0",
/// "class-1", ...).
api::Json with_classes(const char* policy, const char* member, int count);

api::Result<runtime::Built> build_gang(const api::Json& runtime, const Objects& observed = {});
/// Returns the PodGroup that is built.
api::Json pod_group(const api::Json& runtime, const Objects& observed = {});
/// Checks that it has this version and the TrainJob's name, and belongs to it.
void check_group(const api::Json& group, const char* api_version);
/// Returns the metadata of the Pods of the first job.
const api::Json& pod_metadata(const api::Json& job_set);
/// "cpu=2 memory=1073741824"
std::string resources_of(const api::Json& group);
/// Returns the jobs whose Pods are in the gang.
std::string marked(const api::Json& job_set);
api::Json limit_range(const char* name, const char* limits);
