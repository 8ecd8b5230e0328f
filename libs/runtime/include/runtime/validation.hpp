#pragma once
#include <string>
#include <vector>

#include "api/admission_review.hpp"
#include "api/field_error.hpp"
#include "api/job_set.hpp"
#include "api/json.hpp"
#include "api/time.hpp"
#include "api/warnings.hpp"
#include "runtime/build.hpp"
#include "runtime/gates.hpp"
#include "runtime/kueue_types.hpp"

/// The rules of admission. Each denial and each warning carries the name of its rule, such as
/// `patch_targets`; docs/webhook-limits.md lists them.
namespace runtime {

/// All that is wrong with an object, in a fixed order, and what its author should know.
struct Findings {
    api::FieldErrors errors = {};
    api::Warnings warnings = {};

    bool operator==(const Findings&) const = default;
};

/// What has to be looked up before a TrainJob can be judged.
struct RequiredInputs {
    /// The runtime of `spec.runtimeRef`. On UPDATE the snapshot, if lifecycle::runtime_source() says so and
    /// there is one that belongs to the job. False also when the reference is unsupported.
    bool runtime = false;
    bool job_set = false;  ///< the JobSet of the TrainJob's name
    /// The runtime as it is at hand, for warnings only: nothing is asked for it.
    bool runtime_for_warnings = false;
    bool queued_jobs = false;  ///< how many TrainJobs with a queue refer to the runtime; for warnings only

    bool operator==(const RequiredInputs&) const = default;
};

/// `old_object` is null on CREATE. An UPDATE of a TrainJob that is being deleted, or whose spec stays the
/// same but for `suspend` and its time to live, needs none: it must pass whatever has become of the runtime.
/// Where it enters a queue, the runtime is of use for warnings.
RequiredInputs lookups_for(const api::Json& object, const api::Json& old_object);

/// Of a runtime: the TrainJobs that wait in queues or run out of them, where a change of it or its deletion
/// (then `object` is null) matters to Kueue.
RequiredInputs lookups_for_runtime(const api::Json& object, const api::Json& old_object);

/// How many TrainJobs with a queue, which have not ended, refer to a runtime.
struct QueuedJobs {
    std::size_t count = 0;
    bool more = false;  ///< there may be more of them

    bool operator==(const QueuedJobs&) const = default;
};
/// Adds those of a page of TrainJobs. `kind` and `name` are the runtime's.
void count_queued_jobs(const api::Json& page, std::string_view kind, std::string_view name,
                       QueuedJobs& found);
/// `queued_jobs_affected`. Empty if there is nothing to say. Null as `object`: the runtime is being deleted.
std::string warning_of_queued_jobs(const api::Json& object, const QueuedJobs& jobs);

/// What else is to be looked up once the runtime is known: by name, from the API server.
std::vector<Need> review_needs(const api::Json& runtime, const Pipeline& pipeline = default_pipeline());

/// What may be meant by the name of a runtime that does not exist.
struct RuntimeSuggestion {
    std::string kind = {};
    std::string name = {};  ///< empty: there is nothing like it

    bool operator==(const RuntimeSuggestion&) const = default;
};

/// A TrainJob under review. What was looked up must outlive it.
struct TrainJobReview {
    api::Json object = {};
    api::Json old_object = {};             ///< null on CREATE
    const api::Json* runtime = nullptr;    ///< nullptr: not asked for, or it does not exist
    RuntimeSuggestion suggestion = {};     ///< in its place
    const api::JobSet* job_set = nullptr;  ///< nullptr: not asked for, or there is none
    /// What a new JobSet in the place of that one would do, as users read it: "delete its volume claims".
    /// Empty if nothing would be lost.
    std::string_view loss_by_new_job_set = {};
    /// Those of review_needs() that exist; nullptr: they were not read.
    const std::vector<api::Json>* observed = nullptr;
    KueueTypes kueue_types = KueueTypes::v2_2;
    Gates gates = Gates();
    api::Time now = {};
};

/// Applies the rules of TrainJobs. Without a runtime where lookups_for() asks for one, the verdict is that it
/// does not exist. Move the review in: its objects are taken apart.
Findings validate_train_job(TrainJobReview review, const Pipeline& pipeline = default_pipeline());

/// Applies the rules of either kind of runtime. `old_object` is null on CREATE; on UPDATE only what the old
/// object did not already violate is reported.
Findings validate_runtime(const api::Json& object, const api::Json& old_object,
                          const Pipeline& pipeline = default_pipeline(), const Gates& gates = Gates());

/// The writer of an object, as far as it matters what a writer leaves out.
struct Writer {
    bool is_lossy = false;  ///< writes objects back by types that lack some of our fields
    bool corrects = false;  ///< what it leaves out is meant: the stored TrainJob may be corrected
    std::string_view field_manager = {};
};

/// What the mutating webhook changes.
struct Mutation {
    std::vector<api::Json> operations = {};  ///< RFC 6902
    /// Of each field that they put back, what had lost it: "typed_client" or "reapply". A field is
    /// `spec.trainer`, another one of the spec, or an entry of `spec.runtimePatches`.
    std::vector<std::string_view> restored = {};
};

/// Nothing for objects of an unexpected shape, which the schema is going to refuse. Applying the operations
/// and asking again gives nothing. They keep the time stamps of `spec.runtimePatches`, and put
/// back what a writer lost: where the initializer, the trainer or a runtime patch differs from what is stored
/// in nothing but what Go's encoder drops, what is stored stays; and so do the patches of other managers that
/// a manifest has never had when that is applied again.
Mutation default_train_job(const api::Json& object, const api::Json& old_object, api::Time now,
                           const Writer& writer = {});

}  // namespace runtime
