#include "build/number_rules.hpp"

#include <string>

#include "runtime/plugin.hpp"
#include "template/member_at.hpp"

namespace runtime {
namespace {

using api::FieldErrors;
using api::Json;

constexpr NumberBound of_trainers[] = {{"numNodes", 0}, {"numProcPerNode", 1}};
// 0 counts as 1.
constexpr NumberBound of_ml_policies[] = {{"numNodes", 0}};

void check(const Json& tree, const std::string& place, std::span<const NumberBound> bounds,
           FieldErrors& errors) {
    for (const auto& [path, least] : bounds)
        if (const auto number = member_at(tree, path).as_int(); number && *number < least)
            errors.push_back({api::FieldErrorType::invalid,
                              place + "." + std::string(path),
                              *number,
                              "must be at least " + std::to_string(least),
                              {}});
}

}  // namespace

FieldErrors number_errors_of_runtime(const Json& runtime, const ActivePlugins& plugins, const Json& trainer) {
    FieldErrors errors;
    const std::string ml_policy = "spec." + std::string(ml_policy_group);
    if (trainer["numNodes"].is_null()) check(plugins.ml_policy(), ml_policy, of_ml_policies, errors);
    for (const Plugin* plugin : plugins)
        if (const Policy* policy = plugin->policy())
            check(plugin->policy_of(runtime),
                  "spec." + std::string(policy->group) + "." + std::string(policy->member), policy->numbers,
                  errors);
    return errors;
}

FieldErrors number_errors_of_trainer(const Json& trainer) {
    FieldErrors errors;
    check(trainer, "spec.trainer", of_trainers, errors);
    return errors;
}

}  // namespace runtime
