#pragma once
#include <cstdint>
#include <iterator>

#include "api/rule_id.hpp"

/// The rules of admission but those of plugins, which are Plugin::rules() and Plugin::warning_rules().
/// Metrics and docs/design/admission.md use their names.
namespace runtime {

enum class Rule : std::uint8_t {
    // Denials.
    runtime_ref,
    runtime_exists,
    patches_merge,
    name_length,
    patch_targets,
    patch_manager,
    patch_while_active,
    deadline_immutable,
    deadline_maximum,
    resource_claims,
    gated_field,
    immutable_after_creation,
    resize_while_active,
    patch_loses_work,
    image,
    trainer_job,
    number_bounds,
    resources,
    limits_cover_requests,
    failure_policy_overruled,
    progress_deadline,
    role_replicas,
    role_container,
    template_time_limits,
    template_unbuildable,
    runtime_gated_field,
    deadline_order,
    ttl_order,
    template_failure_handling,
    failure_rules,
    malformed,
    // Warnings.
    runtime_deprecated,
    deprecated_runtime_used,
    uncounted_devices,
    unused_claims,
    shared_claims,
    ignored_time_limits,
    pod_deadline,
    replaced_completions,
    runtime_resources,
    resources_without_policy,
    empty_image,
    unused_numbers,
    no_nodes,
    small_memory,
    lost_fields,
    shared_subdomain,
    host_network,
    service_taken,
    runtime_in_use,
    two_ttls,
    ttl_changed,
    ttl_passed,
    ttl_cut,
    replaced_failure_handling,
    progress_unwatched,
    restart_without_policy,
    shell_without_exec,
    count
};

struct RuleRow {
    Rule rule;
    api::RuleId id;
    bool denies = true;  ///< false: it warns
};

/// The rules in the order of the enumerators.
inline constexpr RuleRow rule_rows[] = {
    {Rule::runtime_ref, api::RuleId("runtime_ref")},
    {Rule::runtime_exists, api::RuleId("runtime_exists")},
    {Rule::patches_merge, api::RuleId("patches_merge")},
    {Rule::name_length, api::RuleId("name_length")},
    {Rule::patch_targets, api::RuleId("patch_targets")},
    {Rule::patch_manager, api::RuleId("patch_manager")},
    {Rule::patch_while_active, api::RuleId("patch_while_active")},
    {Rule::deadline_immutable, api::RuleId("deadline_immutable")},
    {Rule::deadline_maximum, api::RuleId("deadline_maximum")},
    {Rule::resource_claims, api::RuleId("resource_claims")},
    {Rule::gated_field, api::RuleId("gated_field")},
    {Rule::immutable_after_creation, api::RuleId("immutable_after_creation")},
    {Rule::resize_while_active, api::RuleId("resize_while_active")},
    {Rule::patch_loses_work, api::RuleId("patch_loses_work")},
    {Rule::image, api::RuleId("image")},
    {Rule::trainer_job, api::RuleId("trainer_job")},
    {Rule::number_bounds, api::RuleId("number_bounds")},
    {Rule::resources, api::RuleId("resources")},
    {Rule::limits_cover_requests, api::RuleId("limits_cover_requests")},
    {Rule::failure_policy_overruled, api::RuleId("failure_policy_overruled")},
    {Rule::progress_deadline, api::RuleId("progress_deadline")},
    {Rule::role_replicas, api::RuleId("role_replicas")},
    {Rule::role_container, api::RuleId("role_container")},
    {Rule::template_time_limits, api::RuleId("template_time_limits")},
    {Rule::template_unbuildable, api::RuleId("template_unbuildable")},
    {Rule::runtime_gated_field, api::RuleId("runtime_gated_field")},
    {Rule::deadline_order, api::RuleId("deadline_order")},
    {Rule::ttl_order, api::RuleId("ttl_order")},
    {Rule::template_failure_handling, api::RuleId("template_failure_handling")},
    {Rule::failure_rules, api::RuleId("failure_rules")},
    // An object of a shape that the schema would refuse: the API server may call the webhook before it checks
    // the schema.
    {Rule::malformed, api::RuleId("malformed")},
    {Rule::runtime_deprecated, api::RuleId("runtime_deprecated"), false},
    {Rule::deprecated_runtime_used, api::RuleId("deprecated_runtime_used"), false},
    {Rule::uncounted_devices, api::RuleId("uncounted_devices"), false},
    {Rule::unused_claims, api::RuleId("unused_claims"), false},
    {Rule::shared_claims, api::RuleId("shared_claims"), false},
    {Rule::ignored_time_limits, api::RuleId("ignored_time_limits"), false},
    {Rule::pod_deadline, api::RuleId("pod_deadline"), false},
    {Rule::replaced_completions, api::RuleId("replaced_completions"), false},
    {Rule::runtime_resources, api::RuleId("runtime_resources"), false},
    {Rule::resources_without_policy, api::RuleId("resources_without_policy"), false},
    {Rule::empty_image, api::RuleId("empty_image"), false},
    {Rule::unused_numbers, api::RuleId("unused_numbers"), false},
    {Rule::no_nodes, api::RuleId("no_nodes"), false},
    {Rule::small_memory, api::RuleId("small_memory"), false},
    {Rule::lost_fields, api::RuleId("lost_fields"), false},
    {Rule::shared_subdomain, api::RuleId("shared_subdomain"), false},
    {Rule::host_network, api::RuleId("host_network"), false},
    {Rule::service_taken, api::RuleId("service_taken"), false},
    {Rule::runtime_in_use, api::RuleId("runtime_in_use"), false},
    {Rule::two_ttls, api::RuleId("two_ttls"), false},
    {Rule::ttl_changed, api::RuleId("ttl_changed"), false},
    {Rule::ttl_passed, api::RuleId("ttl_passed"), false},
    {Rule::ttl_cut, api::RuleId("ttl_cut"), false},
    {Rule::replaced_failure_handling, api::RuleId("replaced_failure_handling"), false},
    {Rule::progress_unwatched, api::RuleId("progress_unwatched"), false},
    {Rule::restart_without_policy, api::RuleId("restart_without_policy"), false},
    {Rule::shell_without_exec, api::RuleId("shell_without_exec"), false},
};

consteval bool has_row_per_rule() {
    if (std::size(rule_rows) != static_cast<std::size_t>(Rule::count)) return false;
    for (std::size_t i = 0; i < std::size(rule_rows); ++i)
        if (rule_rows[i].rule != static_cast<Rule>(i)) return false;
    return true;
}
static_assert(has_row_per_rule(), "each Rule has a row, in the order of the enumerators");

constexpr api::RuleId id_of(Rule rule) { return rule_rows[static_cast<std::size_t>(rule)].id; }

}  // namespace runtime
