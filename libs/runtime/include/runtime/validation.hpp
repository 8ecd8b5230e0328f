#pragma once
#include <string>
#include <vector>

#include "api/admission_review.hpp"
#include "api/field_error.hpp"
#include "api/job_set.hpp"
#include "api/json.hpp"
#include "api/time.hpp"
#include "api/train_job.hpp"
#include "api/warnings.hpp"
#include "runtime/build.hpp"
#include "runtime/examined_runtime.hpp"
#include "runtime/gates.hpp"
#include "runtime/pipeline.hpp"

/// The rules of admission. Each denial and each warning has the name of its rule, such as `patch_targets`;
/// docs/design/admission.md#the-rules lists them.
namespace runtime {

/// The errors of an object, in a fixed order, and warnings for its author.
struct ValidationResult {
    api::FieldErrors errors = {};
    api::Warnings warnings = {};

    bool operator==(const ValidationResult&) const = default;
};

/// The objects to look up before a TrainJob can be validated.
struct RequiredInputs {
    /// The runtime of `spec.runtimeRef`. On UPDATE it is the snapshot, if lifecycle::runtime_source()
    /// requires it and there is one that belongs to the job. False also if the reference is unsupported, or
    /// if `spec` has not the shape of one or is beyond its limits.
    bool runtime = false;
    bool job_set = false;          ///< the JobSet of the TrainJob's name
    bool jobs_of_runtime = false;  ///< how many TrainJobs use the runtime

    bool operator==(const RequiredInputs&) const = default;
};

/// Returns the lookups. `old_object` is null on CREATE. An UPDATE of a TrainJob that is being deleted, or
/// that changes nothing in the spec but `suspend` and its time to live, needs none: it must be allowed
/// whatever has become of the runtime.
RequiredInputs lookups_for(const api::Json& object, const api::Json& old_object);

/// Returns the further objects to read from the API server once the runtime is known, by name.
std::vector<Need> review_needs(const api::Json& runtime, const Pipeline& pipeline = default_pipeline());

/// A suggestion for the name of a runtime that does not exist.
struct RuntimeSuggestion {
    std::string kind = {};
    std::string name = {};  ///< empty: no similar name

    bool operator==(const RuntimeSuggestion&) const = default;
};

/// A TrainJob as a review has it: read once, for all verdicts on it.
struct ReviewedJob {
    ReviewedJob() = default;
    /// Null: there is none. Move the object in: the job takes its spec, and the rest is freed.
    ReviewedJob(api::Json object);

    bool exists = false;
    api::TrainJob job = {};

    static const ReviewedJob none;
};
inline const ReviewedJob ReviewedJob::none;

/// The input of a TrainJob's validation. All objects must outlive it.
struct TrainJobReview {
    const ReviewedJob& object;
    const ReviewedJob& old_object = ReviewedJob::none;  ///< none on CREATE
    const api::Json* runtime = nullptr;                 ///< nullptr: not looked up, or it does not exist
    const ExaminedRuntime* examined = nullptr;  ///< that of `runtime` and the pipeline; nullptr: not examined
    RuntimeSuggestion suggestion = {};          ///< suggested instead
    const api::JobSet* job_set = nullptr;       ///< nullptr: not looked up, or there is none
    /// The losses if a new JobSet replaced that one, in words for users: "delete its volume claims". Empty if
    /// nothing would be lost.
    std::string_view loss_by_new_job_set = {};
    /// The objects of review_needs() that exist; nullptr: not read.
    const std::vector<api::Json>* observed = nullptr;
    /// lookups_for() of these objects requires the runtime: their shape and limits are not checked again.
    bool is_well_formed = false;
    Gates gates = Gates();
    api::Time now = {};
};

/// Applies the rules of TrainJobs. If lookups_for() requires a runtime and there is none, the error is that
/// it does not exist.
ValidationResult validate_train_job(const TrainJobReview& review,
                                    const Pipeline& pipeline = default_pipeline());

/// Applies the rules of either kind of runtime. `old_object` is null on CREATE. On UPDATE only errors that
/// the old object did not have are returned.
ValidationResult validate_runtime(const api::Json& object, const api::Json& old_object,
                                  const Pipeline& pipeline = default_pipeline(),
                                  const Gates& gates = Gates());

/// The writer of an object, for the interpretation of fields that it omits.
struct Writer {
    bool is_lossy = false;  ///< writes objects back from types that lack some fields of the API
    bool corrects = false;  ///< omitted fields are removed on purpose: the stored TrainJob may be corrected
    std::string_view field_manager = {};
};

/// Names of fields that the mutating webhook restores. The last one stands for all others.
inline constexpr std::string_view restored_fields[] = {
    "trainer", "runtimePatches", "initializer", "ttlSecondsAfterFinished", "failurePolicy", "other"};

/// The changes of the mutating webhook.
struct Mutation {
    std::vector<api::Json> operations = {};  ///< RFC 6902
    /// The fields that the operations restore, by restored_fields.
    std::vector<api::RestoredField> restored = {};
};

/// Returns no operations for objects of an unexpected shape, which the schema refuses. Idempotent. The
/// operations set the time stamps of `spec.runtimePatches`, and restore what a writer lost. If the
/// initializer, the trainer or a runtime patch differs from the stored one only by values that Go's encoder
/// drops, the stored one stays. If a manifest is applied again, the patches of other managers that it never
/// had stay too.
Mutation default_train_job(const api::Json& object, const api::Json& old_object, api::Time now,
                           const Writer& writer = {});

}  // namespace runtime
