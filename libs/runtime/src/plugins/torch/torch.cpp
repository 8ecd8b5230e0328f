#include <algorithm>
#include <span>

#include "api/names.hpp"
#include "build/grace_period.hpp"
#include "build/pod_sets.hpp"
#include "build/trainer_errors.hpp"
#include "plugins/torch/elastic.hpp"
#include "plugins/torch/torch_tune.hpp"
#include "resources/resources.hpp"
#include "runtime/plugin.hpp"
#include "template/edit.hpp"
#include "template/replicated_jobs.hpp"

namespace runtime {
namespace {

using api::FieldErrors;
using api::FieldErrorType;
using api::Json;

constexpr std::string_view loopback = "127.0.0.1";

// torchrun reads its options from PET_<OPTION>
// (https://pytorch.org/docs/stable/elastic/run.html: "options ... can be set through environment variables").
constexpr std::string_view nodes_variable = "PET_NNODES";
constexpr std::string_view processes_variable = "PET_NPROC_PER_NODE";
constexpr std::string_view rank_variable = "PET_NODE_RANK";
constexpr std::string_view address_variable = "PET_MASTER_ADDR";
constexpr std::string_view port_variable = "PET_MASTER_PORT";
// Read by torchrun since PyTorch 2.12 (--shutdown-timeout), and ignored before. Unset, its processes are
// killed this long after it has passed SIGTERM on to them, whatever the grace period of the Pod.
constexpr std::string_view shutdown_variable = "TORCH_ELASTIC_SHUTDOWN_TIMEOUT";
constexpr std::int64_t usual_shutdown = 30;
// What torchrun needs to end itself after its processes.
constexpr std::int64_t end_of_agent = 5;
// The variables that TrainJobs must not set, in the order of error messages.
constexpr std::string_view reserved[] = {address_variable, port_variable, nodes_variable, rank_variable,
                                         processes_variable};
constexpr std::string_view reserved_if_elastic[] = {"PET_RDZV_BACKEND", "PET_RDZV_ENDPOINT", "PET_RDZV_ID",
                                                    "PET_MAX_RESTARTS"};

// Returns the value of `--nproc-per-node`.
api::Result<std::string> processes_per_node(const Json& trainer, const Json& ml_policy, const Json& resources,
                                            const DeviceCount& devices) {
    if (const auto wanted = trainer["numProcPerNode"].as_int()) return std::to_string(*wanted);
    const std::string cpu_count = std::to_string(std::max<std::int64_t>(1, cpus(resources)));
    const Json& policy = ml_policy["torch"]["numProcPerNode"];
    if (const auto number = policy.as_int()) return std::to_string(*number);
    if (policy.as_string() == "gpu") return std::string("gpu");
    if (policy.as_string() == "cpu") return cpu_count;
    if (!policy.is_null() && policy.as_string() != "auto")
        return api::invalid("spec.mlPolicy.torch.numProcPerNode", "must be auto, cpu, gpu or a number");
    // torchrun itself counts most GPUs, and devices that are unknown. Of others it would take CPUs for a
    // number.
    if (!devices.known || (devices.count > 0 && devices.gpus)) return std::string("auto");
    if (devices.count > 0) return std::to_string(devices.count);
    return devices.together > 0 ? std::string("1") : cpu_count;
}

// The settings of the agents of all nodes.
struct Agents {
    std::string job = {};
    std::string nodes = {};
    std::string processes = {};
    std::int64_t port = 0;
    std::optional<Elastic> elastic = {};
};

// Adds the variables of an agent. Without `master` those of the rendezvous are left out: torchtune has
// options for it.
void add_variables(Json& container, const Agents& agents, const std::optional<std::string>& master) {
    upsert_env(container, env_value(nodes_variable, agents.nodes));
    upsert_env(container, env_value(processes_variable, agents.processes));
    // Elastic agents get their ranks from the rendezvous.
    if (agents.elastic && master)
        return add_elastic_variables(container, *agents.elastic, agents.job, *master, agents.port);
    upsert_env(container, env_rank(rank_variable));
    if (!master) return;
    upsert_env(container, env_value(address_variable, *master));
    upsert_env(container, env_value(port_variable, std::to_string(agents.port)));
}

// Gives the processes the grace period of their Pods, in a runtime that has one. A shorter one than
// torchrun's own needs no variable.
void allow_shutdown(Json& container, const Inputs& inputs, const Info& info, const PodSet& pods) {
    const auto seconds = grace_period(inputs.runtime, info, pods);
    if (!grace_period_of(inputs.runtime) || !seconds || *seconds <= usual_shutdown + end_of_agent) return;
    const Json& own = std::as_const(container)["env"];
    if (find_named(own, shutdown_variable) || find_named(info.trainer["env"], shutdown_variable)) return;
    upsert_env(container, env_value(shutdown_variable, std::to_string(*seconds - end_of_agent)));
}

// Returns whether the only node is to find itself without DNS. More nodes may join an elastic one.
bool uses_loopback(const Json& policy, const Agents& agents) {
    return policy["singleNodeAddress"].as_string() == "Loopback" && agents.nodes == "1" && !agents.elastic;
}

// Returns the master of a container that does not train: the first Pod that trains or, without one, of the
// job with the usual name of the trainer's, else of its own job.
std::string master_for(Info& info, const PodSet& pods) {
    const bool is_there = info.trainer_pod_set() || info.pod_set(api::node_container);
    return is_there ? info.first_endpoint() : info.endpoint(pods.name, 0, 0);
}

// Returns the port of the same master, or the usual one if nothing trains.
std::int64_t port_of(Info& info) {
    const PodSet* pods = info.trainer_pod_set();
    if (!pods) pods = info.pod_set(api::node_container);
    return info.rendezvous_port(pods ? *pods : PodSet());
}

std::string target_path(std::size_t target) {
    return "spec.mlPolicy.torch.envInjection.targets[" + std::to_string(target) + "]";
}

const Json no_job;

// A container in the list for the environment that the JobSetSpec lacks.
struct Missing {
    std::string path = {};
    std::string what = {};
    Json value = {};
};

// `left_out`: jobs that the JobSet lacks, although the template has them.
std::vector<Missing> missing_targets(const Json& targets, const Json& job_set_spec,
                                     const std::vector<std::string>& left_out = {}) {
    std::vector<Missing> missing;
    api::NamedItems named;
    for (std::size_t i = 0; i < targets.items().size(); ++i) {
        const Json& target = targets[i];
        const std::string job_name(target["jobName"].as_string());
        if (std::find(left_out.begin(), left_out.end(), job_name) != left_out.end()) continue;
        const Json* job = named.find(job_set_spec["replicatedJobs"], job_name);
        const Json& pod_spec = (job ? *job : no_job)["template"]["spec"]["template"]["spec"];
        const auto& names = target["containerNames"].items();
        for (std::size_t k = 0; k < names.size(); ++k) {
            const std::string_view name = names[k].as_string();
            if (named.find(pod_spec["containers"], name) || named.find(pod_spec["initContainers"], name))
                continue;
            const std::string member = job ? ".containerNames[" + std::to_string(k) + "]" : ".jobName";
            missing.push_back({target_path(i) + member,
                               "container \"" + std::string(name) + "\" in job \"" + job_name + "\"",
                               job ? names[k] : target["jobName"]});
        }
    }
    return missing;
}

// Returns those of the variables that are set, in the given order.
std::string variables_among(const Json& env, std::span<const std::string_view> variables) {
    std::vector<bool> is_set(variables.size());
    for (const Json& variable : env.items()) {
        const auto at = std::find(variables.begin(), variables.end(), variable["name"].as_string());
        if (at != variables.end()) is_set[static_cast<std::size_t>(at - variables.begin())] = true;
    }
    std::string names;
    for (std::size_t i = 0; i < variables.size(); ++i)
        if (is_set[i]) names += (names.empty() ? "" : ", ") + std::string(variables[i]);
    return names;
}

// The limits of these lists are the schema's. Each container of each target is searched for.
constexpr Shape container_names = {{}, nullptr, true, 8};
constexpr ShapeMember target_members[] = {{"containerNames", container_names}};
constexpr Shape target_shape = {target_members};
constexpr Shape targets_shape = {{}, &target_shape, false, 16};
constexpr ShapeMember injection_members[] = {{"targets", targets_shape}};
constexpr Shape injection_shape = {injection_members};
constexpr ShapeMember torch_members[] = {{"elasticPolicy", any_object}, {"envInjection", injection_shape}};
constexpr Shape torch_shape = {torch_members};

constexpr api::RuleId targets_rule("torch_env_targets");
constexpr api::RuleId admission_rules[] = {api::RuleId("torch_reserved_env"), targets_rule, torch_tune_rule,
                                           elastic_rule};

constexpr api::RuleId admission_warnings[] = {api::RuleId("torch_gpu_processes")};

constexpr NumberBound numbers[] = {{"numProcPerNode", 1},
                                   {"elasticPolicy.minNodes", 1},
                                   {"elasticPolicy.maxNodes", 1},
                                   {"elasticPolicy.maxRestarts", 0}};

constexpr Policy torch_policy = {.group = ml_policy_group,
                                 .member = "torch",
                                 .shape = &torch_shape,
                                 .numbers = numbers,
                                 .needs_host_names = true,
                                 .counts_devices = true,
                                 .port_variable = port_variable};

class Torch final : public Plugin {
public:
    std::string_view name() const override { return "torch"; }
    const Policy* policy() const override { return &torch_policy; }
    bool takes_processes(const Json& torch, const Json& job) const override {
        if (takes_program(job) && find_named(pod_spec_of(job)["containers"], api::node_container))
            return true;
        const auto& targets = torch["envInjection"]["targets"].items();
        return std::any_of(targets.begin(), targets.end(),
                           [&](const Json& target) { return target["jobName"] == job["name"]; });
    }
    bool depends_on_devices(const Json& torch, const Json& trainer) const override {
        const Json& policy = torch["numProcPerNode"];
        return trainer["numProcPerNode"].is_null() && (policy.is_null() || policy == "auto");
    }
    std::optional<std::int64_t> least_nodes(const Json& policy) const override {
        const auto elastic = elastic_of(policy);
        return elastic ? std::optional(elastic->min_nodes) : std::nullopt;
    }
    std::span<const api::RuleId> rules() const override { return admission_rules; }

