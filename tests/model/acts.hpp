#pragma once
#include "api/json.hpp"
#include "scenarios.hpp"

/// The words of which scenarios are made.
namespace faults {

using api::Json;
using kube::resources::job_sets;
using kube::resources::train_jobs;
using Act = std::function<void(World&)>;
/// A change of a TrainJob or a runtime before it is created, or a merge patch afterwards.
using Tweak = std::function<void(Json& object)>;

/// Of every scenario there is one TrainJob, and one runtime.
inline const api::ObjectKey the_job = {"ns", "job"};

Act make_runtime(Tweak tweak = {});
Act change_runtime(const std::string& merge_patch);
Act remove_runtime();
Tweak nodes(int count);
Tweak ttl(int seconds);
Tweak volume_claims(const char* when_deleted = "Delete");
/// A job that has to end before the one that trains.
Tweak initializer();
/// A failure policy with a rule that JobSet's webhook names.
Tweak nameless_rule();

Act make_job(Tweak first = {}, Tweak second = {}, Tweak third = {});
Act change_job(const std::string& merge_patch);
Act change_job(Tweak patch);
Act remove_job(const char* propagation);
Tweak set(const char* member, const std::string& value);

/// Labels for the pods that say how long they run, in seconds or "never", and how they end.
std::string pods_that(const std::string& seconds, const std::string& outcome = "");
/// The job's runtime patches: labels, further labels, a nodeSelector.
Tweak with(const std::string& labels, const std::string& more_labels = "",
           const std::string& node_selector = "");
/// Of the job's runtime patch: a claim of devices that its container uses, and a value that Go does not
/// write.
Tweak with_claims();
Tweak label(const std::string& name, const std::string& value);
/// Kueue's write of the TrainJob as its types have it: its own patch, empty or filled, and `suspend`.
Act kueue_writes(const std::string& node_selector, bool suspend);

Act make_foreign_job_set();
Act make_foreign_snapshot();
Act change_job_set(const std::string& merge_patch);
Act remove_job_set(const char* propagation);
/// As a reconciler would that has not noticed anything.
Act make_late_job_set();
/// As the controller manager of Kubeflow Trainer leaves it: applied under the name that we use as well,
/// without our annotations, and there is no snapshot. The second time, it changes.
Act apply_original_job_set(Tweak tweak = {});
/// The job's conditions as that one writes them.
Act set_conditions(const std::string& conditions);
/// A finalizer of somebody else on the job's object of that kind.
Act hold(const kube::Resource& resource);
Act release(const kube::Resource& resource);
/// The same of another object.
Act hold(const kube::Resource& resource, api::ObjectKey key);
Act release(const kube::Resource& resource, api::ObjectKey key);
/// Any object, by somebody else.
Act make(const kube::Resource& resource, const std::string& object);
Act change(const kube::Resource& resource, api::ObjectKey key, const std::string& merge_patch);
Act remove(const kube::Resource& resource, api::ObjectKey key, const char* propagation);
/// What the API server says to whoever creates an object of that kind.
Act limit(const char* kind, const char* refusal);
Act limit_nothing();
inline const char* const quota = "exceeded quota: few, requested: 1, used: 0, limited: 0";
inline const char* const no_permission =
    R"(User "system:serviceaccount:x:y" cannot create resource in the namespace "ns")";
Act refuse_parallelism_over(int count);
/// A policy of the cluster changes JobSets, or objects of another kind, as they are created.
Act change_new_job_sets(Tweak tweak);
Act change_new(const char* kind, Tweak tweak);
/// Pods of a Job have this label.
Tweak pod_label(const std::string& name, const std::string& value);
/// Another image, as from a mirror; and what tells that it is ours goes.
Tweak other_image();
Tweak no_annotations();
Act end_namespace();
/// By now, nothing is worth telling of the job.
Act expect_no_condition();
/// If one has ever been made.
Act expect_job_set();

/// `act` as soon as the job says that it is suspended and nothing of it is active, as Kueue waits; `next`
/// after that.
Act once_suspended(Act act, std::chrono::milliseconds pause = {}, Act next = {});
Act both(Act first, Act second);
Tweak both(Tweak first, Tweak second);

using Check = std::function<std::string(const World&)>;
/// The first that is not fulfilled.
Check both(Check first, Check second);
Check job_set_has(const char* member_of_job_spec, Json value);
Check pods_have(Json labels, Json node_selector);
/// The claim of with_claims(), and a container that uses it.
Check pods_claim_devices();
/// For what a suspension is to change: one that was over before anybody looked has changed nothing.
Check unless_never_changed(Check check);
Check image_is(const std::string& image);
/// `Created` was never False.
Check never_refused();
/// There were not more JobSets than that.
Check made_at_most(int count);
/// No JobSet was ever deleted.
Check same_job_set();
/// Of its spec we own what we have applied, and nothing that JobSet's webhook has filled in.
Check owns_no_defaults();
/// No Job was deleted but with its Pods.
Check jobs_went_with_their_pods();
/// No more Jobs were deleted than that.
Check jobs_deleted_at_most(int count);
/// Its initializer has run once, and is there.
Check initialized_once();
Check all_of(std::vector<Check> checks);
/// Its JobSet has as many pods as the runtime in its snapshot says.
Check runs_as_its_snapshot();
/// The JobSet was made not later than that.
Check made_by(std::chrono::seconds after_start);

}  // namespace faults
