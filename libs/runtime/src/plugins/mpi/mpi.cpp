#include <algorithm>
#include <set>
#include <span>

#include "api/base64.hpp"
#include "api/names.hpp"
#include "apply/own_secret.hpp"
#include "build/failure_rules.hpp"
#include "runtime/plugin.hpp"
#include "runtime/rule.hpp"
#include "template/added.hpp"
#include "template/edit.hpp"
#include "template/replicated_jobs.hpp"

namespace runtime {
namespace {

using api::FieldErrors;
using api::FieldErrorType;
using api::Json;

constexpr std::string_view launcher_job = "launcher";
constexpr std::string_view node_job = "node";
constexpr std::string_view key_volume = "mpi-ssh-auth";
constexpr std::string_view host_file_volume = "mpi-hostfile";
constexpr std::string_view host_file_folder = "/etc/mpi";
constexpr std::string_view host_file_key = "hostfile";
constexpr std::string_view default_key_folder = "/root/.ssh";
// The maximum size of an object in etcd, and so of a ConfigMap.
constexpr std::size_t most_host_file_bytes = 1'000'000;

// `value` is "{slots}" for the number of processes per host.
struct Variable {
    std::string_view name;
    std::string_view value;
};

// The files and variables by which a launcher finds and reaches its hosts.
struct Implementation {
    std::string_view name;
    std::string_view slots_mark;  // in the host file, between a host and its slots
    std::span<const Variable> variables;
};

constexpr std::string_view host_file = "/etc/mpi/hostfile";
// Pods that have just started may not answer at once.
constexpr std::string_view patience = "-o ConnectionAttempts=10";

// https://docs.open-mpi.org/en/v4.1.x: an MCA parameter is the variable OMPI_MCA_<parameter>.
constexpr Variable open_mpi[] = {{"OMPI_MCA_orte_default_hostfile", host_file},
                                 {"OMPI_MCA_orte_keep_fqdn_hostnames", "true"},
                                 {"OMPI_MCA_orte_set_default_slots", "{slots}"},
                                 {"OMPI_MCA_plm_rsh_args", patience}};
// Intel MPI Library Developer Reference, "Hydra Environment Variables".
constexpr Variable intel[] = {{"I_MPI_HYDRA_HOST_FILE", host_file},
                              {"I_MPI_PERHOST", "{slots}"},
                              {"I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS", patience}};
// MPICH Wiki, "Using the Hydra Process Manager". Which of the two names of extra arguments is read depends on
// the version; 4.0 has the longer one.
constexpr Variable mpich[] = {{"HYDRA_HOST_FILE", host_file},
                              {"HYDRA_LAUNCH_EXTRA_ARGS", patience},
                              {"HYDRA_LAUNCHER_EXTRA_ARGS", patience}};

constexpr Implementation implementations[] = {
    {"OpenMPI", " slots=", open_mpi}, {"Intel", ":", intel}, {"MPICH", ":", mpich}};

// Returns the variables of the implementation in the images; nullptr if it is unknown. Absent and empty,
// which older objects have, mean OpenMPI.
const Implementation* implementation_of(const Json& mpi) {
    const std::string_view name = mpi["mpiImplementation"].as_string();
    if (name.empty()) return &implementations[0];
    for (const Implementation& known : implementations)
        if (known.name == name) return &known;
    return nullptr;
}

constexpr api::RuleId admission_rules[] = {api::RuleId("mpi")};
constexpr api::RuleId key_mode_rule = api::RuleId("mpi_key_mode");
constexpr api::RuleId launcher_fields_rule = api::RuleId("mpi_launcher_fields");
constexpr api::RuleId admission_warnings[] = {api::RuleId("mpi_images"), launcher_fields_rule, key_mode_rule};

constexpr NumberBound numbers[] = {{"numProcPerNode", 1}};

constexpr Policy mpi_policy = {.group = ml_policy_group,
                               .member = "mpi",
                               .numbers = numbers,
                               .needs_host_names = true,
                               .counts_devices = true,
                               .places_env = true,
                               .scaled_job = node_job};

bool launcher_is_node(const Json& mpi) { return mpi["runLauncherAsNode"].bool_or(false); }

std::string secret_name(const api::TrainJob& job) { return job.meta.name + "-mpi-ssh-auth"; }
std::string host_file_name(const api::TrainJob& job) { return job.meta.name + "-mpi-hostfile"; }

// Returns whether a host has a process per GPU: one process per host, the schema's default, means that.
bool has_slots_for_devices(const Json& mpi, const Json& trainer) {
    return !trainer["numProcPerNode"].as_int() && mpi["numProcPerNode"].int_or(1) == 1;
}
bool has_slots_for_devices(const Info& info) {
    return has_slots_for_devices(info.ml_policy["mpi"], info.trainer);
}

std::int64_t slots(const Info& info) {
    if (has_slots_for_devices(info)) return std::max<std::int64_t>(1, info.devices.count);
    return info.trainer["numProcPerNode"].int_or(info.ml_policy["mpi"]["numProcPerNode"].int_or(1));
}

Json key_file(std::string_view key, std::string_view path, std::int64_t mode) {
    return Json::object({{"key", key}, {"path", path}, {"mode", mode}});
}

Json keys_volume(const api::TrainJob& job, std::int64_t private_mode) {
    const Json files = Json::array({key_file("ssh-privatekey", "id_rsa", private_mode),
                                    key_file("ssh-publickey", "id_rsa.pub", 0644),
                                    key_file("ssh-publickey", "authorized_keys", 0644)});
    Json secret = Json::object({{"secretName", secret_name(job)}, {"defaultMode", 0400}, {"items", files}});
    return Json::object({{"name", key_volume}, {"secret", std::move(secret)}});
}

Json hosts_volume(const api::TrainJob& job) {
    const Json files = Json::array({key_file(host_file_key, host_file_key, 0444)});
    Json config_map = Json::object({{"name", host_file_name(job)}, {"items", files}});
    return Json::object({{"name", host_file_volume}, {"configMap", std::move(config_map)}});
}

Json mount(std::string_view volume, std::string_view path) {
    return Json::object({{"name", volume}, {"mountPath", path}});
}

void give_keys(Info& info, const PodSet& pods) {
    static const Json nothing;
    const Json* const container = info.container(pods, api::node_container);
    Json& pod_spec = info.pod_spec(pods);
    // OpenSSH refuses a private key of its user's that others can read. Root owns the files: only for root
    // that matters, and any other user has to be able to read them.
    upsert_volume(pod_spec,
                  keys_volume(info.job, readable_mode(pod_spec, container ? *container : nothing, 0600)));
    const std::string_view folder = info.ml_policy["mpi"]["sshAuthMountPath"].as_string();
    if (Json* node = info.container(pods, api::node_container))
        upsert_mount(*node, mount(key_volume, folder.empty() ? default_key_folder : folder));
}

void give_hosts(Info& info, const PodSet& pods, const Implementation& implementation) {
    upsert_volume(info.pod_spec(pods), hosts_volume(info.job));
    Json* node = info.container(pods, api::node_container);
    if (!node) return;
    upsert_mount(*node, mount(host_file_volume, host_file_folder));
    for (const auto& [name, value] : implementation.variables)
        upsert_env(*node,
                   env_value(name, value == "{slots}" ? std::to_string(slots(info)) : std::string(value)));
}

api::Result<std::string> host_lines(Info& info, const Implementation& implementation) {
    const std::string ending = std::string(implementation.slots_mark) + std::to_string(slots(info)) + "\n";
    std::string lines;
    for (const PodSet& pods : info.pod_sets) {
        const bool is_host =
            pods.name == node_job || (pods.name == launcher_job && launcher_is_node(info.ml_policy["mpi"]));
        if (!is_host || pods.count <= 0) continue;
        for (std::int64_t replica = 0; replica < pods.replicas; ++replica)
            for (std::int64_t index = 0; index < pods.count; ++index) {
                if (lines.size() > most_host_file_bytes)
                    return api::invalid("spec.trainer.numNodes",
                                        "the host file of so many nodes does not fit into a ConfigMap");
                lines += info.endpoint(pods.name, replica, index) + ending;
            }
    }
    return lines;
}

Json key_secret(const api::TrainJob& job, const SshKeyPair& keys) {
    Json secret =
        Json::object({{"apiVersion", "v1"}, {"kind", "Secret"}, {"type", "kubernetes.io/ssh-auth"}});
    secret["metadata"]["name"] = secret_name(job);
    secret["data"]["ssh-privatekey"] = api::to_base64(keys.private_pem);
    secret["data"]["ssh-publickey"] = api::to_base64(keys.public_line);
    return with_data_note(std::move(secret));
}

Json host_file_map(const api::TrainJob& job, std::string lines) {
    Json map = Json::object({{"apiVersion", "v1"}, {"kind", "ConfigMap"}});
    map["metadata"]["name"] = host_file_name(job);
    map["data"][host_file_key] = std::move(lines);
    return map;
}

// A launcher and its nodes, which trust each other by a key that is made for this TrainJob alone.
class Mpi final : public Plugin {
public:
    std::string_view name() const override { return "mpi"; }
    const Policy* policy() const override { return &mpi_policy; }
    std::span<const api::RuleId> rules() const override { return admission_rules; }

