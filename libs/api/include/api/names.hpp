#pragma once
#include <string_view>

/// Names in the API that other programs use too, and the annotations for later reconciles. Source: the
/// API of Kubeflow Trainer v2.3, JobSet 0.12.

namespace api {

inline constexpr std::string_view trainer_group = "trainer.kubeflow.org";
inline constexpr std::string_view trainer_version = "v1alpha1";
inline constexpr std::string_view trainer_api_version = "trainer.kubeflow.org/v1alpha1";
inline constexpr std::string_view job_set_api_version = "jobset.x-k8s.io/v1alpha2";

inline constexpr std::string_view train_job_kind = "TrainJob";
inline constexpr std::string_view training_runtime_kind = "TrainingRuntime";
inline constexpr std::string_view cluster_training_runtime_kind = "ClusterTrainingRuntime";

/// The value of `spec.managedBy` of TrainJobs for this controller.
inline constexpr std::string_view managed_by_this_controller = "trainer.kubeflow.org/trainjob-controller";
/// The same of those whose status MultiKueue copies from a worker cluster.
inline constexpr std::string_view managed_by_multikueue = "kueue.x-k8s.io/multikueue";
/// The field manager of all applies of this controller. It is the original's, so that fields which the
/// original applied are removed when this controller stops sending them.
inline constexpr std::string_view field_manager = "trainer";

/// Label of a Job template: the step of the TrainJob that it runs.
inline constexpr std::string_view ancestor_label = "trainer.kubeflow.org/trainjob-ancestor-step";
inline constexpr std::string_view ancestor_trainer = "trainer";
inline constexpr std::string_view ancestor_dataset_initializer = "dataset-initializer";
inline constexpr std::string_view ancestor_model_initializer = "model-initializer";

inline constexpr std::string_view applied_hash_annotation = "trainer.kubeflow.org/applied-hash";
/// An annotation of a JobSet that another controller created, and that applies had suspended before this
/// controller took it over. Such a JobSet may have run. The annotation stays as long as the other
/// controller's template does, since its Pods need its objects.
inline constexpr std::string_view taken_over_annotation = "trainer.kubeflow.org/taken-over";
/// An annotation of a JobSet: the restarts of the TrainJob's earlier JobSets, all and those that count
/// ("3,1"). Absent if there were none.
inline constexpr std::string_view restarts_before_annotation = "trainer.kubeflow.org/restarts-before";
/// An annotation of a JobSet whose failure Signalbox judges: the number of the attempt, which is that of all
/// restarts before it.
inline constexpr std::string_view attempt_annotation = "trainer.kubeflow.org/attempt";
/// An annotation of such a JobSet: the nodes that its Pods avoid, "gpu-17,gpu-3".
inline constexpr std::string_view excluded_nodes_annotation = "trainer.kubeflow.org/excluded-nodes";
/// An annotation of such a JobSet: the replicated jobs that it lacks, since they have succeeded in an earlier
/// attempt, "dataset-initializer,model-initializer".
inline constexpr std::string_view finished_jobs_annotation = "trainer.kubeflow.org/finished-jobs";
inline constexpr std::string_view support_label = "trainer.kubeflow.org/support";
/// The finalizer that older controllers left on runtimes. It is only removed.
inline constexpr std::string_view legacy_runtime_finalizer = "trainer.kubeflow.org/resource-in-use";

/// An annotation of a suspended JobSet that may still have Jobs made from a withdrawn template; see
/// lifecycle/withdrawal.hpp.
inline constexpr std::string_view withdrawn_annotation = "trainer.kubeflow.org/withdrawn";
/// Besides it: how often Jobs were made again for that reason, and the creation of the newest of those
/// ("2/<time>").
inline constexpr std::string_view replacements_annotation = "trainer.kubeflow.org/replacements";
/// An annotation of the snapshot of a runtime: how often the JobSet was created again for a generation of its
/// TrainJob.
inline constexpr std::string_view recreations_annotation = "trainer.kubeflow.org/recreations";
/// An annotation of a JobSet that is in a queue of Kueue by a label of its own: the `spec.suspend` of its
/// TrainJob that was last written to it, "true" or "false". What Kueue does with it later is Kueue's
/// decision.
inline constexpr std::string_view written_suspend_annotation = "trainer.kubeflow.org/written-suspend";
/// An annotation of a JobSet: when its headless Service was missing, after a Service of another owner of that
/// name was gone. JobSet looks again whenever the JobSet changes.
inline constexpr std::string_view service_missing_annotation = "trainer.kubeflow.org/service-missing";

/// Labels of a Job and its Pods (JobSet 0.12): name and UID of the JobSet, and the name of the replicated
/// job.
inline constexpr std::string_view job_set_name_label = "jobset.sigs.k8s.io/jobset-name";
inline constexpr std::string_view job_set_uid_label = "jobset.sigs.k8s.io/jobset-uid";
inline constexpr std::string_view replicated_job_label = "jobset.sigs.k8s.io/replicatedjob-name";
/// A label of a Pod: its number in its Job.
inline constexpr std::string_view completion_index_label = "batch.kubernetes.io/job-completion-index";

/// The manager of the entry of `spec.runtimePatches` in which Kueue sets the placement of Pods.
inline constexpr std::string_view kueue_manager = "kueue.x-k8s.io/manager";
/// The label of objects in a queue of Kueue, with the name of the queue.
inline constexpr std::string_view queue_label = "kueue.x-k8s.io/queue-name";
/// The label of a worker cluster's copy of an object of MultiKueue's manager cluster.
inline constexpr std::string_view multikueue_label = "kueue.x-k8s.io/multikueue-origin";

/// The container that trains.
inline constexpr std::string_view node_container = "node";
inline constexpr std::string_view snapshot_suffix = "-runtime-snapshot";
inline constexpr std::string_view snapshot_data_key = "runtime";

}  // namespace api
