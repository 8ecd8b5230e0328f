#pragma once
#include <optional>
#include <variant>

#include "controller/reconcile/shared_objects.hpp"
#include "kube/client/api_server.hpp"
#include "lifecycle/outcome.hpp"
#include "runtime/build.hpp"
#include "runtime/pipeline.hpp"

namespace controller {

/// The state that the builds of all TrainJobs share.
struct BuildContext {
    const runtime::Pipeline& pipeline;
    SharedObjects& shared;
};

/// Why a step ended the reconcile; Done if it did not.
using StepFailure = decltype(lifecycle::Outcome::result);

/// The final result of runtime::needs(), and those of its objects that exist.
struct NeededObjects {
    runtime::Needs needs = {};
    std::vector<api::Json> observed = {};
};

/// "PodGroup ns/job", for messages.
std::string described(const api::Resource& kind, const api::ObjectKey& key);
std::string described(const runtime::Need& need);

/// Reads needed objects until runtime::needs() names no new one. The failure is ReadFailed, or ForeignObject
/// if an object that would be written has another owner. References must live until the coroutine ends.
kube::Task<std::variant<NeededObjects, StepFailure>> observe_needs(kube::ApiServer& server,
                                                                   const api::TrainJob& job,
                                                                   const api::Json& runtime,
                                                                   BuildContext build_context);

/// Returns the objects of `needs` that exist, or ReadFailed.
kube::Task<std::variant<std::vector<api::Json>, StepFailure>> read_objects(kube::ApiServer& server,
                                                                           std::vector<runtime::Need> needs,
                                                                           BuildContext build_context);

/// Returns whether objects may have to be written although the JobSet is left alone.
bool keeps_objects(const runtime::Needs& needs);

/// Makes the key pairs that are needed, and no others, and puts them into the inputs of a build.
api::Result<> make_key_material(const runtime::Needs& needs, runtime::Inputs& inputs);

}  // namespace controller
