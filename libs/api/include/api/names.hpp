#pragma once
#include <string_view>

/// The words that other programs know us by (spec: Kubeflow Trainer v2.3's API, JobSet 0.12).
namespace api {

inline constexpr std::string_view trainer_group = "trainer.kubeflow.org";
inline constexpr std::string_view trainer_version = "v1alpha1";
inline constexpr std::string_view trainer_api_version = "trainer.kubeflow.org/v1alpha1";
inline constexpr std::string_view job_set_api_version = "jobset.x-k8s.io/v1alpha2";

inline constexpr std::string_view train_job_kind = "TrainJob";
inline constexpr std::string_view training_runtime_kind = "TrainingRuntime";
inline constexpr std::string_view cluster_training_runtime_kind = "ClusterTrainingRuntime";

/// `spec.managedBy` of the TrainJobs that are ours.
inline constexpr std::string_view managed_by_us = "trainer.kubeflow.org/trainjob-controller";
/// The same of those whose status MultiKueue copies from a worker cluster.
inline constexpr std::string_view managed_by_multikueue = "kueue.x-k8s.io/multikueue";
/// Field manager of everything we apply; the original's, so that what it applied goes away when we stop
/// sending it.
inline constexpr std::string_view field_manager = "trainer";

/// Label of a Job template: the step of the TrainJob that it runs.
inline constexpr std::string_view ancestor_label = "trainer.kubeflow.org/trainjob-ancestor-step";
inline constexpr std::string_view ancestor_trainer = "trainer";
inline constexpr std::string_view ancestor_dataset_initializer = "dataset-initializer";
inline constexpr std::string_view ancestor_model_initializer = "model-initializer";

inline constexpr std::string_view applied_hash_annotation = "trainer.kubeflow.org/applied-hash";
/// On a JobSet that another controller made, and suspended by applies before we took it over: nothing tells
/// whether it has run. It stays as long as that controller's template does, whose Pods need its objects.
inline constexpr std::string_view taken_over_annotation = "trainer.kubeflow.org/taken-over";
inline constexpr std::string_view support_label = "trainer.kubeflow.org/support";
/// Finalizer that older controllers left on runtimes; only ever removed.
inline constexpr std::string_view legacy_runtime_finalizer = "trainer.kubeflow.org/resource-in-use";

/// Whose entry of `spec.runtimePatches` says where Kueue places the Pods.
inline constexpr std::string_view kueue_manager = "kueue.x-k8s.io/manager";
/// Label of what waits in a queue of Kueue; its value names the queue.
inline constexpr std::string_view queue_label = "kueue.x-k8s.io/queue-name";
/// Label of a worker cluster's copy of an object of MultiKueue's manager cluster.
inline constexpr std::string_view multikueue_label = "kueue.x-k8s.io/multikueue-origin";

/// The container that trains.
inline constexpr std::string_view node_container = "node";
inline constexpr std::string_view snapshot_suffix = "-runtime-snapshot";
inline constexpr std::string_view snapshot_data_key = "runtime";

}  // namespace api
