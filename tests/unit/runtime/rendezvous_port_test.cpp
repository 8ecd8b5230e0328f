// The port on which the first Pod of a job listens.
#include <set>

#include "fixtures.hpp"

using api::Json;

namespace {

constexpr const char* host_network =
    "spec.template.spec.replicatedJobs[0].template.spec.template.spec.hostNetwork";

// Returns the port that the container declares. Each framework tells it to the processes as well.
std::int64_t port_of(const char* framework, const char* uid, const char* on_host,
                     const char* command = "null") {
    const Json job = changed(
        train_job(),
        {{"metadata.uid", uid}, {"spec.trainer", "{numNodes: 2}"}, {"spec.trainer.command", command}});
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
            for (const char* uid :
                 {"34ddb92d-c744-5fdc-99ed-789225ae469b", "e3b7d641-0198-5d4e-ba80-f886f8f48b83",
                  "473dc238-f30b-574e-b2c8-450749362a93", "473dc238-f30b-574e-b2c8-450749362a94"}) {
                const std::int64_t port = port_of(framework, uid, "true");
                CHECK(port >= 20000);
                CHECK(port < 29000);
                CHECK(port_of(framework, uid, "true") == port);
                ports.insert(port);
            }
            CHECK(ports.size() == 4);
        }
    }
    CHECK(port_of("torch", "a", "true", "[tune, run]") == port_of("torch", "a", "true"));
}
