#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "api/json.hpp"
#include "runtime/active_plugins.hpp"

/// The rule "a field that no job takes is not dropped in silence", for admission and build alike.
namespace runtime {

/// What admission does with a TrainJob that sets a field which no job takes.
enum class WithoutJob {
    denies,  ///< another program would run, or the same one without its data
    warns    ///< the program is the same, and Kubeflow Trainer admits the TrainJob
};

/// A field of `spec.trainer` or `spec.initializer`, and the jobs of a runtime into which the build writes it.
struct TakenField {
    std::string_view path;  ///< below `spec`: "trainer.image"
    WithoutJob without_job;
    bool (*is_set)(const api::Json& value);
    bool (*is_taken_by)(const api::Json& replicated_job, const ActivePlugins& plugins);
};

/// All of these fields.
extern const std::span<const TakenField> taken_fields;

/// Returns the fields that a TrainJob sets and no job takes. `job_set_spec` is the runtime's template with
/// patches, or without them: they change neither labels of jobs nor names of containers.
std::vector<const TakenField*> fields_without_job(const api::Json& train_job_spec,
                                                  const api::Json& job_set_spec,
                                                  const ActivePlugins& plugins);

}  // namespace runtime
