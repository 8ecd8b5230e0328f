#include "runtime/conditions.hpp"

#include <algorithm>

#include "runtime/plugin.hpp"

namespace runtime {

bool has_conditions(const Pipeline& pipeline) {
    return std::any_of(pipeline.begin(), pipeline.end(),
                       [](const auto& plugin) { return plugin->has_conditions(); });
}

std::vector<Need> condition_needs(const api::TrainJob& job, const Pipeline& pipeline) {
    std::vector<Need> needs;
    for (const auto& plugin : pipeline)
        if (plugin->has_conditions()) plugin->add_condition_needs(job, needs);
    return needs;
}

std::vector<api::Condition> conditions_of_plugins(const ConditionsContext& context,
                                                  const Pipeline& pipeline) {
    std::vector<api::Condition> conditions;
    for (const auto& plugin : pipeline)
        if (plugin->has_conditions()) plugin->add_conditions(context, conditions);
    return conditions;
}

}  // namespace runtime
