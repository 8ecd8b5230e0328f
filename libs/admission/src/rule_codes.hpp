#pragma once
#include <string_view>
#include <utility>

namespace admission {

/// The codes of rules in the metrics of the release before, by their names. The next release has no codes.
inline constexpr std::pair<std::string_view, std::string_view> rule_codes[] = {
    {"runtime_ref", "J1"},
    {"runtime_exists", "J2"},
    {"patches_merge", "J3"},
    {"name_length", "J4"},
    {"dataset_initializer", "J5"},
    {"model_initializer", "J6"},
    {"patch_targets", "J7"},
    {"patch_manager", "J8"},
    {"patch_while_active", "J9"},
    {"deadline_immutable", "J10"},
    {"resource_claims", "J11"},
    {"torch_reserved_env", "J12"},
    {"torch_env_targets", "J13"},
    {"torchtune_recipe", "J14"},
    {"mpi", "J15"},
    {"xgboost_reserved_env", "J16"},
    {"volcano", "J17"},
    {"flux", "J18"},
    {"status_reserved_env", "J19"},
    {"role_replicas", "T1"},
    {"role_container", "T2"},
    {"template_time_limits", "T3"},
    {"template_unbuildable", "T4"},
    {"runtime_deprecated", "W1"},
    {"deprecated_runtime_used", "W2"},
    {"uncounted_devices", "W3"},
    {"ignored_time_limits", "W4"},
    {"pod_deadline", "W5"},
    {"resources_without_policy", "W6"},
    {"empty_image", "W11"},
    {"unused_numbers", "W12"},
    {"kueue_counts_differ", "W16"},
    {"kueue_cannot_build", "W17"},
    {"lost_fields", "W18"},
    {"shared_subdomain", "W19"},
    {"queued_jobs_affected", "W20"},
    {"malformed", "shape"}};

/// Returns the code of a rule; empty if it has none.
constexpr std::string_view code_of(std::string_view rule) {
    for (const auto& [name, code] : rule_codes)
        if (name == rule) return code;
    return {};
}

}  // namespace admission
