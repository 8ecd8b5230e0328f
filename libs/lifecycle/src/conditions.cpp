#include "lifecycle/conditions.hpp"

#include <algorithm>
#include <array>

#include "api/text.hpp"

namespace lifecycle {
namespace {

bool consists_of(std::string_view text, std::string_view others) {
    return std::all_of(text.begin(), text.end(), [&](char c) {
        return api::is_letter_or_digit(c) || others.find(c) != std::string_view::npos;
    });
}

// ^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$, at most 1024.
bool is_valid_reason(std::string_view reason) {
    return !reason.empty() && reason.size() <= 1024 && api::is_letter(reason.front()) &&
           consists_of(reason, "_,:") && reason.back() != ',' && reason.back() != ':';
}

// A qualified name: an optional DNS name and a slash, then the type itself.
bool is_valid_type(std::string_view type) {
    if (type.size() > 316) return false;
    const auto slash = type.find('/');
    const std::string_view name = slash == std::string_view::npos ? type : type.substr(slash + 1);
    const std::string_view prefix = type.substr(0, type.size() - name.size());
    if (name.empty() || !api::is_letter_or_digit(name.front()) || !api::is_letter_or_digit(name.back()))
        return false;
    if (!consists_of(name, "-_.")) return false;
    if (prefix.empty()) return true;
    std::string_view labels = prefix;
    while (!labels.empty()) {
        const std::string_view label = labels.substr(0, labels.find_first_of("./"));
        if (label.empty() || label.front() == '-' || label.back() == '-' || !consists_of(label, "-"))
            return false;
        if (std::any_of(label.begin(), label.end(), api::is_upper)) return false;
        labels.remove_prefix(label.size() + 1);
    }
    return true;
}

bool is_valid_status(std::string_view status) {
    return status == "True" || status == "False" || status == "Unknown";
}

bool ends_the_job(std::string_view type) {
    return type == api::condition::complete || type == api::condition::failed;
}

// Returns the place of a condition in the list: docs/design/lifecycle.md#conditions. Conditions with the same
// rank keep their order.
int rank(const api::Condition& condition, bool ended) {
    const bool is_true = condition.is_true();
    if (condition.type == api::condition::stalled) return 10;
    if (condition.type == api::condition::created) return is_true ? 5 : ended ? 1 : 9;
    if (condition.type == api::condition::restarting) return 6;
    if (condition.type == api::condition::suspended) return is_true ? 7 : 0;
    if (ends_the_job(condition.type)) return is_true ? 8 : 2;
    return is_true ? 4 : 3;
}

}  // namespace

bool is_built_in(std::string_view type) {
    constexpr std::array types = {api::condition::created,  api::condition::suspended,
                                  api::condition::complete, api::condition::failed,
                                  api::condition::stalled,  api::condition::restarting};
    return std::find(types.begin(), types.end(), type) != types.end();
}

bool is_open(const api::Condition& condition) {
    constexpr std::array reasons = {api::reason::jobs_creating, api::reason::jobs_creation_retrying,
                                    api::reason::jobs_build_retrying, api::reason::permission_denied};
    return is_built_in(condition.type) &&
           std::find(reasons.begin(), reasons.end(), condition.reason) != reasons.end();
}

void set_condition(std::vector<api::Condition>& conditions, api::Condition condition, api::Time now) {
    condition.message = api::cut_characters(condition.message, max_message_characters);
    // The API server would refuse the whole status for an invalid reason.
    if (!is_valid_reason(condition.reason)) condition.reason = condition.type;
    if (condition.last_transition == api::Time()) condition.last_transition = now;
    const auto old = std::find_if(conditions.begin(), conditions.end(),
                                  [&](const auto& c) { return c.type == condition.type; });
    if (old == conditions.end()) {
        conditions.push_back(std::move(condition));
        return;
    }
    condition.last_transition = condition.status == old->status
                                    ? old->last_transition
                                    : std::max(condition.last_transition, old->last_transition);
    *old = std::move(condition);
}

void merge_plugin_conditions(std::vector<api::Condition>& conditions,
                             std::span<const api::Condition> contributed, std::int64_t generation,
                             api::Time now) {
    for (api::Condition condition : contributed) {
        if (is_built_in(condition.type)) continue;
        if (condition.status.empty()) {
            std::erase_if(conditions, [&](const auto& old) { return old.type == condition.type; });
            continue;
        }
        if (!is_valid_type(condition.type) || !is_valid_status(condition.status) ||
            !is_valid_reason(condition.reason))
            continue;
        condition.last_transition = {};
        condition.observed_generation = generation;
        set_condition(conditions, std::move(condition), now);
    }
}

std::vector<api::Condition> in_order(std::vector<api::Condition> conditions) {
    for (auto last = conditions.end(); conditions.size() > max_conditions && last != conditions.begin();)
        if (--last; !is_built_in(last->type)) last = conditions.erase(last);
    const bool ended = std::any_of(conditions.begin(), conditions.end(),
                                   [](const auto& c) { return ends_the_job(c.type) && c.is_true(); });
    std::stable_sort(conditions.begin(), conditions.end(), [&](const auto& left, const auto& right) {
        return rank(left, ended) < rank(right, ended);
    });
    return conditions;
}

}  // namespace lifecycle
