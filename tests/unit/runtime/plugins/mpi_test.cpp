// Launchers and their nodes: host files, keys, variables of each implementation.
#include <map>

#include "fixtures.hpp"
#include "runtime/validation.hpp"

using api::Json;

namespace {

// A launcher that trains and its nodes, as in the shipped runtimes.
Json mpi_runtime() {
    return tree(R"(
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: runtime}
spec:
  mlPolicy: {numNodes: 1, mpi: {}}
  template:
    spec:
      replicatedJobs:
      - name: node
        template: {spec: {template: {spec: {containers: [{name: node, image: "mpi:1"}]}}}}
      - name: launcher
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec: {template: {spec: {containers: [{name: node, image: "mpi:1"}]}}}
)");
}

const char* const node_security =
    "spec.template.spec.replicatedJobs[0].template.spec.template.spec.securityContext";
const char* const launcher_security =
    "spec.template.spec.replicatedJobs[1].template.spec.template.spec.securityContext";
const char* const launcher_container_security =
    "spec.template.spec.replicatedJobs[1].template.spec.template.spec.containers[0].securityContext";
const char* const node_resources =
    "spec.template.spec.replicatedJobs[0].template.spec.template.spec.containers[0].resources";

struct Outcome {
    std::map<std::string, runtime::BuiltObject> objects = {};  // by kind

    const Json& job_set() const { return objects.at("JobSet").object; }
    const Json& pod(std::size_t job) const {
        return job_set()["spec"]["replicatedJobs"][job]["template"]["spec"]["template"]["spec"];
    }
    std::string host_file() const {
        return std::string(objects.at("ConfigMap").object["data"]["hostfile"].as_string());
    }
};

api::Result<Outcome> try_build(const std::vector<Change>& job, const std::vector<Change>& of_runtime,
                               std::optional<runtime::SshKeyPair> keys) {
    const api::TrainJob train = api::parse_train_job(changed(train_job(), job));
    const Json blueprint = changed(mpi_runtime(), of_runtime);
    auto built = runtime::build({.job = train, .runtime = blueprint, .ssh_key_pair = std::move(keys)});
    if (!built) return built.error();
    Outcome outcome;
    for (runtime::BuiltObject& object : built->objects) {
        const std::string kind(std::as_const(object.object)["kind"].as_string());
        outcome.objects[kind] = std::move(object);
    }
    return outcome;
}

const runtime::SshKeyPair some_keys = {.private_pem = "PRIVATE\n", .public_line = "PUBLIC\n"};

Outcome build(const std::vector<Change>& job, const std::vector<Change>& of_runtime = {}) {
    auto outcome = try_build(job, of_runtime, some_keys);
    if (!outcome) FAIL(outcome.error());
    return *outcome;
}

// Returns "field: value", one a line.
std::string refusals(const Json& job, const Json& blueprint) {
    const Json nothing;
    std::string lines;
    for (const api::FieldError& error :
         runtime::validate_train_job({.object = job, .old_object = nothing, .runtime = &blueprint}).errors)
        lines += error.field + ": " + to_json(error.value) + "\n";
    return lines;
}

// Returns the warnings about a job that is admitted.
std::string warned(const std::vector<Change>& job, const std::vector<Change>& of_runtime) {
    const Json object = changed(train_job(), job);
    const Json blueprint = changed(mpi_runtime(), of_runtime);
    const auto found = runtime::validate_train_job({.object = object, .runtime = &blueprint});
    CHECK(found.errors.empty());
    std::string text;
    for (const api::Warning& warning : found.warnings) text += warning.text;
    return text;
}

}  // namespace