    // The launcher is one of the nodes, if it trains; there is at least one other Pod.
    std::int64_t scaled_pods(const Json& mpi, std::int64_t num_nodes) const override {
        if (!launcher_is_node(mpi)) return num_nodes;
        return num_nodes > 2 ? num_nodes - 1 : 1;
    }
    // The launcher with the trainer's label and the nodes are one group of hosts.
    bool also_trains(const Json& mpi, std::string_view job) const override {
        return job == node_job && launcher_is_node(mpi);
    }
    // The processes of all hosts are one program. A launcher that is no host only starts them.
    bool also_runs_program(const Json&, std::string_view job) const override { return job == node_job; }
    // The slots are in the host file, and in the environment of the launcher.
    bool takes_processes(const Json& mpi, const Json& job) const override {
        const std::string_view name = job["name"].as_string();
        if (name != launcher_job) return name == node_job;
        return launcher_is_node(mpi) || find_named(pod_spec_of(job)["containers"], api::node_container);
    }

    bool depends_on_devices(const Json& mpi, const Json& trainer) const override {
        return has_slots_for_devices(mpi, trainer);
    }

    void add_needs(const NeedsContext& context, Needs& needs) const override {
        const api::TrainJob& job = context.job;
        const Need keys = own_secret(job, secret_name(job));
        needs.objects.push_back(keys);
        needs.objects.push_back({.resource = api::resources::config_maps,
                                 .key = {.ns = job.meta.ns, .name = host_file_name(job)},
                                 .apply = ApplyPolicy::always});
        needs.ssh_key_pair = needs.ssh_key_pair || !find_observed(context.observed, keys);
    }

