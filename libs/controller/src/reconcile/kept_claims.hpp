#pragma once
#include <optional>
#include <string>

#include "kube/client/api_server.hpp"
#include "lifecycle/observed.hpp"

namespace controller {

/// A JobSet that is to be created, as the volume claims allow that are there.
struct ClaimedJobSet {
    api::Json job_set = {};
    /// A claim that will be gone, of a JobSet that is gone: to be waited for.
    std::string going = {};
    /// Why there can be none: a claim names a volume that it does not have.
    std::optional<api::Error> refusal = {};
};

/// JobSet takes a claim that is there already only as what it is; so what an earlier JobSet of this job has
/// left is built in. A claim of another size, or of others, is JobSet's to refuse. References must live until
/// the coroutine ends.
kube::Async<ClaimedJobSet> with_kept_claims(kube::ApiServer& server, const api::TrainJob& job,
                                            api::Json job_set);

/// Why the JobSet `live` can have no claim, because it names the volume of one that is gone, or was never
/// bound to it; empty: it can. `ours`: as it is built, without that volume.
kube::Async<std::string> lost_volume(kube::ApiServer& server, const api::Json& ours, const api::Json& live);

}  // namespace controller
