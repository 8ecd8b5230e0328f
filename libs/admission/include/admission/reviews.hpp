#pragma once
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "api/admission_review.hpp"
#include "api/job_set.hpp"
#include "api/object_key.hpp"
#include "api/time.hpp"
#include "runtime/gates.hpp"
#include "runtime/pipeline.hpp"
#include "runtime/validation.hpp"

namespace admission {

/// What the options say about reviews.
struct ReviewPolicy {
    /// Users whose clients write TrainJobs back by types that lack some of our fields.
    std::set<std::string, std::less<>> lossy_clients = {};
    runtime::KueueTypes kueue_types = runtime::KueueTypes::v2_2;
    runtime::Gates gates = runtime::Gates();
};

/// What the feature gates turn on. Of the status server only that there is one: reviews need no more.
runtime::Features features_of(const runtime::FeatureGates& gates);

/// What was found in the cluster for one review; what was not asked for is absent, like what does not exist.
struct ReviewInputs {
    std::shared_ptr<const api::Json> runtime = {};
    runtime::RuntimeSuggestion suggestion = {};  ///< of what may be meant, where the runtime does not exist
    std::optional<api::Error> runtime_refused = {};  ///< why nothing can be judged by it, with its field
    /// The runtime's key if it comes from the watch, which may lag behind the cluster.
    std::optional<api::ObjectKey> watched = {};
    std::optional<api::JobSet> job_set = {};
    std::string_view loss_by_new_job_set = {};  ///< as of lifecycle::loss()
    std::vector<api::Json> observed = {};       ///< those of runtime::review_needs() that exist
    runtime::QueuedJobs queued = {};
};

/// What a review is judged by, besides its request.
struct ReviewContext {
    const ReviewInputs& inputs;
    api::Time now;
    const runtime::Pipeline& pipeline;
    const ReviewPolicy& policy;
};

/// What has to be found before validate_train_job() can judge.
runtime::RequiredInputs lookups_of_train_job(const api::AdmissionRequest& request);

/// The same of validate_runtime().
runtime::RequiredInputs lookups_of_runtime(const api::AdmissionRequest& request);

// The handlers of the routes: pure, for CREATE and UPDATE of the route's kind, with objects of any shape.
// They may take the objects out of the request.

api::Verdict default_train_job(api::AdmissionRequest& request, const ReviewContext& with);
api::Verdict validate_train_job(api::AdmissionRequest& request, const ReviewContext& with);
/// Either kind of runtime. Of a deletion, it warns.
api::Verdict validate_runtime(api::AdmissionRequest& request, const ReviewContext& with);

}  // namespace admission