TEST_CASE("the host file has a line per host that computes", "[mpi]") {
    struct Case {
        const char* name;
        std::vector<Change> job;
        std::vector<Change> of_runtime;
        const char* want;
    };
    const Change four = {"spec.trainer.numNodes", "4"};
    const Change three = {"spec.trainer.numNodes", "3"};
    const Change with_launcher = {"spec.mlPolicy.mpi.runLauncherAsNode", "true"};
    const Case cases[] = {
        {"without a trainer one node", {}, {}, "job-node-0-0.job slots=1\n"},
        {"two nodes",
         {{"spec.trainer.numNodes", "2"}},
         {},
         "job-node-0-0.job slots=1\njob-node-0-1.job slots=1\n"},
        {"the launcher is one of the nodes, in the order of the template",
         {three},
         {with_launcher},
         "job-node-0-0.job slots=1\njob-node-0-1.job slots=1\njob-launcher-0-0.job slots=1\n"},
        {"a launcher that is the only node still gets a second one",
         {{"spec.trainer.numNodes", "1"}},
         {with_launcher},
         "job-node-0-0.job slots=1\njob-launcher-0-0.job slots=1\n"},
        {"replicas",
         {{"spec.trainer.numNodes", "2"}},
         {{"spec.template.spec.replicatedJobs[0].replicas", "2"}},
         "job-node-0-0.job slots=1\njob-node-0-1.job slots=1\n"
         "job-node-1-0.job slots=1\njob-node-1-1.job slots=1\n"},
        {"a subdomain",
         {},
         {{"spec.template.spec.network.subdomain", "mesh"}},
         "job-node-0-0.mesh slots=1\n"},
        {"no nodes", {{"spec.trainer.numNodes", "0"}}, {}, ""},
        {"slots of the TrainJob",
         {{"spec.trainer.numProcPerNode", "3"}},
         {{"spec.mlPolicy.mpi.numProcPerNode", "2"}},
         "job-node-0-0.job slots=3\n"},
        {"slots of the runtime",
         {},
         {{"spec.mlPolicy.mpi.numProcPerNode", "2"}},
         "job-node-0-0.job slots=2\n"},
        {"one slot of the runtime means one per GPU",
         {},
         {{"spec.mlPolicy.mpi.numProcPerNode", "1"}, {node_resources, "{limits: {nvidia.com/gpu: 8}}"}},
         "job-node-0-0.job slots=8\n"},
        {"one slot of the TrainJob means one",
         {{"spec.trainer.numProcPerNode", "1"}},
         {{node_resources, "{limits: {nvidia.com/gpu: 8}}"}},
         "job-node-0-0.job slots=1\n"},
        {"several slots of the runtime, whatever the GPUs",
         {},
         {{"spec.mlPolicy.mpi.numProcPerNode", "2"}, {node_resources, "{limits: {nvidia.com/gpu: 8}}"}},
         "job-node-0-0.job slots=2\n"},
        {"GPUs that the TrainJob asks for",
         {{"spec.trainer.resourcesPerNode", "{limits: {nvidia.com/gpu: 4}}"}},
         {},
         "job-node-0-0.job slots=4\n"},
        {"Intel MPI's notation",
         {},
         {{"spec.mlPolicy.mpi.mpiImplementation", "Intel"}},
         "job-node-0-0.job:1\n"},
        {"MPICH's notation",
         {four},
         {{"spec.mlPolicy.mpi.mpiImplementation", "MPICH"}},
         "job-node-0-0.job:1\njob-node-0-1.job:1\njob-node-0-2.job:1\njob-node-0-3.job:1\n"},
        {"an empty implementation is Open MPI",
         {},
         {{"spec.mlPolicy.mpi.mpiImplementation", "''"}},
         "job-node-0-0.job slots=1\n"},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) {
            const Outcome built = build(c.job, c.of_runtime);
            CHECK(built.host_file() == c.want);
            CHECK(built.objects.at("ConfigMap").when == runtime::ApplyPolicy::always);
            CHECK(built.objects.at("ConfigMap").object["metadata"]["name"] == "job-mpi-hostfile");
        }
    }
}

