#include "runtime/conditions.hpp"

#include "runtime/plugin.hpp"

namespace runtime {

std::vector<api::Condition> conditions_of_plugins(const api::TrainJob& job, const api::JobSet* job_set,
                                                  const api::Json& runtime, const Pipeline& pipeline) {
    const ActivePlugins plugins(pipeline, runtime);
    const ConditionsContext context = {
        .job = job, .job_set = job_set, .runtime = runtime, .plugins = plugins};
    std::vector<api::Condition> conditions;
    for (const Plugin* plugin : plugins) plugin->add_conditions(context, conditions);
    if (job_set && runtime.is_null()) return conditions;
    for (const auto& plugin : pipeline)
        for (const std::string_view type : plugin->condition_types())
            if (api::find_condition(job.conditions, type) && !api::find_condition(conditions, type))
                conditions.push_back({.type = std::string(type)});
    return conditions;
}

}  // namespace runtime
