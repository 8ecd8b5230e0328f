#include "runtime/conditions.hpp"

#include "runtime/plugin.hpp"

namespace runtime {

std::vector<Need> condition_needs(const api::TrainJob& job, const Pipeline& pipeline) {
    std::vector<Need> needs;
    for (const auto& plugin : pipeline) plugin->add_condition_needs(job, needs);
    return needs;
}

std::vector<api::Condition> conditions_of_plugins(const ConditionsContext& context,
                                                  const Pipeline& pipeline) {
    std::vector<api::Condition> conditions;
    for (const auto& plugin : pipeline) plugin->add_conditions(context, conditions);
    return conditions;
}

}  // namespace runtime