TEST_CASE("a job without Pods has no lines, with any number of replicas", "[mpi]") {
    CHECK(build({{"spec.trainer.numNodes", "0"}},
                {{"spec.template.spec.replicatedJobs[0].replicas", "2147483647"}})
              .host_file()
              .empty());
}

TEST_CASE("nodes follow the TrainJob, and the launcher follows the policy", "[mpi]") {
    struct Case {
        const char* name;
        std::vector<Change> job;
        std::vector<Change> runtime;
        int nodes;
        int launchers;
    };
    const Change as_node = {"spec.mlPolicy.mpi.runLauncherAsNode", "true"};
    const Change two = {"spec.mlPolicy.numNodes", "2"};
    const Change three_in_template = {"spec.template.spec.replicatedJobs[0].template.spec.parallelism", "3"};
    const auto n = [](const char* number) { return std::vector<Change>{{"spec.trainer.numNodes", number}}; };
    const Case cases[] = {
        {"no value is set", {}, {}, 1, 1},
        {"the template says how many nodes", {}, {three_in_template}, 3, 1},
        {"the policy speaks of launchers only", {}, {two}, 1, 2},
        {"no node", n("0"), {three_in_template}, 0, 1},
        {"one node", n("1"), {three_in_template}, 1, 1},
        {"four nodes", n("4"), {three_in_template, two}, 4, 2},
        {"no node but the launcher", n("0"), {as_node}, 1, 1},
        {"one node and the launcher", n("1"), {as_node}, 1, 1},
        {"the launcher is one of four", n("4"), {as_node}, 3, 1},
        {"several launchers count as one node", n("4"), {as_node, two}, 3, 2},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) {
            const Outcome built = build(c.job, c.runtime);
            const Json& jobs = built.job_set()["spec"]["replicatedJobs"];
            for (const char* const member : {"parallelism", "completions"}) {
                CHECK(jobs[0]["template"]["spec"][member] == c.nodes);
                CHECK(jobs[1]["template"]["spec"][member] == c.launchers);
            }
        }
    }
}

TEST_CASE("the launcher's environment is that of its implementation", "[mpi]") {
    struct Case {
        const char* implementation;
        const char* want;
    };
    const Case cases[] = {
        {"OpenMPI",
         "OMPI_MCA_orte_default_hostfile=/etc/mpi/hostfile OMPI_MCA_orte_keep_fqdn_hostnames=true "
         "OMPI_MCA_orte_set_default_slots=2 OMPI_MCA_plm_rsh_args=-o ConnectionAttempts=10 U=u"},
        {"''",
         "OMPI_MCA_orte_default_hostfile=/etc/mpi/hostfile OMPI_MCA_orte_keep_fqdn_hostnames=true "
         "OMPI_MCA_orte_set_default_slots=2 OMPI_MCA_plm_rsh_args=-o ConnectionAttempts=10 U=u"},
        // Intel MPI Library Developer Reference for Linux, "Hydra Environment Variables".
        {"Intel",
         "I_MPI_HYDRA_HOST_FILE=/etc/mpi/hostfile I_MPI_PERHOST=2 "
         "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS=-o ConnectionAttempts=10 U=u"},
        {"MPICH",
         "HYDRA_HOST_FILE=/etc/mpi/hostfile HYDRA_LAUNCH_EXTRA_ARGS=-o ConnectionAttempts=10 "
         "HYDRA_LAUNCHER_EXTRA_ARGS=-o ConnectionAttempts=10 U=u"},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.implementation) {
            const Outcome built = build({{"spec.trainer", "{numProcPerNode: 2, env: [{name: U, value: u}]}"}},
                                        {{"spec.mlPolicy.mpi.mpiImplementation", c.implementation}});
            CHECK(env_text(built.pod(1)["containers"][0]) == c.want);
            CHECK(env_text(built.pod(0)["containers"][0]).empty());
        }
    }
}

