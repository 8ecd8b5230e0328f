// The job "node" of a Flux runtime, and its errors. flux_scripts_test.cpp tests its scripts.
#include <algorithm>
#include <map>
#include <set>

#include "api/base64.hpp"
#include "fixtures.hpp"
#include "flux_objects.hpp"
#include "plugins/flux/flux_settings.hpp"
#include "runtime/validation.hpp"

using api::Json;

namespace {

const char* const container =
    "spec.template.spec.replicatedJobs[0].template.spec.template.spec.containers[0]";
const char* const init_containers =
    "spec.template.spec.replicatedJobs[0].template.spec.template.spec.initContainers";

// Returns "field: detail" of every error of admission.
std::string refusals(const Json& job, const Json& blueprint) {
    const Json nothing;
    std::string lines;
    for (const api::FieldError& error :
         runtime::validate_train_job({.object = job, .old_object = nothing, .runtime = &blueprint}).errors)
        lines += error.field + ": " + error.detail + "\n";
    return lines;
}

}  // namespace

TEST_CASE("the program's arguments reach the script one by one", "[flux]") {
    struct Case {
        const char* name;
        const char* trainer;
        const char* of_runtime;
        const char* want;
    };
    const Case cases[] = {
        {"the runtime's", "null", "{name: node, image: i, command: [a], args: [b, c]}", "[a, b, c]"},
        {"the TrainJob's command, the runtime's args", "{command: [x, y]}",
         "{name: node, image: i, command: [a], args: [b]}", "[x, y, b]"},
        {"the TrainJob's args", "{args: [z]}", "{name: node, image: i, command: [a], args: [b]}", "[a, z]"},
        {"no args, explicitly", "{args: []}", "{name: node, image: i, command: [a], args: [b]}", "[a]"},
        {"nothing", "null", "{name: node, image: i}", "[]"},
        {"words with blanks, quotes, dollars and line breaks",
         R"({command: [python, -c, "print('a  b')\n"], args: ["$HOME", "it's", "\"q\""]})",
         "{name: node, image: i}", R"([python, -c, "print('a  b')\n", "$HOME", "it's", "\"q\""])"},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) {
            const FluxObjects built =
                build_flux({{"spec.trainer", c.trainer}}, {{container, c.of_runtime}}).value();
            Json want = tree("[/bin/bash, /etc/flux-config/entrypoint.sh]");
            const Json words = tree(c.want);
            for (const Json& word : words.items()) want.push_back(word);
            CHECK(built.node()["command"] == want);
            CHECK(built.node()["args"].is_null());
        }
    }
}

TEST_CASE("a job \"node\" that does not train runs its own program under Flux", "[flux]") {
    const FluxObjects built =
        build_flux({{"spec.trainer", "{command: [x]}"}},
                   {{container, "{name: node, image: i, command: [a], args: [b]}"},
                    {"spec.template.spec.replicatedJobs[0].template.metadata.labels", "{}"}})
            .value();
    CHECK(built.node()["command"] == tree("[/bin/bash, /etc/flux-config/entrypoint.sh, a, b]"));
    CHECK(built.node()["args"].is_null());
}