    void validate(const ValidationInputs& review, FieldErrors& errors) const override {
        const Json& env = review.job.spec["trainer"]["env"];
        const std::optional<Elastic> elastic = elastic_of(policy_of(review.runtime));
        std::string taken = variables_among(env, reserved);
        if (elastic) {
            const std::string more = variables_among(env, reserved_if_elastic);
            taken += (taken.empty() || more.empty() ? "" : ", ") + more;
        }
        if (!taken.empty())
            errors.push_back({FieldErrorType::invalid,
                              "spec.trainer.env",
                              taken,
                              "must not be set: the Torch runtime sets these variables",
                              {}});
        // Patches that cannot be merged have their own error.
        if (review.merged_spec.is_object())
            for (const Missing& target : missing_targets(targets_of(review.runtime), review.merged_spec))
                errors.push_back(
                    {FieldErrorType::invalid,
                     "spec.runtimeRef",
                     review.job.runtime_ref.name,
                     "the runtime wants torch's environment in " + target.what + ", which does not exist",
                     {},
                     targets_rule});
        const bool tunes = is_torch_tune(review.job.spec["trainer"]);
        if (elastic) validate_elastic(review, *elastic, tunes, errors);
        if (tunes) validate_torch_tune(review, errors);
    }

    std::span<const api::RuleId> warning_rules() const override { return admission_warnings; }
    // Of devices behind claims, which are not read here, nothing is said.
    void add_warnings(const ValidationInputs& review, api::Warnings& warnings) const override {
        const Json& trainer = review.job.spec["trainer"];
        if (!trainer["numProcPerNode"].is_null() || policy_of(review.runtime)["numProcPerNode"] != "gpu")
            return;
        const auto counted = counted_resources(review.merged_spec, trainer["resourcesPerNode"]);
        if (!counted) return;
        const DeviceCount found = devices_in(counted->resources, review.plugins.devices());
        if (!found.known || !found.any() || found.gpus) return;
        const std::int64_t processes = std::max<std::int64_t>(1, found.count);
        warnings.push_back(
            "the runtime has numProcPerNode: gpu, with which torchrun finds devices of CUDA and ROCm alone, "
            "and ends: set spec.trainer.numProcPerNode to " +
            std::to_string(processes));
    }