TEST_CASE("keys and hosts are mounted where they are needed, and OpenSSH takes their modes", "[mpi]") {
    const Json keys =
        tree(R"({name: mpi-ssh-auth, secret: {secretName: job-mpi-ssh-auth, defaultMode: 256, items: [
        {key: ssh-privatekey, path: id_rsa, mode: 384},
        {key: ssh-publickey, path: id_rsa.pub, mode: 420},
        {key: ssh-publickey, path: authorized_keys, mode: 420}]}})");
    const Json hosts = tree(
        "{name: mpi-hostfile, configMap: {name: job-mpi-hostfile, items: [{key: hostfile, path: hostfile, "
        "mode: 292}]}}");
    const Outcome built = build({});
    CHECK(built.pod(0)["volumes"] == Json::array({keys}));
    CHECK(built.pod(1)["volumes"] == Json::array({keys, hosts}));
    CHECK(built.pod(0)["containers"][0]["volumeMounts"] ==
          tree("[{name: mpi-ssh-auth, mountPath: /root/.ssh}]"));
    CHECK(built.pod(1)["containers"][0]["volumeMounts"] ==
          tree("[{name: mpi-ssh-auth, mountPath: /root/.ssh}, {name: mpi-hostfile, mountPath: /etc/mpi}]"));

    const Outcome elsewhere = build({}, {{"spec.mlPolicy.mpi.sshAuthMountPath", "/home/mpi/.ssh"}});
    CHECK(elsewhere.pod(0)["containers"][0]["volumeMounts"] ==
          tree("[{name: mpi-ssh-auth, mountPath: /home/mpi/.ssh}]"));
}

TEST_CASE("the image of a TrainJob reaches every host of its program", "[mpi]") {
    const Change image = {"spec.trainer.image", "mine:7"};
    const Change keeps = {
        "spec.template.spec.replicatedJobs[0].template.metadata.annotations.\"trainer.kubeflow.org/"
        "keeps-image\"",
        "'true'"};
    const Change is_node = {"spec.mlPolicy.mpi.runLauncherAsNode", "true"};
    const auto images = [](const Outcome& built) {
        std::string text;
        for (const std::size_t job : {0U, 1U}) {
            const Json& node = built.pod(job)["containers"][0];
            text += std::string(node["image"].as_string()) + " ";
        }
        return text;
    };
    CHECK(images(build({})) == "mpi:1 mpi:1 ");
    CHECK(images(build({image})) == "mine:7 mine:7 ");
    CHECK(images(build({image}, {is_node})) == "mine:7 mine:7 ");
    CHECK(images(build({image}, {keeps})) == "mpi:1 mine:7 ");

    const std::string differ =
        "jobs \"launcher\" and \"node\" have different images, and both run processes of the program";
    CHECK(warned({image}, {is_node}).empty());
    CHECK(warned({image}, {is_node, keeps}) == differ);
    CHECK(warned({image}, {keeps}).empty());
    CHECK(warned({}, {is_node,
                      {"spec.template.spec.replicatedJobs[0].template.spec.template.spec.containers[0].image",
                       "other:1"}}) == differ);
}

TEST_CASE("the user of a launcher that is no host learns which fields do not reach the processes", "[mpi]") {
    const Change env = {"spec.trainer.env", "[{name: A, value: b}]"};
    const Change resources = {"spec.trainer.resourcesPerNode", "{limits: {nvidia.com/gpu: 4}}"};
    const Change is_node = {"spec.mlPolicy.mpi.runLauncherAsNode", "true"};
    const auto alone = [](const std::string& fields) {
        return "of the jobs \"launcher\" and \"node\", the launcher alone gets " + fields +
               ", and it runs no process of the program (runLauncherAsNode)";
    };
    CHECK(warned({}, {}).empty());
    CHECK(warned({{"spec.trainer.image", "mine:7"}, {"spec.trainer.numProcPerNode", "2"}}, {}).empty());
    CHECK(warned({env}, {}) == alone("spec.trainer.env"));
    CHECK(warned({resources}, {}) == alone("spec.trainer.resourcesPerNode"));
    CHECK(warned({env, resources}, {}) == alone("spec.trainer.env, spec.trainer.resourcesPerNode"));
    CHECK(warned({env, resources}, {is_node}).empty());
    // Without hosts there is nothing that could get them.
    CHECK(warned({env, resources}, {{"spec.template.spec.replicatedJobs[0].name", "other"}}).empty());
}

