// The plugin of docs/plugins.md, which no list of the tree names: all of it works by the hooks.
#include "controller/cache/cache.hpp"
#include "life.hpp"
#include "relay.hpp"

namespace controller {
namespace {

constexpr kube::Resource relays = {"example.com", "v1", "relays", true, "Relay"};

struct Relayed : Life {
    Relayed() : Life(runtime::pipeline_with_relay()) {
        set_in_runtime("mlPolicy", api::parse_json(R"({"relay": {"class": "fast"}})").value());
    }
    const Json* relay() const { return server.find(relays, key); }
};

kube::Sink& sink_of(const Cache::OwnedKind& kind) { return kind.objects->partitions().at(0).sink; }

}  // namespace

TEST_CASE("a plugin from outside builds an object of its own kind, and the environment", "[plugins]") {
    Relayed life;
    life.reconcile();
    CHECK(life.condition("Created") == "True/JobsCreationSucceeded");
    REQUIRE(life.relay());
    CHECK((*life.relay())["spec"]["class"] == "fast");
    CHECK((*life.relay())["metadata"]["ownerReferences"][std::size_t{0}]["name"] == "job");
    CHECK(to_json(life.job_set()).find(R"({"name":"RELAY_ADDRESS","value":"job-relay:7000"})") !=
          std::string::npos);
}

TEST_CASE("the object of a plugin from outside is corrected while the job is suspended", "[plugins]") {
    Relayed life;
    life.set_suspend(true);
    life.reconcile();
    life.reconcile();
    life.server.edit(relays, key, [](Json& relay) { relay["spec"]["class"] = "slow"; });
    life.reconcile();
    CHECK((*life.relay())["spec"]["class"] == "fast");
}

TEST_CASE("an object of another owner is not taken for a plugin from outside", "[plugins]") {
    Relayed life;
    life.server.put(relays, api::parse_json(R"({"apiVersion": "example.com/v1", "kind": "Relay",
        "metadata": {"name": "job", "namespace": "ns"}, "spec": {"class": "slow"}})")
                                .value());
    life.reconcile();
    CHECK(life.message("Created") == "Relay ns/job exists already and does not belong to this TrainJob");
    CHECK((*life.relay())["spec"]["class"] == "slow");
}

TEST_CASE("a plugin from outside adds its condition", "[plugins]") {
    Relayed life;
    life.reconcile();
    CHECK(life.condition("RelayInUse") == "False/NoPods");
    life.count_in_job_set(R"([{"name": "node", "active": 1}])");
    life.reconcile();
    CHECK(life.condition("RelayInUse") == "True/PodsRun");
}

TEST_CASE("the kind that a plugin from outside owns is watched", "[plugins]") {
    const runtime::Pipeline pipeline = runtime::pipeline_with_relay();
    std::vector<std::string> enqueued;
    Cache cache([&](const api::ObjectKey& job, const Change&) { enqueued.push_back(to_string(job)); }, {},
                pipeline);
    const Cache::OwnedKind& kind = cache.owned_kinds().back();
    REQUIRE(kind.resource == relays);
    const Json relay = api::parse_json(R"({"metadata": {"name": "job", "namespace": "ns", "uid": "r1",
        "ownerReferences": [{"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "name": "job",
                             "uid": "u1", "controller": true}]}})")
                           .value();
    sink_of(kind).upsert(key, "1", relay);
    CHECK(enqueued == std::vector<std::string>{"ns/job"});
}

}  // namespace controller
