#include "template/shape.hpp"

#include <limits>
#include <span>
#include <string>

#include "merge/place.hpp"

namespace runtime {
namespace {

using api::Json;
using merge::Place;

struct Shape;

struct Member {
    std::string_view name;
    const Shape& shape;
};

// An object with such members, or a list of such items (`item` is set). Null and absent are fine everywhere
// but as an item; scalars are read leniently and need no check.
struct Shape {
    std::span<const Member> members = {};
    const Shape* item = nullptr;
    bool scalars = false;                                        // a list of scalars
    std::size_t most = std::numeric_limits<std::size_t>::max();  // items
};

constexpr Shape object = {};
constexpr Shape objects = {{}, &object};
constexpr Shape scalars = {{}, nullptr, true};

constexpr Member metadata_members[] = {{"labels", object}, {"annotations", object}};
constexpr Shape metadata = {metadata_members};

constexpr Member resources_members[] = {{"limits", object}, {"requests", object}, {"claims", objects}};
constexpr Shape resources = {resources_members};

constexpr Member env_members[] = {{"valueFrom", object}};
constexpr Shape env = {env_members};
constexpr Shape env_list = {{}, &env};

constexpr Member container_members[] = {
    {"command", scalars}, {"args", scalars},         {"env", env_list},        {"envFrom", objects},
    {"ports", objects},   {"volumeMounts", objects}, {"resources", resources}, {"securityContext", object}};
constexpr Shape container = {container_members};
constexpr Shape containers = {{}, &container};

constexpr Member pod_spec_members[] = {{"containers", containers}, {"initContainers", containers},
                                       {"volumes", objects},       {"resourceClaims", objects},
                                       {"nodeSelector", object},   {"securityContext", object}};
constexpr Shape pod_spec = {pod_spec_members};
constexpr Member pod_template_members[] = {{"metadata", metadata}, {"spec", pod_spec}};
constexpr Shape pod_template = {pod_template_members};
constexpr Member job_spec_members[] = {{"template", pod_template}};
constexpr Shape job_spec = {job_spec_members};
constexpr Member job_template_members[] = {{"metadata", metadata}, {"spec", job_spec}};
constexpr Shape job_template = {job_template_members};
constexpr Member replicated_job_members[] = {{"template", job_template}, {"dependsOn", objects}};
constexpr Shape replicated_job = {replicated_job_members};
constexpr Shape replicated_jobs = {{}, &replicated_job};
constexpr Member job_set_members[] = {{"replicatedJobs", replicated_jobs}, {"network", object}};
constexpr Shape job_set = {job_set_members};
constexpr Member template_members[] = {{"metadata", metadata}, {"spec", job_set}};
constexpr Shape job_set_template = {template_members};

// As the schema has them. Each container of each target is looked for.
constexpr Shape container_names = {{}, nullptr, true, 8};
constexpr Member target_members[] = {{"containerNames", container_names}};
constexpr Shape target = {target_members};
constexpr Shape targets = {{}, &target, false, 16};
constexpr Member injection_members[] = {{"targets", targets}};
constexpr Shape injection = {injection_members};
constexpr Member torch_members[] = {{"envInjection", injection}};
constexpr Shape torch = {torch_members};
constexpr Member ml_policy_members[] = {
    {"torch", torch}, {"jax", object}, {"xgboost", object}, {"mpi", object}, {"flux", object}};
constexpr Shape ml_policy = {ml_policy_members};
constexpr Member pod_group_members[] = {{"coscheduling", object}, {"volcano", object}};
constexpr Shape pod_group_policy = {pod_group_members};
constexpr Member runtime_spec_members[] = {
    {"mlPolicy", ml_policy}, {"podGroupPolicy", pod_group_policy}, {"template", job_set_template}};
constexpr Shape runtime_spec = {runtime_spec_members};
constexpr Member runtime_members[] = {{"metadata", metadata}, {"spec", runtime_spec}};
constexpr Shape runtime_object = {runtime_members};

constexpr Member initializer_members[] = {{"env", env_list}, {"secretRef", object}};
constexpr Shape initializer_step = {initializer_members};
constexpr Member steps_members[] = {{"dataset", initializer_step}, {"model", initializer_step}};
constexpr Shape initializer = {steps_members};
constexpr Member trainer_members[] = {
    {"command", scalars}, {"args", scalars}, {"env", env_list}, {"resourcesPerNode", resources}};
constexpr Shape trainer = {trainer_members};
constexpr Member patch_spec_members[] = {{"template", job_set_template}};
constexpr Shape patch_spec = {patch_spec_members};
constexpr Member patch_members[] = {{"trainingRuntimeSpec", patch_spec}};
constexpr Shape patch = {patch_members};
constexpr Shape patches = {{}, &patch, false, max_runtime_patches};
constexpr Member job_members[] = {
    {"trainer", trainer}, {"initializer", initializer}, {"runtimePatches", patches}};
constexpr Shape train_job_spec = {job_members};

api::Result<> check(const Json& value, const Shape& shape, const Place& place) {
    if (shape.item || shape.scalars) {
        if (!value.is_array()) return api::invalid(place.text(), "must be a list");
        if (value.items().size() > shape.most)
            return api::invalid(place.text(), "must have at most " + std::to_string(shape.most) + " items");
        for (std::size_t i = 0; i < value.items().size() && shape.item; ++i)
            if (auto checked = check(value.items()[i], *shape.item, {.outer = &place, .index = i}); !checked)
                return checked;
        return {};
    }
    if (!value.is_object()) return api::invalid(place.text(), "must be an object");
    for (const auto& [name, member] : shape.members)
        if (const Json* found = value.find(name); found && !found->is_null())
            if (auto checked = check(*found, member, {.outer = &place, .member = name}); !checked)
                return checked;
    return {};
}

}  // namespace

api::Result<> check_runtime_shape(const Json& runtime) { return check(runtime, runtime_object, Place()); }

api::Result<> check_train_job_shape(const Json& spec) {
    const Place root;
    if (spec.is_null()) return api::invalid("spec", "is required");
    return check(spec, train_job_spec, {.outer = &root, .member = "spec"});
}

}  // namespace runtime