TEST_CASE("the user of an MPI container can read the key", "[mpi]") {
    const auto mode = [](const char* security_context) {
        const Outcome built = build({}, {{node_security, security_context}});
        return built.pod(0)["volumes"][0]["secret"]["items"][0]["mode"].int_or(0);
    };
    CHECK(mode("{runAsUser: 0}") == 0600);
    CHECK(mode("{runAsUser: 1000, fsGroup: 1000}") == 0600);
    CHECK(mode("{runAsUser: 1000}") == 0444);
    CHECK(mode("{runAsNonRoot: true}") == 0444);
}

TEST_CASE("the author of an MPI runtime learns that ssh of root refuses a key that a group may read",
          "[mpi]") {
    const auto warned = [](const std::vector<Change>& changes) {
        std::string lines;
        const Json runtime = changed(mpi_runtime(), changes);
        for (const api::Warning& warning :
             runtime::validate_runtime(runtime, Json(), runtime::default_pipeline(), runtime::Gates::all())
                 .warnings) {
            CHECK(warning.rule.name() == "mpi_key_mode");
            lines += warning.text + "\n";
        }
        return lines;
    };
    const auto refused = [](const char* job) {
        return std::string("job ") + job +
               ": fsGroup opens the key to its group, and ssh of root refuses it: set runAsUser, or take "
               "fsGroup away\n";
    };
    CHECK(warned({}).empty());
    CHECK(warned({{node_security, "{fsGroup: 1000}"}}) == refused("node"));
    CHECK(warned({{node_security, "{fsGroup: 1000, runAsUser: 0}"}}) == refused("node"));
    CHECK(warned({{node_security, "{fsGroup: 1000, runAsNonRoot: false}"}}) == refused("node"));
    CHECK(warned({{node_security, "{fsGroup: 1000}"}, {launcher_security, "{fsGroup: 0}"}}) ==
          refused("launcher") + refused("node"));
    CHECK(warned({{node_security, "{fsGroup: 1000, runAsUser: 1000}"}}).empty());
    CHECK(warned({{node_security, "{fsGroup: 1000, runAsNonRoot: true}"}}).empty());
    CHECK(warned({{node_security, "{runAsUser: 0}"}}).empty());
    // What the container says goes first. The shipped runtimes say it there.
    CHECK(warned({{launcher_security, "{fsGroup: 1000}"},
                  {launcher_container_security, "{runAsNonRoot: true, runAsUser: 1000}"}})
              .empty());
    CHECK(warned({{launcher_security, "{fsGroup: 1000, runAsUser: 1000}"},
                  {launcher_container_security, "{runAsUser: 0}"}}) == refused("launcher"));
}