    void validate(const ValidationInputs& review, FieldErrors& errors) const override {
        const Json& mpi = policy_of(review.runtime);
        check_jobs(review, mpi, errors);
        const Implementation* implementation = implementation_of(mpi);
        if (!implementation) return;
        const Json& env = review.job.spec["trainer"]["env"];
        std::string taken;
        for (const auto& [name, value] : implementation->variables)
            if (find_named(env, name)) taken += (taken.empty() ? "" : ", ") + std::string(name);
        if (!taken.empty())
            errors.push_back({FieldErrorType::invalid,
                              "spec.trainer.env",
                              taken,
                              "must not be set: the MPI runtime sets these variables for " +
                                  std::string(implementation->name),
                              {}});
    }

    // The original's schema admits an empty one, on which its reconciler fails.
    void validate_runtime(const Json& runtime, const ActivePlugins&, FieldErrors& errors) const override {
        const Json& implementation = policy_of(runtime)["mpiImplementation"];
        if (implementation.is_string() && implementation.as_string().empty())
            errors.push_back({FieldErrorType::invalid,
                              "spec.mlPolicy.mpi.mpiImplementation",
                              implementation,
                              "must not be empty: leave it out for OpenMPI",
                              {}});
    }

    void add_runtime_warnings(const Json& runtime, const ActivePlugins&,
                              api::Warnings& warnings) const override {
        if (!failure_policy_of(runtime).is_null())
            warnings.push_back(
                {.text = "spec.runPolicy.failurePolicy: each start of the launcher that fails is a restart",
                 .rule = Rule::replaced_failure_handling});
        // The kubelet opens the key to the group. For root, who owns it, ssh refuses such a key.
        for (const std::string_view job : {launcher_job, node_job})
            if (const Json* const pods = find_named(jobs_of(runtime), job); pods && opens_key(*pods))
                warnings.push_back({.text = "job " + std::string(job) +
                                            ": fsGroup opens the key to its group, and ssh of root refuses "
                                            "it: set runAsUser, or take fsGroup away",
                                    .rule = key_mode_rule});
        // The port is in the image. A scheduler keeps Pods with the same one apart if it knows it.
        const Json* const nodes = find_named(jobs_of(runtime), node_job);
        if (!nodes || !pod_spec_of(*nodes)["hostNetwork"].bool_or(false)) return;
        const Json* const node = find_named(pod_spec_of(*nodes)["containers"], api::node_container);
        if (node && (*node)["ports"].empty())
            warnings.push_back({.text =
                                    "job node: with hostNetwork, add the port of sshd to the ports of its "
                                    "container, or two jobs on a node collide",
                                .rule = Rule::host_network});
    }

