// Runtimes whose Pods have the network of their nodes: what their author is told.
#include "fixtures.hpp"
#include "runtime/validation.hpp"

using api::Json;

namespace {

const char* const on_node = "spec.template.spec.replicatedJobs[0].template.spec.template.spec.hostNetwork";
const char* const dns = "spec.template.spec.replicatedJobs[0].template.spec.template.spec.dnsPolicy";
#define NODE "spec.template.spec.replicatedJobs[0].template.spec.template.spec.containers[0]."
const char* const ports = NODE "ports";
const char* const command = NODE "command";
const char* const args = NODE "args";
const char* const env = NODE "env";
#undef NODE

constexpr const char* no_names =
    "job node: hostNetwork needs dnsPolicy: ClusterFirstWithHostNet, or its Pods do not find each other";
constexpr const char* same_port =
    "job node: with hostNetwork, add the port of sshd to the ports of its container, or two jobs on a node "
    "collide";
constexpr const char* own_port =
    "job node: with hostNetwork, port 29500 is free for one job of a node: let its program take the one in ";
constexpr const char* no_flux =
    "job node: Flux does not start with hostNetwork, as its brokers know each other by the names of Pods";

// Returns the warnings, one a line, without their rule.
std::string warned(const Json& runtime, const Json& before = Json()) {
    std::string lines;
    const auto found =
        runtime::validate_runtime(runtime, before, runtime::default_pipeline(), runtime::Gates::all());
    CHECK(found.errors.empty());
    for (const api::Warning& warning : found.warnings) {
        CHECK(warning.rule.name() == "host_network");
        lines += (lines.empty() ? "" : "\n") + warning.text;
    }
    return lines;
}

}  // namespace

TEST_CASE("the author of a runtime on its nodes' network learns what would not work", "[admission]") {
    const Change yes = {on_node, "true"};
    const Change named = {dns, "ClusterFirstWithHostNet"};
    const std::string torch = "PET_MASTER_PORT";
    struct Case {
        const char* framework;
        std::vector<Change> changes;
        std::string want;
    };
    const Case cases[] = {
        {"torch", {}, ""},
        {"torch", {{on_node, "false"}}, ""},
        {"torch", {yes, named}, ""},
        {"torch", {yes}, no_names},
        {"torch", {yes, {dns, "ClusterFirst"}}, no_names},
        {"torch", {yes, {dns, "Default"}}, no_names},
        {"torch", {yes, {dns, "None"}}, ""},
        // A port that is declared is replaced; one that the program names is not.
        {"torch", {yes, named, {ports, "[{containerPort: 29500}]"}}, ""},
        {"torch", {yes, named, {command, "[torchrun, --master-port=29500, a.py]"}}, own_port + torch},
        {"torch", {named, {command, "[torchrun, --master-port=29500, a.py]"}}, ""},
        {"torch", {yes, named, {args, "['--rdzv_endpoint=$(A):29500']"}}, own_port + torch},
        {"torch", {yes, named, {env, "[{name: MASTER_PORT, value: '29500'}]"}}, own_port + torch},
        {"torch", {yes, named, {env, "[{name: PET_MASTER_PORT, value: '29500'}]"}}, ""},
        {"jax", {yes, named, {args, "['29500']"}}, std::string(own_port) + "JAX_COORDINATOR_ADDRESS"},
        {"xgboost", {yes, named, {args, "['29500']"}}, std::string(own_port) + "DMLC_TRACKER_PORT"},
        {"mpi", {yes, named, {ports, "[{containerPort: 29500}]"}, {args, "['29500']"}}, ""},
        {"jax", {yes}, no_names},
        {"xgboost", {yes}, no_names},
        {"mpi", {yes}, std::string(no_names) + "\n" + same_port},
        {"mpi", {yes, named}, same_port},
        {"mpi", {yes, named, {ports, "[{containerPort: 2222}]"}}, ""},
        {"mpi", {}, ""},
        {"flux", {yes, named}, no_flux},
        {"flux", {}, ""},
    };
    for (const Case& c : cases) {
        const Json runtime = changed(runtime_with(c.framework), c.changes);
        INFO(to_json(runtime));
        CHECK(warned(runtime) == c.want);
        CHECK(warned(runtime, runtime).empty());
        CHECK(warned(runtime, runtime_with(c.framework)) == c.want);
    }
    // Without a framework Pods need not find each other, and an initializer does not look for any.
    CHECK(warned(changed(plain_runtime(), {yes})).empty());
    CHECK(warned(changed(runtime_with("torch"),
                         {{"spec.template.spec.replicatedJobs[1]",
                           "{name: model-initializer, template: {metadata: {labels: "
                           "{trainer.kubeflow.org/trainjob-ancestor-step: model-initializer}}, spec: "
                           "{template: {spec: {hostNetwork: true, containers: [{name: model-initializer, "
                           "image: i}]}}}}}"}}))
              .empty());
}