// A kubelet that still mounts the Secret of a former job of that name would hand an immutable one on for
// ever.
TEST_CASE("the Secret is created from the given keys, once, with a note of them, and is not immutable",
          "[mpi]") {
    const Outcome built = build({});
    const runtime::BuiltObject& secret = built.objects.at("Secret");
    CHECK(secret.when == runtime::ApplyPolicy::once);
    CHECK(secret.object == tree(R"(
apiVersion: v1
kind: Secret
type: kubernetes.io/ssh-auth
metadata:
  name: job-mpi-ssh-auth
  namespace: ns
  annotations: {trainer.kubeflow.org/applied-hash: d9b87204f26c1bbc}
  ownerReferences:
  - {apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, name: job, uid: job-uid, controller: true,
     blockOwnerDeletion: true}
data: {ssh-privatekey: UFJJVkFURQo=, ssh-publickey: UFVCTElDCg==}
)"));
    CHECK(try_build({}, {}, std::nullopt).value().objects.count("Secret") == 0);
}

TEST_CASE("nothing is built with a Secret that was changed since it was made", "[mpi]") {
    const api::TrainJob job = api::parse_train_job(train_job());
    const Json blueprint = mpi_runtime();
    const auto rebuilt = [&](const Json& secret) {
        return runtime::build({.job = job, .runtime = blueprint, .observed = {secret}});
    };
    Json secret = build({}).objects.at("Secret").object;
    CHECK(rebuilt(secret));
    secret["data"]["ssh-publickey"] = "b3RoZXIK";
    const auto refused = rebuilt(secret);
    REQUIRE_FALSE(refused);
    CHECK_THAT(refused.error().message, Catch::StartsWith("Secret ns/job-mpi-ssh-auth was changed"));
    secret["metadata"].erase("annotations");  // as Kubeflow Trainer makes it
    CHECK(rebuilt(secret));
}

TEST_CASE("keys are needed only while there is no Secret", "[mpi]") {
    const api::TrainJob job = api::parse_train_job(train_job());
    const Json blueprint = mpi_runtime();
    const runtime::Needs first = runtime::needs(job, blueprint, {});
    CHECK(first.ssh_key_pair);
    CHECK_FALSE(first.curve_key_pair);
    CHECK(first.objects == std::vector<runtime::Need>{
                               {.resource = api::resources::secrets,
                                .key = {"ns", "job-mpi-ssh-auth"},
                                .apply = runtime::ApplyPolicy::once},
                               {.resource = api::resources::config_maps,
                                .key = {"ns", "job-mpi-hostfile"},
                                .apply = runtime::ApplyPolicy::always},
                           });
    const Json secret =
        tree("{apiVersion: v1, kind: Secret, metadata: {name: job-mpi-ssh-auth, namespace: ns}}");
    CHECK_FALSE(runtime::needs(job, blueprint, {secret}).ssh_key_pair);
    CHECK_FALSE(runtime::needs(job, plain_runtime(), {}).ssh_key_pair);
}

TEST_CASE("with runLauncherAsNode nodes get the trainer's resources and variables too", "[mpi]") {
    const char* const trainer =
        "{numNodes: 3, image: 'mpi:2', env: [{name: U, value: u}], resourcesPerNode: {limits: {cpu: 2}}}";
    const Outcome apart = build({{"spec.trainer", trainer}});
    CHECK(apart.pod(0)["containers"][0]["resources"].is_null());
    CHECK(env_text(apart.pod(0)["containers"][0]).empty());
    const Outcome together =
        build({{"spec.trainer", trainer}}, {{"spec.mlPolicy.mpi.runLauncherAsNode", "true"}});
    CHECK(together.pod(0)["containers"][0]["resources"] == tree("{limits: {cpu: 2}}"));
    CHECK(env_text(together.pod(0)["containers"][0]) == "U=u");
    CHECK(together.pod(0)["containers"][0]["image"] == "mpi:2");
    CHECK(together.job_set()["spec"]["replicatedJobs"][0]["template"]["spec"]["parallelism"] == 2);
}

TEST_CASE("an impossible MPI job is an error", "[mpi]") {
    struct Case {
        const char* name;
        Change job;
        Change of_runtime;
        const char* want;
    };
    const Case cases[] = {
        {"an unknown implementation",
         {"spec.suspend", "false"},
         {"spec.mlPolicy.mpi.mpiImplementation", "LAM"},
         "spec.mlPolicy.mpi.mpiImplementation"},
        {"more hosts than fit into a ConfigMap",
         {"spec.trainer.numNodes", "2147483647"},
         {"spec.mlPolicy.mpi.runLauncherAsNode", "true"},
         "spec.trainer.numNodes"},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) {
            const auto built = try_build({c.job}, {c.of_runtime}, some_keys);
            REQUIRE_FALSE(built);
            CHECK(built.error().field == c.want);
        }
    }
}

