#pragma once
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "admission/runtime_use.hpp"
#include "api/admission_review.hpp"
#include "api/job_set.hpp"
#include "api/object_key.hpp"
#include "api/time.hpp"
#include "runtime/gates.hpp"
#include "runtime/pipeline.hpp"
#include "runtime/validation.hpp"

namespace admission {

/// The options for reviews.
struct ReviewPolicy {
    /// Users whose clients write TrainJobs back from types that lack some of Signalbox's fields.
    std::set<std::string, std::less<>> lossy_clients = {};
    runtime::Gates gates = runtime::Gates();
    bool keeps_runtimes_in_use = false;  ///< the deletion of such a runtime is denied
};

/// Returns what the pipeline of reviews has: what is set, and what the gates turn on. Reviews depend on
/// whether there is a status server, not on its address.
runtime::Features features_of(const runtime::FeatureGates& gates, runtime::Features set = {});

/// A review as its path reads it. Nothing changes it: each verdict is on the same objects.
struct Review {
    api::AdmissionRequest request = {};
    std::string uid = {};  ///< the object's
    /// The TrainJobs of a path that reads them (Route::reads_train_job), which are not in `request` then.
    runtime::ReviewedJob job = {};
    runtime::ReviewedJob old_job = {};
};

/// The objects for one review. Those that were not needed are absent, like those that do not exist.
struct ReviewInputs {
    std::shared_ptr<const api::Json> runtime = {};
    std::shared_ptr<const runtime::ExaminedRuntime> examined = {};  ///< that of `runtime`; null: not examined
    runtime::RuntimeSuggestion suggestion = {};      ///< a similar name, if the runtime does not exist
    std::optional<api::Error> runtime_refused = {};  ///< why the runtime is unusable, with its field
    /// The key of a runtime from the watch, which may lag behind the cluster.
    std::optional<api::ObjectKey> watched = {};
    std::optional<api::JobSet> job_set = {};
    std::string_view loss_by_new_job_set = {};  ///< as of lifecycle::loss()
    std::vector<api::Json> observed = {};       ///< the objects of runtime::review_needs() that exist
    std::optional<RuntimeUse> use = {};         ///< of a runtime that is edited or deleted
    bool is_well_formed = false;                ///< as in runtime::TrainJobReview
};

/// The input of a review besides its request.
struct ReviewContext {
    const ReviewInputs& inputs;
    api::Time now;
    const runtime::Pipeline& pipeline;
    const ReviewPolicy& policy;
};

}  // namespace admission
