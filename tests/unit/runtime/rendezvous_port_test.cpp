// The port on which the first Pod of a job listens.
#include <set>

#include "fixtures.hpp"

using api::Json;

namespace {

constexpr const char* host_network =
    "spec.template.spec.replicatedJobs[0].template.spec.template.spec.hostNetwork";

// Returns the port that the container declares. Each framework tells it to the processes as well.
std::int64_t port_of(const char* framework, const char* name, const char* on_host,
                     const char* command = "null") {
    const Json job = changed(
        train_job(),
        {{"metadata.name", name}, {"spec.trainer", "{numNodes: 2}"}, {"spec.trainer.command", command}});
    const Json runtime = changed(runtime_with(framework), {{host_network, on_host}});
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
    CHECK(port_of("torch", "a", "true", "[tune, run]") == port_of("torch", "a", "true"));
}