    void validate_runtime(const Json& runtime, const ActivePlugins&, FieldErrors& errors) const override {
        for (const Missing& target :
             missing_targets(targets_of(runtime), runtime["spec"]["template"]["spec"]))
            errors.push_back({FieldErrorType::invalid,
                              target.path,
                              target.value,
                              "there is no " + target.what + " in spec.template",
                              {}});
        if (const auto elastic = elastic_of(policy_of(runtime)))
            validate_elastic_runtime(runtime, *elastic, errors);
    }

    api::Result<> enforce_ml_policy(const Inputs& inputs, Info& info) const override {
        const PodSet* pods = info.trainer_pod_set();
        const Json& targets = targets_of(inputs.runtime);
        if (const auto missing = missing_targets(targets, info.spec, inputs.finished_jobs); !missing.empty())
            return api::invalid(missing.front().path,
                                "there is no " + missing.front().what + " in the template");
        const auto processes = processes_per_node(info.trainer, info.ml_policy, info.resources, info.devices);
        if (!processes) return processes.error();
        // Without a job that trains, the containers that the runtime names get it.
        const std::int64_t count = pods ? pods->count : 1;
        Agents agents = {.job = info.job.meta.name,
                         .nodes = std::to_string(count),
                         .processes = *processes,
                         .port = port_of(info),
                         .elastic = elastic_of(policy_of(inputs.runtime))};
        if (agents.elastic) {
            if (std::string why = wrong_number_of_nodes(*agents.elastic, count); !why.empty())
                return api::invalid("spec.trainer.numNodes", std::move(why));
            agents.nodes =
                std::to_string(agents.elastic->min_nodes) + ":" + std::to_string(agents.elastic->max_nodes);
            if (pods) keep_going(info, *pods, *agents.elastic);
        }

        if (Json* node = pods ? info.container(*pods, api::node_container) : nullptr) {
            const bool tune = is_torch_tune(info.trainer);
            const bool alone = uses_loopback(policy_of(inputs.runtime), agents);
            const std::string master = alone ? std::string(loopback) : info.first_endpoint();
            add_variables(*node, agents, tune ? std::nullopt : std::optional(master));
            allow_shutdown(*node, inputs, info, *pods);
            if (auto declared = info.declare_rendezvous_port(*pods); !declared) return declared;
            const std::string endpoint = master + ":" + std::to_string(agents.port);
            if (tune) info.command = torch_tune_command(info, {count, *processes, info.devices}, endpoint);
        }
        for (const Json& target : targets.items())
            if (const PodSet* others = info.pod_set(target["jobName"].as_string()))
                inject(inputs, info, *others, target["containerNames"], agents,
                       others == pods && uses_loopback(policy_of(inputs.runtime), agents));
        return {};
    }

private:
    const Json& targets_of(const Json& runtime) const {
        return policy_of(runtime)["envInjection"]["targets"];
    }