TEST_CASE("Flux is installed by an init container and mounted beside the program", "[flux]") {
    const FluxObjects built = build_flux({}, {{init_containers, "[{name: first, image: i}]"}}).value();
    CHECK(built.pod()["initContainers"] == tree(R"(
- {name: first, image: i}
- name: flux-installer
  image: ghcr.io/converged-computing/flux-view-ubuntu:tag-jammy
  command: [/bin/bash, /etc/flux-config/init.sh]
  securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
  volumeMounts:
  - {name: flux-install, mountPath: /mnt/flux}
  - {name: flux-scripts, mountPath: /etc/flux-config, readOnly: true}
)"));
    CHECK(built.node()["volumeMounts"] == tree(R"(
- {name: flux-install, mountPath: /mnt/flux}
- {name: spack-install, mountPath: /opt/software}
- {name: flux-scripts, mountPath: /etc/flux-config, readOnly: true}
- {name: flux-curve, mountPath: /curve, readOnly: true}
- {name: shared-memory, mountPath: /dev/shm}
)"));
    CHECK(built.pod()["volumes"] == tree(R"(
- {name: spack-install, emptyDir: {}}
- {name: flux-install, emptyDir: {}}
- {name: flux-scripts, configMap: {name: job-flux-entrypoint, defaultMode: 493}}
- {name: shared-memory, emptyDir: {medium: Memory}}
- {name: flux-curve, secret: {secretName: job-flux-curve, defaultMode: 256}}
)"));
}

TEST_CASE("settings come from the runtime's environment and then from the TrainJob's", "[flux]") {
    const Change of_runtime = {
        container,
        "{name: node, image: i, env: [{name: FLUX_VIEW_IMAGE, value: 'view:1'}, {name: "
        "FLUX_NETWORK_DEVICE, value: ib0}, {name: FLUX_QUEUE_POLICY, value: easy}]}"};
    const FluxObjects runtimes = build_flux({}, {of_runtime}).value();
    CHECK(runtimes.installer()["image"] == "view:1");
    CHECK(runtimes.file("broker.toml").find("default_bind = \"tcp://ib0:%p\"") != std::string::npos);
    CHECK(runtimes.file("broker.toml").find("queue-policy = \"easy\"") != std::string::npos);

    const FluxObjects jobs =
        build_flux(
            {{"spec.trainer.env",
              "[{name: FLUX_VIEW_IMAGE, value: 'view:2'}, {name: FLUX_NETWORK_DEVICE, valueFrom: {fieldRef: "
              "{fieldPath: spec.nodeName}}}, {name: FLUX_QUEUE_POLICY, value: ''}]"}},
            {of_runtime})
            .value();
    CHECK(jobs.installer()["image"] == "view:2");
    // Variables that only a Pod has, and empty ones, set nothing.
    CHECK(jobs.file("broker.toml").find("tcp://ib0:%p") != std::string::npos);
    CHECK(jobs.file("broker.toml").find("queue-policy = \"easy\"") != std::string::npos);
    CHECK(env_text(jobs.node()) == "FLUX_VIEW_IMAGE=view:2 FLUX_NETWORK_DEVICE=<field> FLUX_QUEUE_POLICY=");
}

TEST_CASE("brokers find each other by the endpoints of the job \"node\"", "[flux]") {
    struct Case {
        const char* name;
        std::vector<Change> job;
        std::vector<Change> of_runtime;
        const char* hosts;
        const char* connect;
    };
    const Case cases[] = {
        {"one node", {}, {}, "job-node-0-[0]", "tcp://%h.job:%p"},
        {"four nodes", {{"spec.trainer.numNodes", "4"}}, {}, "job-node-0-[0-3]", "tcp://%h.job:%p"},
        {"the runtime's nodes", {}, {{"spec.mlPolicy.numNodes", "3"}}, "job-node-0-[0-2]", "tcp://%h.job:%p"},
        {"a subdomain",
         {},
         {{"spec.template.spec.network.subdomain", "mesh"}},
         "job-node-0-[0]",
         "tcp://%h.mesh:%p"},
        {"replicas of a job that is not run once",
         {},
         {{"spec.template.spec.replicatedJobs[0].template",
           "{spec: {parallelism: 2, template: {spec: "
           "{containers: [{name: node, image: i}]}}}}"},
          {"spec.template.spec.replicatedJobs[0].replicas", "2"}},
         "job-node-0-[0-1],job-node-1-[0-1]",
         "tcp://%h.job:%p"},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) {
            const FluxObjects built = build_flux(c.job, c.of_runtime).value();
            const std::string broker = built.file("broker.toml");
            CHECK(broker.find("hosts = [ { host = \"" + std::string(c.hosts) + "\" } ]") !=
                  std::string::npos);
            CHECK(broker.find("default_connect = \"" + std::string(c.connect) + "\"") != std::string::npos);
            CHECK(built.file("init.sh").find("'" + std::string(c.hosts) + "'") != std::string::npos);
        }
    }
}

TEST_CASE("no placeholder is left in any file, and the ConfigMap is kept up to date", "[flux]") {
    const FluxObjects built = build_flux({}, {}).value();
    std::set<std::string> names;
    for (const auto& [name, text] : built.config_map["data"].members()) {
        names.insert(name);
        CHECK(text.as_string().find("{{") == std::string_view::npos);
    }
    CHECK(names == std::set<std::string>{"broker.toml", "entrypoint.sh", "init.sh"});
    // Flux must not drain a node for devices that its hwloc does not know.
    CHECK(built.file("broker.toml")
              .find("[resource]\npath = \"/mnt/flux/config/etc/flux/system/R\"\nnoverify = true\n") !=
          std::string::npos);
    CHECK(built.config_map["metadata"]["name"] == "job-flux-entrypoint");
    CHECK(built.config_map_applied == runtime::ApplyPolicy::always);
}

TEST_CASE("the certificate is created from the given keys, once, and is not immutable", "[flux]") {
    const FluxObjects built = build_flux({}, {}).value();
    CHECK(built.secret_applied == runtime::ApplyPolicy::once);
    CHECK(built.secret["immutable"].is_null());
    CHECK(built.secret["metadata"]["name"] == "job-flux-curve");
    const std::string text = api::from_base64(built.secret["data"]["curve.cert"].as_string()).value();
    CHECK(text ==
          "#   Made for one TrainJob: whoever has this can join its Flux brokers.\n"
          "metadata\n    name = \"job\"\n"
          "curve\n    public-key = \"" +
              runtime::to_z85(std::string(32, 'p')) + "\"\n    secret-key = \"" +
              runtime::to_z85(std::string(32, 's')) + "\"\n");
}

TEST_CASE("nothing is built with a certificate that was changed since it was made", "[flux]") {
    const api::TrainJob job = api::parse_train_job(train_job());
    const Json blueprint = runtime_with("flux");
    Json secret = build_flux({}, {}).value().secret;
    CHECK(runtime::build({.job = job, .runtime = blueprint, .observed = {secret}}));
    secret["data"]["curve.cert"] = "b3RoZXIK";
    const auto refused = runtime::build({.job = job, .runtime = blueprint, .observed = {secret}});
    REQUIRE_FALSE(refused);
    CHECK_THAT(refused.error().message, Catch::StartsWith("Secret ns/job-flux-curve was changed"));
}

TEST_CASE("Z85 matches ZeroMQ's", "[flux]") {
    CHECK(runtime::to_z85("\x86\x4F\xD2\x6F\xB5\x59\xF7\x5B") == "HelloWorld");
    CHECK(runtime::to_z85(std::string(4, '\0')) == "00000");
    CHECK(runtime::to_z85(std::string(4, '\xff')) == "%nSc0");
    CHECK(runtime::to_z85("").empty());
}

TEST_CASE("a key is needed only while there is no Secret", "[flux]") {
    const api::TrainJob job = api::parse_train_job(train_job());
    const Json blueprint = runtime_with("flux");
    const runtime::Needs first = runtime::needs(job, blueprint, {});
    CHECK(first.curve_key_pair);
    CHECK_FALSE(first.ssh_key_pair);
    CHECK(first.objects == std::vector<runtime::Need>{
                               {.resource = api::resources::secrets,
                                .key = {"ns", "job-flux-curve"},
                                .apply = runtime::ApplyPolicy::once},
                               {.resource = api::resources::config_maps,
                                .key = {"ns", "job-flux-entrypoint"},
                                .apply = runtime::ApplyPolicy::always},
                           });
    const Json secret =
        tree("{apiVersion: v1, kind: Secret, metadata: {name: job-flux-curve, namespace: ns}}");
    CHECK_FALSE(runtime::needs(job, blueprint, {secret}).curve_key_pair);
}

TEST_CASE("a job that Flux could not run is refused, by admission and by the builder", "[flux][admission]") {
    struct Case {
        const char* name;
        const char* trainer;
        std::vector<Change> of_runtime;
        const char* want;  // "field: detail"; empty if it is fine
    };
    const std::string characters = " must consist of letters, digits, '.', '_' and '-'\n";
    const std::string device = "spec.trainer.env: FLUX_NETWORK_DEVICE" + characters;
    const std::string of_runtime = "spec.runtimeRef: FLUX_QUEUE_POLICY" + characters;
    const Case cases[] = {
        {"nothing wrong", "{numNodes: 2}", {}, ""},
        {"nothing there", "null", {}, ""},
        {"no nodes",
         "{numNodes: 0}",
         {},
         "spec.trainer.numNodes: must be at least 1 for a runtime with Flux\n"},
        {"GPUs for half of the processes",
         "{numProcPerNode: 4, resourcesPerNode: {limits: {nvidia.com/gpu: 2}}}",
         {},
         "spec.trainer.numProcPerNode: must divide the 2 devices of a node: Flux gives every process the "
         "same "
         "number\n"},
        {"the runtime's GPUs and processes",
         "null",
         {{"spec.mlPolicy.flux.numProcPerNode", "3"},
          {container, "{name: node, image: i, resources: {limits: {nvidia.com/gpu: 4}}}"}},
         "spec.trainer.numProcPerNode: must divide the 4 devices of a node: Flux gives every process the "
         "same "
         "number\n"},
        {"two GPUs for every process",
         "{numProcPerNode: 4, resourcesPerNode: {limits: {nvidia.com/gpu: 8}}}",
         {},
         ""},
        {"more tasks than Flux counts",
         "{numNodes: 65536, numProcPerNode: 65536}",
         {},
         "spec.trainer.numProcPerNode: nodes times processes makes more than 2^31 Flux tasks\n"},
        {"a device that would end the string",
         R"({env: [{name: FLUX_NETWORK_DEVICE, value: "eth0\"\nx = \""}]})",
         {},
         device.c_str()},
        {"a device that would be run",
         "{env: [{name: FLUX_NETWORK_DEVICE, value: '$(id)'}]}",
         {},
         device.c_str()},
        {"the runtime's policy",
         "{}",
         {{container, "{name: node, image: i, env: [{name: FLUX_QUEUE_POLICY, value: 'a b'}]}"}},
         of_runtime.c_str()},
        {"a subdomain that is none",
         "{}",
         {{"spec.template.spec.network.subdomain", "'a\"b'"}},
         "spec.runtimeRef: the runtime's network.subdomain must be a DNS name\n"},
        {"no job to run in",
         "{}",
         {{"spec.template.spec.replicatedJobs[0].name", "worker"}},
         "spec.runtimeRef: the runtime has no job \"node\" with a container \"node\", in which Flux would "
         "run\n"},
        {"no container to run in",
         "{}",
         {{container, "{name: worker, image: i}"}},
         "spec.runtimeRef: the runtime has no job \"node\" with a container \"node\", in which Flux would "
         "run\n"},
        {"the installer's name",
         "{}",
         {{init_containers, "[{name: flux-installer, image: i}]"}},
         "spec.runtimeRef: the init container name \"flux-installer\" is reserved: the runtime's job "
         "\"node\" must "
         "not have one\n"},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) {
            const Json job = changed(train_job(), {{"spec.trainer", c.trainer}});
            CHECK(refusals(job, changed(runtime_with("flux"), c.of_runtime)) == c.want);
            const auto built = build_flux({{"spec.trainer", c.trainer}}, c.of_runtime);
            CHECK(built.has_value() == std::string_view(c.want).empty());
            if (!built) CHECK(built.error().field + ": " + built.error().message + "\n" == c.want);
        }
    }
}

