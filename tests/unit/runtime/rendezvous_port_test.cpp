// The port on which the first Pod of a job listens.
#include <set>

#include "fixtures.hpp"

using api::Json;

namespace {

constexpr const char* host_network =
    "spec.template.spec.replicatedJobs[0].template.spec.template.spec.hostNetwork";
constexpr const char* declared =
    "spec.template.spec.replicatedJobs[0].template.spec.template.spec.containers[0].ports";

// Returns the port that the container declares. Each framework tells it to the processes as well.
std::int64_t port_of(const char* framework, const char* name, const char* on_host,
                     const char* command = "null", const char* ports = "null") {
    const Json job = changed(
        train_job(),
        {{"metadata.name", name}, {"spec.trainer", "{numNodes: 2}"}, {"spec.trainer.command", command}});
    const Json runtime = changed(runtime_with(framework), {{host_network, on_host}, {declared, ports}});
    const Json node = node_container(build_job_set(job, runtime).value());
    const std::int64_t port = node["ports"][std::size_t{0}]["containerPort"].int_or(0);
    CHECK(node["ports"].items().size() == 1);
    CHECK(to_json(node["command"]).append(env_text(node)).find(std::to_string(port)) != std::string::npos);
    return port;
}

}  // namespace

TEST_CASE("two jobs with their nodes' network have different ports, and each keeps its own", "[runtime]") {
    for (const char* framework : {"torch", "jax", "xgboost"}) {
        DYNAMIC_SECTION(framework) {
            CHECK(port_of(framework, "a", "false") == 29500);
            std::set<std::int64_t> ports;
            for (const char* name : {"first", "second", "second-1", "second-2"}) {
                const std::int64_t port = port_of(framework, name, "true");
                CHECK(port >= 20000);
                CHECK(port < 29000);
                CHECK(port_of(framework, name, "true") == port);
                ports.insert(port);
            }
            CHECK(ports.size() == 4);
        }
    }
    // It is instead of the usual one that a runtime declares.
    for (const char* framework : {"torch", "jax", "xgboost"})
        CHECK(
            port_of(framework, "a", "true", "null", "[{containerPort: 29500, hostPort: 29500, name: own}]") ==
            port_of(framework, "a", "true"));
    CHECK(port_of("torch", "a", "true", "[tune, run]") == port_of("torch", "a", "true"));
}

TEST_CASE("the usual port stays declared where the program names it, and other ports always do",
          "[runtime]") {
    struct Case {
        std::vector<Change> of_runtime;
        std::vector<Change> of_job;
        const char* want;  // with "own" for the port of the TrainJob
    };
    constexpr const char* command =
        "spec.template.spec.replicatedJobs[0].template.spec.template.spec.containers[0].command";
    const Change usual = {declared, "[{containerPort: 29500, protocol: TCP}]"};
    const Case cases[] = {
        {{usual}, {}, "own"},
        {{{declared, "[{containerPort: 29500, protocol: UDP}, {containerPort: 8080}]"}},
         {},
         "29500 8080 own"},
        {{usual, {command, "[torchrun, --master-port=29500]"}}, {}, "29500 own"},
        // A TrainJob's own command is instead of the runtime's.
        {{usual, {command, "[torchrun, --master-port=29500]"}}, {{"spec.trainer.command", "[a]"}}, "own"},
        {{usual}, {{"spec.trainer.command", "[sh, -c, torchrun --master-port=29500]"}}, "29500 own"},
        {{usual}, {{"spec.trainer.args", "['--port=29500']"}}, "29500 own"},
        {{usual}, {{"spec.trainer.env", "[{name: MASTER_PORT, value: '29500'}]"}}, "29500 own"},
    };
    for (const Case& c : cases) {
        Json runtime = changed(runtime_with("torch"), {{host_network, "true"}});
        runtime = changed(runtime, c.of_runtime);
        const Json job = changed(changed(train_job(), {{"spec.trainer", "{numNodes: 2}"}}), c.of_job);
        const Json node = node_container(build_job_set(job, runtime).value());
        std::string found;
        for (const Json& port : node["ports"].items()) {
            const std::int64_t number = port["containerPort"].int_or(0);
            const bool is_own = number != 29500 && number >= 20000;
            found += (found.empty() ? "" : " ") + (is_own ? "own" : std::to_string(number));
        }
        INFO(to_json(node));
        CHECK(found == c.want);
    }
}
