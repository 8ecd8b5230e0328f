#pragma once
#include "api/json.hpp"
#include "scenarios.hpp"

/// The actions, changes and checks of which scenarios are made.
namespace model {

using api::Json;
using kube::resources::job_sets;
using kube::resources::train_jobs;
using Action = std::function<void(World&)>;
/// Changes a TrainJob or a runtime before it is created, or is a merge patch of it afterwards.
using Tweak = std::function<void(Json& object)>;

/// Every scenario has one TrainJob and one runtime.
inline const api::ObjectKey the_job = {"ns", "job"};

Action make_runtime(Tweak tweak = {});
Action change_runtime(const std::string& merge_patch);
Action remove_runtime();
Tweak nodes(int count);
Tweak ttl(int seconds);
/// A runtime's `spec.runPolicy`.
Tweak run_policy(const std::string& policy);
Tweak volume_claims(const char* when_deleted = "Delete");
/// A job that must complete before the trainer starts.
Tweak initializer();
/// A failure policy of the template: JobSet itself starts the job again.
Tweak own_restarts(int most);
/// Another replicated job, whose Pods run for ever.
Tweak companion();
/// A failure policy with a rule to which JobSet's webhook gives a name.
Tweak nameless_rule();

Action make_job(Tweak first = {}, Tweak second = {}, Tweak third = {});
Action change_job(const std::string& merge_patch);
Action change_job(Tweak patch);
Action remove_job(const char* propagation);
Tweak set(const char* member, const std::string& value);

/// Labels for the pods: how long they run, in seconds or "never", and how they end: "failed"; "failed-once"
/// and "evicted-once" by the first attempt of the TrainJob; "refused" by the first node.
std::string pods_that(const std::string& seconds, const std::string& outcome = "");
/// The job's runtime patches: labels, further labels, a nodeSelector.
Tweak with(const std::string& labels, const std::string& more_labels = "",
           const std::string& node_selector = "");
/// The job's runtime patch: labels, and an affinity for a zone, which JobSet refuses to change.
Tweak with_affinity(const std::string& labels, const std::string& zone);
/// The job's runtime patch: a claim of devices that its container uses, and a value that Go clients do not
/// write.
Tweak with_claims();
Tweak label(const std::string& name, const std::string& value);
/// Kueue's write of the TrainJob with its types: its own patch, empty or filled, and `suspend`.
Action kueue_writes(const std::string& node_selector, bool suspend);

Action make_foreign_job_set();
Action make_foreign_snapshot();
/// From now on, a tenant replaces each snapshot of the job soon after it was stored: with the same owner, and
/// another image, another number of nodes and the network of the host.
Action forge_snapshots();
Action change_job_set(const std::string& merge_patch);
Action remove_job_set(const char* propagation);
/// Creates a JobSet like a reconciler with an old view.
Action make_late_job_set();
/// Applies a JobSet like Kubeflow Trainer's controller manager: with the field manager of Signalbox, without
/// Signalbox's annotations, and without a snapshot. The second time, it changes. A field that must not change
/// is not as Signalbox builds it.
Action apply_original_job_set(Tweak tweak = {});
/// The same field as Signalbox builds it.
Tweak built_alike();
/// An initializer like initializer(), in the original's JobSet.
Tweak initialized();
/// Writes the job's conditions like Kubeflow Trainer.
Action set_conditions(const std::string& conditions);
/// Writes a merge patch of the job's status.
Action set_status(const std::string& status);
/// Writes, as MultiKueue does, that the job has completed now.
Action complete_elsewhere();
/// Adds another controller's finalizer to the job's object of that kind.
Action hold(const kube::Resource& resource);
Action release(const kube::Resource& resource);
/// Does the same for another object.
Action hold(const kube::Resource& resource, api::ObjectKey key);
Action release(const kube::Resource& resource, api::ObjectKey key);
/// Creates any object as another user.
Action make(const kube::Resource& resource, const std::string& object);
Action change(const kube::Resource& resource, api::ObjectKey key, const std::string& merge_patch);
Action remove(const kube::Resource& resource, api::ObjectKey key, const char* propagation);
/// Makes the API server reject creates of objects of that kind with this error.
Action limit(const char* kind, const char* refusal);
Action limit_nothing();
inline const char* const quota =
    "exceeded quota: few, requested: count/jobsets.jobset.x-k8s.io=1, used: "
    "count/jobsets.jobset.x-k8s.io=1, limited: count/jobsets.jobset.x-k8s.io=0";
/// The same for JobSets while there are as many as that.
Action limit_job_sets(std::size_t count);
inline const char* const no_permission =
    R"(User "system:serviceaccount:x:y" cannot create resource in the namespace "ns")";
/// Makes the API server fail all writes of reconcilers, or all their reads or deletions of a resource.
Action fail_writes(const char* text);
Action fail_reads(const char* resource, const char* text);
Action fail_deletions(const char* resource);
/// Makes all creates of objects of that kind fail, like a webhook that does not answer.
Action fail_webhook_of(const char* kind);
Action fail_nothing();
/// Answers creates of JobSets with a timeout; the first of them is stored all the same, at that time.
Action delay_job_set(std::chrono::seconds until);
Action refuse_parallelism_over(int count);
/// Refuses JobSets whose Pods have this image.
Action refuse_image(const std::string& image);
/// Makes a policy of the cluster change JobSets, or objects of another kind, at their creation.
Action change_new_job_sets(Tweak tweak);
Action change_new(const char* kind, Tweak tweak);
/// Adds this label to the Pods of a Job.
Tweak pod_label(const std::string& name, const std::string& value);
/// Replaces the image, like a mirror, and removes Signalbox's annotations.
Tweak other_image();
Tweak no_annotations();
/// Tells the invariants that failed Pods cannot be listed for long.
Action expect_no_pods();
/// Tells the invariants that such a webhook is there: a JobSet does not say what it was built from.
Action expect_no_notes();
/// From now on, JobSet's controller lags behind by that.
Action slow_job_set_controller(std::chrono::milliseconds lag);
Action end_namespace();
/// Checks that the job has no condition yet, but of a server that does not answer because something else has
/// failed.
Action expect_no_condition();
/// Checks that the last condition has that reason, unless something else has failed.
Action expect_reason(const char* reason);
/// Checks that a JobSet exists, if one has ever been created.
Action expect_job_set();

/// Runs `act` as soon as the job is reported suspended and without active Pods, like Kueue; then `next`.
Action once_suspended(Action act, std::chrono::milliseconds pause = {}, Action next = {});
Action both(Action first, Action second);
Tweak both(Tweak first, Tweak second);

using Check = std::function<std::string(const World&)>;
Check job_set_has(const char* member_of_job_spec, Json value);
Check pods_have(Json labels, Json node_selector);
/// Checks for the claim of with_claims(), and a container that uses it.
Check pods_claim_devices();
/// Skips the check if the suspension was over before a reconciler saw it, since it changes nothing then.
Check unless_never_changed(Check check);
Check image_is(const std::string& image);
/// Checks the affinity of the Pods: that of with_affinity().
Check affinity_is(const std::string& zone);
/// The check, if there is a JobSet.
Check where_made(Check check);
/// Checks that the JobSet, if there is one, has the image of its TrainJob.
Check runs_as_it_says();
/// Checks that `Created` was never False.
Check never_refused();
/// Checks that there were at most that many JobSets.
Check made_at_most(int count);
/// Checks that no JobSet was ever deleted.
Check same_job_set();
/// Checks that the field manager owns the applied fields of the spec, and no defaults of JobSet's webhook.
Check owns_no_defaults();
/// Checks that Jobs were deleted only together with their Pods.
Check jobs_went_with_their_pods();
/// Checks the restarts in the status: all of them, and those that count, "2,1".
Check restarted(const char* want);
/// Checks that the status has all restarts of all JobSets, and all attempts that have failed.
Check counts_all_restarts();
/// Checks that its Pods run elsewhere, and that its JobSet notes that.
Check avoids(const std::string& node);
/// Checks that each failure in the status names its Pod.
Check tells_of_pods();
/// Checks that the claim of volume_claims() has never been deleted.
Check keeps_claim();
/// Checks that at most that many Jobs were deleted.
Check jobs_deleted_at_most(int count);
/// Checks that the initializer has run once, and exists.
Check initialized_once();
/// Returns the first failure.
Check all_of(std::vector<Check> checks);
/// Checks that its JobSet has as many pods as the runtime in its snapshot.
Check runs_as_its_snapshot();
/// Checks that the JobSet was created by that time.
Check made_by(std::chrono::seconds after_start);

}  // namespace model