TEST_CASE("processes have their parts of a node's devices, or share what Pods share", "[flux][admission]") {
    const auto options = [](const char* limits, int processes) {
        const std::string trainer = "{numProcPerNode: " + std::to_string(processes) +
                                    ", resourcesPerNode: {limits: {cpu: 8, " + std::string(limits) + "}}}";
        CHECK(refusals(changed(train_job(), {{"spec.trainer", trainer.c_str()}}), runtime_with("flux"))
                  .empty());
        const std::string script =
            build_flux({{"spec.trainer", trainer.c_str()}}, {}).value().file("entrypoint.sh");
        std::string found;
        for (const char* option : {"--gpu='0-", "-g '", "-o gpu-affinity=off"})
            if (const auto at = script.find(option); at != script.npos) {
                const auto end = script.find(' ', at + std::string_view(option).size());
                found += (found.empty() ? "" : " ") + script.substr(at, end - at);
            }
        return found;
    };
    const std::string shared = "-o gpu-affinity=off";
    CHECK(options("memory: 1Gi", 2).empty());
    CHECK(options("nvidia.com/gpu: 4", 2) == "--gpu='0-3' -g '2'");
    CHECK(options("habana.ai/gaudi: 8", 8) == "--gpu='0-7' -g '1'");
    CHECK(options("volcano.sh/vgpu-number: 2", 2) == "--gpu='0-1' -g '1'");
    CHECK(options("nvidia.com/gpu.shared: 1", 1) == "--gpu='0-0' -g '1'");
    for (const char* part :
         {"nvidia.com/gpu.shared: 1", "nvidia.com/mig-1g.5gb: 1", "volcano.sh/vgpu-number: 1",
          "koordinator.sh/gpu: 50", "nvidia.com/gpumem: 3000", "aliyun.com/gpu-mem: 15"})
        CHECK(options(part, 2) == shared);
    CHECK(options("volcano.sh/vgpu-number: 2", 3) == shared);
    // Flux would hide what it does not know.
    CHECK(options("acme.com/npu: 4", 2) == shared);
    // A whole device is not shared, even beside a scheduler's number of it.
    const Json whole = changed(train_job(), {{"spec.trainer",
                                              "{numProcPerNode: 2, resourcesPerNode: {limits: "
                                              "{nvidia.com/gpu: 1, hami.io/vgpu: 1}}}"}});
    CHECK(
        refusals(whole, runtime_with("flux")) ==
        "spec.trainer.numProcPerNode: must divide the 1 devices of a node: Flux gives every process the same "
        "number\n");
}

