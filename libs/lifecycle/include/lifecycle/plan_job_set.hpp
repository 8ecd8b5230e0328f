#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "api/error.hpp"
#include "api/json.hpp"
#include "api/train_job.hpp"
#include "lifecycle/event.hpp"
#include "lifecycle/outcome.hpp"

namespace lifecycle {

/// What becomes of a suspended JobSet that is to be as its TrainJob and its runtime say now.
/// docs/design/lifecycle.md#what-a-suspended-jobset-takes has the table.
struct JobSetPlan {
    enum class Step {
        keep,          ///< it is as it should be
        apply,         ///< `wanted`
        replace_jobs,  ///< first its Jobs lose what was withdrawn (withdrawal.hpp), then apply `wanted`
        wait,          ///< until no Pod is active: then plan again
        recreate,      ///< delete it; the next reconcile builds it anew
        refuse,        ///< with `error`
        needs_live     ///< what comes next cannot be undone: plan again on a live view
    };

    Step step = Step::keep;
    api::Json wanted = {};           ///< of `apply` and `replace_jobs`
    api::Json noting = {};           ///< of `replace_jobs`: `wanted` with the note, to be applied before it
    bool keeps_template = false;     ///< `wanted` has the immutable fields of the live JobSet
    std::string withdrawn = {};      ///< of `replace_jobs`: "... was withdrawn"
    api::Error error = {};           ///< of `wait`, `recreate` and `refuse`: why an apply does not suffice
    std::vector<Event> events = {};  ///< sent when the JobSet is written
    std::optional<JobSetKept> kept = {};  ///< `wanted` is the JobSet as it was built, since a new one would
                                          ///< lose something
};

/// What a plan depends on beside the two JobSets.
struct PlanFacts {
    bool is_latest = false;        ///< the JobSet was read from the API server in this reconcile
    bool is_queued = false;        ///< it is_in_own_queue() now or as it is built
    std::string lost_volume = {};  ///< why a claim that the JobSet names cannot be had; empty: none is lost
};

/// Plans the change. `as_built`: the JobSet as its TrainJob and runtime say now, with its hash. `live`: the
/// suspended JobSet of the TrainJob, with its managedFields. Pure, and linear in their size.
///
/// No difference is an error. If a new JobSet would lose finished Jobs or volume claims, the JobSet stays as
/// it was built, and takes what it may.
JobSetPlan plan_job_set(const api::Json& as_built, const api::Json& live, const PlanFacts& facts);

/// Plans again after the API server has refused to apply `plan.wanted`.
JobSetPlan plan_after_refusal(const JobSetPlan& plan, const api::Json& as_built, const api::Json& live,
                              const PlanFacts& facts, api::Error refusal);

/// Returns whether a resume only has to set `spec.suspend`: the JobSet was built from what the TrainJob and
/// its runtime say, nothing of it was withdrawn, and the build makes no other object that may be missing.
/// `digest`: of the runtime that the TrainJob began with.
bool resumes_as_it_is(const api::Json& live, const api::TrainJob& job, std::string_view digest);

/// Returns the JobSet with a note of its `spec.suspend`: see is_left_to_queue().
api::Json with_written_suspend(api::Json job_set);

}  // namespace lifecycle
