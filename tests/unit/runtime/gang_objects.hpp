#pragma once
#include "fixtures.hpp"
#include "runtime/plugin.hpp"

/// What the tests of gang scheduling have in common. `policy` is "coscheduling" or "volcano".

using Objects = std::vector<api::Json>;

/// Of two nodes.
api::Json gang_runtime(const char* policy);
/// The same with this Pod spec.
api::Json with_pod(const char* policy, const char* pod_spec);
/// The same with so many jobs, each with another class in this member of its Pod spec ("class-0", "class-1",
/// ...).
api::Json with_classes(const char* policy, const char* member, int count);

api::Result<runtime::Built> build_gang(const api::Json& runtime, const Objects& observed = {});
/// The PodGroup that is built.
api::Json pod_group(const api::Json& runtime, const Objects& observed = {});
/// That it is one of this version, of the TrainJob's name, and its own.
void check_group(const api::Json& group, const char* api_version);
/// What the Pods of the first job carry.
const api::Json& pod_metadata(const api::Json& job_set);
/// "cpu=2 memory=1073741824"
std::string resources_of(const api::Json& group);
/// Jobs whose Pods are in the gang.
std::string marked(const api::Json& job_set);
api::Json limit_range(const char* name, const char* limits);
