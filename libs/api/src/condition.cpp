#include "api/condition.hpp"

#include <algorithm>

namespace api {

const Condition* find_condition(std::span<const Condition> conditions, std::string_view type) {
    const auto at =
        std::find_if(conditions.begin(), conditions.end(), [&](const auto& c) { return c.type == type; });
    return at == conditions.end() ? nullptr : &*at;
}

bool is_true(std::span<const Condition> conditions, std::string_view type) {
    const Condition* found = find_condition(conditions, type);
    return found && found->is_true();
}

std::vector<Condition> parse_conditions(const Json& list) {
    std::vector<Condition> conditions;
    for (const Json& item : list.items()) {
        if (item["type"].as_string().empty()) continue;
        conditions.push_back(
            {.type = std::string(item["type"].as_string()),
             .status = std::string(item["status"].as_string()),
             .reason = std::string(item["reason"].as_string()),
             .message = std::string(item["message"].as_string()),
             .last_transition = as_time(item["lastTransitionTime"].as_string()).value_or(Time()),
             .observed_generation = item["observedGeneration"].int_or(0)});
    }
    return conditions;
}

Json to_json_tree(const Condition& condition) {
    Json tree = Json::object({{"type", condition.type},
                              {"status", condition.status},
                              {"reason", condition.reason},
                              {"message", condition.message},
                              {"lastTransitionTime", format_time(condition.last_transition)}});
    if (condition.observed_generation > 0) tree["observedGeneration"] = condition.observed_generation;
    return tree;
}

}  // namespace api