TEST_CASE("what Flux adds to a Pod satisfies what the container beside it does", "[flux]") {
    const auto installer = [](const char* settings, const char* per_node = "null") {
        const std::string node = "{name: node, image: i, " + std::string(settings) + "}";
        const FluxObjects built =
            build_flux({{"spec.trainer.resourcesPerNode", per_node}}, {{container, node.c_str()}}).value();
        const Json& added = built.installer();
        CHECK(added["name"] == "flux-installer");
        return to_json(added["securityContext"]) + " " + to_json(added["resources"]);
    };
    const std::string least = R"("allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"]})";
    CHECK(installer("env: []") == "{" + least + "} null");
    CHECK(installer("securityContext: {}") == "{" + least + "} null");
    // As Pod Security "restricted" demands.
    CHECK(installer(
              "securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}, runAsNonRoot: "
              "true, seccompProfile: {type: RuntimeDefault}}") ==
          "{" + least + R"(,"runAsNonRoot":true,"seccompProfile":{"type":"RuntimeDefault"}} null)");
    // What the program may do beyond others, the installer does not need.
    for (const char* more :
         {"privileged: true, capabilities: {add: [SYS_ADMIN]}, ", "allowPrivilegeEscalation: true, ",
          "capabilities: {drop: [NET_RAW]}, ", "procMount: Unmasked, ",
          "seccompProfile: {type: Unconfined}, appArmorProfile: {type: Unconfined}, "})
        CHECK(installer(("securityContext: {" + std::string(more) + "runAsUser: 0}").c_str()) ==
              "{" + least + R"(,"runAsUser":0} null)");
    // As a quota of CPU and memory demands, and not a device twice.
    CHECK(installer("resources: {limits: {cpu: 1, memory: 1Gi, nvidia.com/gpu: 1}, requests: {cpu: 1}}") ==
          "{" + least + R"(} {"limits":{"cpu":1,"memory":"1Gi"},"requests":{"cpu":1}})");
    CHECK(installer("resources: {limits: {cpu: 1}}", "{limits: {cpu: 2}}") ==
          "{" + least + R"(} {"limits":{"cpu":2}})");
}

