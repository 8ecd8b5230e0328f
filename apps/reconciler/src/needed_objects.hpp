#pragma once
#include <optional>
#include <variant>

#include "building.hpp"
#include "failure.hpp"
#include "kube/api_server.hpp"
#include "runtime/build.hpp"

namespace reconciler {

/// What runtime::needs() asked for in the end, and those of its objects that exist.
struct NeededObjects {
    runtime::Needs needs = {};
    std::vector<api::Json> observed = {};
};

/// "PodGroup ns/job", as people read it.
std::string described(const runtime::Need& need);

/// Reads until nothing new is asked for. The failure is ReadFailed, or ForeignObject for an object of ours
/// that somebody else has. References must live until the coroutine ends.
kube::Task<std::variant<NeededObjects, Failure>> observe_needs(kube::ApiServer& server,
                                                               const api::TrainJob& job,
                                                               const api::Json& runtime, Building building);

/// Those of `needs` that exist, or ReadFailed.
kube::Task<std::variant<std::vector<api::Json>, Failure>> read_objects(kube::ApiServer& server,
                                                                       std::vector<runtime::Need> needs,
                                                                       Building building);

/// Whether there is anything to write although the JobSet is left alone.
bool keeps_objects(const runtime::Needs& needs);

}  // namespace reconciler