TEST_CASE("a TrainJob must not set what its MPI runtime sets, nor ask for more than it can do",
          "[mpi][admission]") {
    struct Case {
        const char* name;
        const char* trainer;
        std::vector<Change> of_runtime;
        const char* want;
    };
    const Change with_launcher = {"spec.mlPolicy.mpi.runLauncherAsNode", "true"};
    const Change no_launcher = {"spec.template.spec.replicatedJobs[1].name", "other"};
    const Change no_node = {"spec.template.spec.replicatedJobs[0].name", "other"};
    const Case cases[] = {
        {"nothing wrong", "{numNodes: 4, env: [{name: UCX_TLS, value: tcp}]}", {with_launcher}, ""},
        {"Open MPI's variables",
         "{env: [{name: OMPI_MCA_plm_rsh_args, value: x}, {name: OMPI_MCA_orte_default_hostfile, value: x}]}",
         {},
         "spec.trainer.env: \"OMPI_MCA_orte_default_hostfile, OMPI_MCA_plm_rsh_args\"\n"},
        {"the variables of another implementation", "{env: [{name: HYDRA_HOST_FILE, value: x}]}", {}, ""},
        {"MPICH's variables",
         "{env: [{name: HYDRA_HOST_FILE, value: x}]}",
         {{"spec.mlPolicy.mpi.mpiImplementation", "MPICH"}},
         "spec.trainer.env: \"HYDRA_HOST_FILE\"\n"},
        {"Intel MPI's variables",
         "{env: [{name: I_MPI_PERHOST, value: x}]}",
         {{"spec.mlPolicy.mpi.mpiImplementation", "Intel"}},
         "spec.trainer.env: \"I_MPI_PERHOST\"\n"},
        {"no launcher", "{numNodes: 2}", {with_launcher, no_launcher}, "spec.trainer.numNodes: 2\n"},
        {"no nodes", "{numNodes: 2}", {with_launcher, no_node}, "spec.trainer.numNodes: 2\n"},
        {"one node needs no launcher", "{numNodes: 1}", {with_launcher, no_launcher}, ""},
        {"a launcher apart need not be there", "{numNodes: 2}", {no_launcher}, ""},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) {
            CHECK(refusals(changed(train_job(), {{"spec.trainer", c.trainer}}),
                           changed(mpi_runtime(), c.of_runtime)) == c.want);
        }
    }
}

TEST_CASE("a warning tells that each failed start of a launcher is a restart", "[mpi][admission]") {
    const auto warnings = [](const std::vector<Change>& changes, const Json& before) {
        std::string lines;
        for (const api::Warning& warning :
             runtime::validate_runtime(changed(mpi_runtime(), changes), before, runtime::default_pipeline(),
                                       runtime::Gates::all())
                 .warnings)
            lines += std::string(warning.rule.name()) + ": " + warning.text + "\n";
        return lines;
    };
    const Json nothing;
    const Change deadline = {"spec.runPolicy.activeDeadlineSeconds", "60"};
    const Change policy = {"spec.runPolicy.failurePolicy", "{}"};
    const char* const want =
        "replaced_failure_handling: spec.runPolicy.failurePolicy: each start of the launcher that fails is a "
        "restart\n";
    CHECK(warnings({deadline, policy}, nothing) == want);
    CHECK(warnings({deadline}, nothing).empty());
    CHECK(warnings({deadline, policy}, changed(mpi_runtime(), {deadline})) == want);
    CHECK(warnings({deadline, policy}, changed(mpi_runtime(), {deadline, policy})).empty());
    // A runtime that is denied.
    const Change decides = {"spec.template.spec.failurePolicy", "{maxRestarts: 1}"};
    CHECK(warnings({deadline, policy, decides}, nothing).empty());
}
