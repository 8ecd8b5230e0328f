#pragma once
#include <string_view>

/// What we leave on objects for later passes, besides api::applied_hash_annotation; and how JobSet marks its
/// Jobs.
namespace api {

/// On a suspended JobSet while Jobs of it may be there that were made from what we have withdrawn since; see
/// lifecycle/withdrawal.hpp.
inline constexpr std::string_view withdrawn_annotation = "trainer.kubeflow.org/withdrawn";
/// Next to it: how often Jobs were made anew for that, and when the newest of those was made ("2/<time>").
inline constexpr std::string_view replacements_annotation = "trainer.kubeflow.org/replacements";
/// On the snapshot of a runtime: how often the JobSet was made anew for a generation of its TrainJob.
inline constexpr std::string_view recreations_annotation = "trainer.kubeflow.org/recreations";

/// Labels of a Job (JobSet 0.12): the name of its JobSet, and which of its replicated jobs it is.
inline constexpr std::string_view job_set_name_label = "jobset.sigs.k8s.io/jobset-name";
inline constexpr std::string_view replicated_job_label = "jobset.sigs.k8s.io/replicatedjob-name";

}  // namespace api
