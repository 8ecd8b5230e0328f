#pragma once
#include <string_view>

/// Annotations for later reconciles, besides api::applied_hash_annotation, and the labels of JobSet's Jobs.
namespace api {

/// Of a suspended JobSet that may still have Jobs made from a withdrawn template; see
/// lifecycle/withdrawal.hpp.
inline constexpr std::string_view withdrawn_annotation = "trainer.kubeflow.org/withdrawn";
/// Besides it: how often Jobs were made again for that reason, and the creation of the newest of those
/// ("2/<time>").
inline constexpr std::string_view replacements_annotation = "trainer.kubeflow.org/replacements";
/// Of the snapshot of a runtime: how often the JobSet was created again for a generation of its TrainJob.
inline constexpr std::string_view recreations_annotation = "trainer.kubeflow.org/recreations";
/// Of a JobSet that is in a queue of Kueue by a label of its own: the `spec.suspend` of its
/// TrainJob that was last written to it, "true" or "false". What Kueue does with it later is Kueue's
/// decision.
inline constexpr std::string_view written_suspend_annotation = "trainer.kubeflow.org/written-suspend";

/// Labels of a Job (JobSet 0.12): the name of its JobSet, and of its replicated job.
inline constexpr std::string_view job_set_name_label = "jobset.sigs.k8s.io/jobset-name";
inline constexpr std::string_view replicated_job_label = "jobset.sigs.k8s.io/replicatedjob-name";

}  // namespace api
