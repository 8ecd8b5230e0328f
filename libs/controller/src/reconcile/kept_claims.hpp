#pragma once
#include <optional>
#include <string>

#include "kube/client/api_server.hpp"
#include "lifecycle/observed.hpp"
#include "lifecycle/outcome.hpp"

namespace controller {

/// A JobSet to be created, adapted to the volume claims that exist.
struct ClaimedJobSet {
    api::Json job_set = {};
    /// The claims of an earlier JobSet that are being deleted, or will be: wait until they are gone. With
    /// whatever else will stand in the way, so that users learn of all at once.
    std::optional<lifecycle::WaitingForDeletion> going = {};
    /// Why there can be no JobSet: a claim names a volume that it does not have.
    std::optional<api::Error> refusal = {};
};

/// Returns `job_set` with the specs of claims that an earlier JobSet of this job has left: JobSet takes an
/// existing claim only if it is the same. A claim of another size, or of another owner, is left for JobSet to
/// refuse. References must live until the coroutine ends.
kube::Async<ClaimedJobSet> with_kept_claims(kube::ApiServer& server, const api::TrainJob& job,
                                            api::Json job_set);

/// Returns why the JobSet `live` can have no claim: it names the volume of a claim that is gone, or that was
/// never bound to it. "" if it can. `built`: as it is built, without that volume.
kube::Async<std::string> lost_volume(kube::ApiServer& server, const api::Json& built, const api::Json& live);

}  // namespace controller