TEST_CASE("patches may set what the init container of Flux lacks", "[flux]") {
    const char* const patch =
        "[{manager: a.io/x, trainingRuntimeSpec: {template: {spec: {replicatedJobs: [{name: node, template: "
        "{spec: "
        "{template: {spec: {initContainers: [{name: flux-installer, env: [{name: A, value: a}], "
        "securityContext: "
        "{runAsUser: 7}}]}}}}}]}}}}]";
    const char* const node = "{name: node, image: i, securityContext: {runAsUser: 5, runAsGroup: 6}}";
    const FluxObjects built = build_flux({{"spec.runtimePatches", patch}}, {{container, node}}).value();
    const Json& added = built.pod()["initContainers"];
    REQUIRE(added.items().size() == 1);
    CHECK(
        added[std::size_t{0}]["securityContext"] ==
        tree("{runAsUser: 7, runAsGroup: 6, allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}"));
    CHECK(env_text(added[std::size_t{0}]) == "A=a");
    CHECK(added[std::size_t{0}]["command"] == tree("[/bin/bash, /etc/flux-config/init.sh]"));
    CHECK(added[std::size_t{0}]["volumeMounts"].items().size() == 2);
    const Json job = changed(train_job(), {{"spec.runtimePatches", patch}});
    CHECK(refusals(job, runtime_with("flux")).empty());
    CHECK(refusals(job, runtime_with("torch")).find("has no such entry in its initContainers") !=
          std::string::npos);
}

TEST_CASE("the user of a container can read Flux' certificate", "[flux]") {
    const auto mode = [](const char* of_pod, const char* of_container) {
        const std::string node = "{name: node, image: i, securityContext: " + std::string(of_container) + "}";
        const std::string pod = std::string(std::string_view(container).substr(
                                    0, std::string_view(container).rfind(".containers"))) +
                                ".securityContext";
        const FluxObjects built = build_flux({}, {{container, node.c_str()}, {pod.c_str(), of_pod}}).value();
        for (const Json& volume : built.pod()["volumes"].items())
            if (volume["name"] == "flux-curve") return volume["secret"]["defaultMode"].int_or(0);
        return std::int64_t{0};
    };
    CHECK(mode("{}", "{}") == 0400);
    CHECK(mode("{fsGroup: 1000, runAsUser: 1000}", "{}") == 0400);
    CHECK(mode("{runAsUser: 1000}", "{}") == 0444);
    CHECK(mode("{runAsUser: 1000}", "{runAsUser: 0}") == 0400);
    CHECK(mode("{}", "{runAsNonRoot: true}") == 0444);
}