    static void validate_torch_tune(const ValidationInputs& review, FieldErrors& errors) {
        const Json& ml_policy = review.runtime["spec"]["mlPolicy"];
        const Json& trainer = review.job.spec["trainer"];
        const std::int64_t nodes = nodes_that_train(ml_policy, trainer["numNodes"].as_int());
        const auto resources = counted_resources(review.merged_spec, trainer["resourcesPerNode"]);
        if (!resources || review.merged_spec.is_null())
            return check_torch_tune(review.job, nodes, nullptr, errors);
        const DeviceCount found = devices_in(resources->resources, review.plugins.devices());
        const auto processes = processes_per_node(trainer, ml_policy, resources->resources, found);
        // Devices behind claims are not read here, so there is no error about them.
        const bool is_known = processes && (found.known || *processes == "1");
        if (!is_known) return check_torch_tune(review.job, nodes, nullptr, errors);
        const TuneDevices devices = {nodes, *processes, found};
        check_torch_tune(review.job, nodes, &devices, errors);
    }

    // alone: they are in the Pod of the only node.
    static void inject(const Inputs& inputs, Info& info, const PodSet& pods, const Json& names,
                       const Agents& agents, bool alone) {
        const std::string master = alone ? std::string(loopback) : master_for(info, pods);
        for (const Json& name : names.items()) {
            Json* container = info.container(pods, name.as_string());
            if (!container) container = info.init_container(pods, name.as_string());
            if (!container) continue;
            add_variables(*container, agents, master);
            allow_shutdown(*container, inputs, info, pods);
        }
    }
};

}  // namespace

std::unique_ptr<Plugin> make_torch() { return std::make_unique<Torch>(); }

}  // namespace runtime
