#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "api/json.hpp"
#include "api/run_policy.hpp"
#include "api/time.hpp"
#include "api/warnings.hpp"

namespace admission {

/// A CREATE, UPDATE or DELETE of a runtime, as far as its TrainJobs are concerned.
struct RuntimeChange {
    bool is_deletion = false;
    bool is_edit = false;  ///< of more than run policy and time to live, which are no part of JobSets
    /// The policy whose times to live count for all TrainJobs from now on, and did not before.
    std::optional<api::RunPolicy> policy_of_all = {};

    bool matters() const { return is_deletion || is_edit || policy_of_all; }
};
RuntimeChange change_of_runtime(const api::Json& object, const api::Json& old_object);
/// Returns RuntimeChange::policy_of_all alone, without a look at the rest of the runtime.
std::optional<api::RunPolicy> new_policy_of_all(const api::Json& object, const api::Json& old_object);

/// How many TrainJobs refer to a runtime.
struct RuntimeUse {
    std::size_t waiting = 0;  ///< have had no JobSet: they begin with what the runtime is by then
    std::size_t begun = 0;    ///< have not ended, and go on as they began
    std::size_t queued = 0;   ///< of both, those in a queue
    std::size_t expired = 0;  ///< have ended, and are deleted now by the policy of all
    bool more = false;        ///< there may be more

    std::size_t unfinished() const { return waiting + begun; }
    bool operator==(const RuntimeUse&) const = default;
};

/// The runtime whose TrainJobs are counted.
struct UsedRuntime {
    std::string_view kind = {};
    std::string_view name = {};
    const api::RunPolicy* policy_of_all = nullptr;  ///< as in RuntimeChange
    api::Time now = {};
};

/// Adds those of a list of TrainJobs.
void add_jobs_of_runtime(const api::Json& list, const UsedRuntime& runtime, RuntimeUse& use);

/// Returns the warnings `runtime_in_use`: what the change means for these TrainJobs.
api::Warnings warnings_of(const RuntimeUse& use, const RuntimeChange& change);

/// Returns why the runtime cannot be deleted while it is in use; empty if it is not.
std::string denial_of_deletion(const RuntimeUse& use);

}  // namespace admission
