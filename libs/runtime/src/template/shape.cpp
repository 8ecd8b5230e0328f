#include "template/shape.hpp"

#include <string>

namespace runtime {
namespace {

using api::Json;
using merge::Place;

constexpr const Shape& object = any_object;
constexpr Shape objects = {{}, &object};
constexpr Shape scalars = {{}, nullptr, true};

constexpr ShapeMember metadata_members[] = {{"labels", object}, {"annotations", object}};
constexpr Shape metadata = {metadata_members};

constexpr ShapeMember resources_members[] = {{"limits", object}, {"requests", object}, {"claims", objects}};
constexpr Shape resources = {resources_members};

constexpr ShapeMember env_members[] = {{"valueFrom", object}};
constexpr Shape env = {env_members};
constexpr Shape env_list = {{}, &env};

constexpr ShapeMember container_members[] = {
    {"command", scalars}, {"args", scalars},         {"env", env_list},        {"envFrom", objects},
    {"ports", objects},   {"volumeMounts", objects}, {"resources", resources}, {"securityContext", object}};
constexpr Shape container = {container_members};
constexpr Shape containers = {{}, &container};

constexpr ShapeMember pod_spec_members[] = {{"containers", containers}, {"initContainers", containers},
                                            {"volumes", objects},       {"resourceClaims", objects},
                                            {"nodeSelector", object},   {"securityContext", object}};
constexpr Shape pod_spec = {pod_spec_members};
constexpr ShapeMember pod_template_members[] = {{"metadata", metadata}, {"spec", pod_spec}};
constexpr Shape pod_template = {pod_template_members};
constexpr ShapeMember job_spec_members[] = {{"template", pod_template}};
constexpr Shape job_spec = {job_spec_members};
constexpr ShapeMember job_template_members[] = {{"metadata", metadata}, {"spec", job_spec}};
constexpr Shape job_template = {job_template_members};
constexpr ShapeMember replicated_job_members[] = {{"template", job_template}, {"dependsOn", objects}};
constexpr Shape replicated_job = {replicated_job_members};
constexpr Shape replicated_jobs = {{}, &replicated_job};
constexpr ShapeMember job_set_members[] = {{"replicatedJobs", replicated_jobs}, {"network", object}};
constexpr Shape job_set = {job_set_members};
constexpr ShapeMember template_members[] = {{"metadata", metadata}, {"spec", job_set}};
constexpr Shape job_set_template = {template_members};

// The limits of the CRD: each rule is compared with each container.
constexpr Shape exit_codes = {{}, nullptr, true, 255};
constexpr ShapeMember on_exit_codes_members[] = {{"values", exit_codes}};
constexpr Shape on_exit_codes = {on_exit_codes_members};
constexpr Shape pod_conditions = {{}, &object, false, 20};
constexpr Shape pod_reasons = {{}, nullptr, true, 20};
constexpr ShapeMember failure_rule_members[] = {
    {"onExitCodes", on_exit_codes}, {"onPodConditions", pod_conditions}, {"onPodReasons", pod_reasons}};
constexpr Shape failure_rule = {failure_rule_members};
constexpr Shape failure_rules = {{}, &failure_rule, false, 20};
constexpr ShapeMember failure_policy_members[] = {
    {"rules", failure_rules}, {"backoff", object}, {"excludedNodes", object}};
constexpr Shape failure_policy = {failure_policy_members};
constexpr ShapeMember run_policy_members[] = {{"failurePolicy", failure_policy}};
constexpr Shape run_policy = {run_policy_members};

constexpr ShapeMember runtime_spec_members[] = {{"mlPolicy", object},
                                                {"podGroupPolicy", object},
                                                {"runPolicy", run_policy},
                                                {"template", job_set_template}};
constexpr Shape runtime_spec = {runtime_spec_members};
constexpr ShapeMember runtime_members[] = {{"metadata", metadata}, {"spec", runtime_spec}};
constexpr Shape runtime_object = {runtime_members};

constexpr ShapeMember initializer_members[] = {{"env", env_list}, {"secretRef", object}};
constexpr Shape initializer_step = {initializer_members};
constexpr ShapeMember steps_members[] = {{"dataset", initializer_step}, {"model", initializer_step}};
constexpr Shape initializer = {steps_members};
constexpr ShapeMember trainer_members[] = {{"command", scalars},
                                           {"args", scalars},
                                           {"env", env_list},
                                           {"resourcesPerNode", resources},
                                           {"resourceClaimsPerNode", objects}};
constexpr Shape trainer = {trainer_members};
constexpr ShapeMember patch_spec_members[] = {{"template", job_set_template}};
constexpr Shape patch_spec = {patch_spec_members};
constexpr ShapeMember patch_members[] = {{"trainingRuntimeSpec", patch_spec}};
constexpr Shape patch = {patch_members};
constexpr Shape patches = {{}, &patch, false, max_runtime_patches};
constexpr ShapeMember job_members[] = {
    {"trainer", trainer}, {"initializer", initializer}, {"runtimePatches", patches}};
constexpr Shape train_job_spec = {job_members};

}  // namespace

api::Result<> check_shape(const Json& value, const Shape& shape, const Place& place) {
    if (shape.item || shape.scalars) {
        if (!value.is_array()) return api::invalid(place.text(), "must be a list");
        if (value.items().size() > shape.most)
            return api::invalid(place.text(), "must have at most " + std::to_string(shape.most) + " items");
        for (std::size_t i = 0; i < value.items().size() && shape.item; ++i)
            if (auto checked = check_shape(value.items()[i], *shape.item, {.outer = &place, .index = i});
                !checked)
                return checked;
        return {};
    }
    if (!value.is_object()) return api::invalid(place.text(), "must be an object");
    for (const auto& [name, member] : shape.members)
        if (const Json* found = value.find(name); found && !found->is_null())
            if (auto checked = check_shape(*found, member, {.outer = &place, .member = name}); !checked)
                return checked;
    return {};
}

api::Result<> check_shape_without_policies(const Json& runtime) {
    return check_shape(runtime, runtime_object, Place());
}

api::Result<> check_train_job_shape(const Json& spec) {
    const Place root;
    if (spec.is_null()) return api::invalid("spec", "is required");
    return check_shape(spec, train_job_spec, {.outer = &root, .member = "spec"});
}

}  // namespace runtime