    std::span<const api::RuleId> warning_rules() const override { return admission_warnings; }
    void add_warnings(const ValidationInputs& review, api::Warnings& warnings) const override {
        if (!launcher_is_node(policy_of(review.runtime))) return warn_of_launcher_fields(review, warnings);
        std::set<std::string_view> images;
        for (const Json& job : review.merged_spec["replicatedJobs"].items()) {
            const auto name = job["name"].as_string();
            const Json* node = find_named(pod_spec_of(job)["containers"], api::node_container);
            if (!node || (name != launcher_job && name != node_job)) continue;
            const Json& own = review.job.spec["trainer"]["image"];
            const bool takes = !own.empty() && review.plugins.takes_image(job);
            images.insert((takes ? own : (*node)["image"]).as_string());
        }
        if (images.size() > 1)
            warnings.push_back(
                "jobs \"launcher\" and \"node\" have different images, and both run processes of the "
                "program");
    }

    api::Result<> enforce_ml_policy(const Inputs& inputs, Info& info) const override {
        const Implementation* implementation = implementation_of(policy_of(inputs.runtime));
        if (!implementation)
            return api::invalid("spec.mlPolicy.mpi.mpiImplementation", "must be OpenMPI, Intel or MPICH");
        if (has_slots_for_devices(info)) info.note_unknown_devices();
        for (const std::string_view job : {launcher_job, node_job})
            if (const PodSet* pods = info.pod_set(job)) give_keys(info, *pods);
        if (const PodSet* launcher = info.pod_set(launcher_job)) give_hosts(info, *launcher, *implementation);
        return {};
    }

    api::Result<> build(const Inputs& inputs, Info& info, Built& built) const override {
        auto lines = host_lines(info, *implementation_of(policy_of(inputs.runtime)));
        if (!lines) return lines.error();
        const Need keys = own_secret(info.job, secret_name(info.job));
        if (auto unchanged = check_own_secret(inputs.observed, keys); !unchanged) return unchanged;
        if (inputs.ssh_key_pair)
            built.objects.push_back({key_secret(info.job, *inputs.ssh_key_pair), ApplyPolicy::once});
        built.objects.push_back({host_file_map(info.job, std::move(*lines)), ApplyPolicy::always});
        return {};
    }

private:
    static bool opens_key(const Json& job) {
        const Json& pod_spec = pod_spec_of(job);
        const Json* const node = find_named(pod_spec["containers"], api::node_container);
        return node && !pod_spec["securityContext"]["fsGroup"].is_null() && may_be_root(pod_spec, *node);
    }

    // As in Kubeflow Trainer, they go to the job with the trainer's label: here one that runs no process.
    static void warn_of_launcher_fields(const ValidationInputs& review, api::Warnings& warnings) {
        const Json* const nodes = find_named(review.merged_spec["replicatedJobs"], node_job);
        if (!nodes || review.plugins.trains(*nodes)) return;
        std::string fields;
        for (const char* field : {"env", "resourcesPerNode", "resourceClaimsPerNode"})
            if (!review.job.spec["trainer"][field].empty())
                fields.append(fields.empty() ? "" : ", ").append("spec.trainer.").append(field);
        if (!fields.empty())
            warnings.push_back({.text = "of the jobs \"launcher\" and \"node\", the launcher alone gets " +
                                        fields +
                                        ", and it runs no process of the program (runLauncherAsNode)",
                                .rule = launcher_fields_rule});
    }

    // A single node connects to no other, so no job can be missing.
    static void check_jobs(const ValidationInputs& review, const Json& mpi, FieldErrors& errors) {
        const Json& nodes = review.job.spec["trainer"]["numNodes"];
        if (nodes.int_or(1) < 2 || !launcher_is_node(mpi)) return;
        const Json& jobs = review.runtime["spec"]["template"]["spec"]["replicatedJobs"];
        for (const std::string_view job : {launcher_job, node_job})
            if (!find_named(jobs, job)) {
                errors.push_back({FieldErrorType::invalid,
                                  "spec.trainer.numNodes",
                                  nodes,
                                  "must be 1: the runtime trains on its launcher too, but it has no job \"" +
                                      std::string(job) + "\"",
                                  {}});
                return;
            }
    }
};

}  // namespace

std::unique_ptr<Plugin> make_mpi() { return std::make_unique<Mpi>(); }

}  // namespace runtime
