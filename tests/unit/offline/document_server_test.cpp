#include "offline/document_server.hpp"

#include <catch2/catch.hpp>

#include "kube/client/request.hpp"
#include "kube/client/status.hpp"
#include "kube/watch/store.hpp"
#include "support/printers.hpp"

using api::Json;
using namespace kube::resources;

namespace {

Json json(std::string_view text) { return api::parse_json(text).value(); }

const Json job_set = json(R"({"apiVersion":"jobset.x-k8s.io/v1alpha2","kind":"JobSet",
    "metadata":{"name":"job","namespace":"ns"},"spec":{"suspend":true}})");
const api::ObjectKey key = {"ns", "job"};

struct Fixture {
    offline::DocumentServer server = {};
    boost::asio::io_context context{1};

    api::Result<Json> ask(const kube::Request& request) {
        api::Result<Json> answer = api::Error();
        const auto run = [&]() -> net::Task<> {
            kube::Request sent = request;
            answer = co_await kube::fetch(server, std::move(sent));
        };
        offline::run_to_end(context, run());
        return answer;
    }
};

}  // namespace

TEST_CASE("a stored object can be read by name and in a list", "[offline]") {
    Fixture fixture;
    fixture.server.put(job_sets, job_set);
    CHECK(fixture.ask(kube::get(job_sets, key)).value() == job_set);
    CHECK(fixture.ask(kube::get(job_sets, {"ns", ""})).value()["items"].items().at(0) == job_set);
    CHECK(fixture.ask(kube::get(job_sets, {"other", ""})).value()["items"].empty());
    CHECK(fixture.ask(kube::get(priority_classes, {"", ""})).value()["items"].empty());
    CHECK(fixture.ask(kube::get(job_sets, {"ns", "none"})).error().code == api::Errc::not_found);
    CHECK(fixture.ask(kube::get(priority_classes, {"", "none"})).error().code == api::Errc::not_found);
    CHECK(*fixture.server.find(job_sets, key) == job_set);
    CHECK(fixture.server.written().empty());
}

TEST_CASE("a dry run is neither stored nor recorded", "[offline]") {
    Fixture fixture;
    CHECK(fixture.ask(kube::dry_run(kube::apply_new(job_sets, job_set))));
    CHECK_FALSE(fixture.server.find(job_sets, key));
    CHECK(fixture.server.written().empty());
}

TEST_CASE("writes are recorded as they were sent, without preconditions", "[offline]") {
    Fixture fixture;
    const Json snapshot =
        json(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"ns"}})");
    CHECK(fixture.ask(kube::create(config_maps, snapshot)));
    Json other = snapshot;
    other["metadata"]["name"] = "b";
    CHECK(fixture.ask(kube::create(config_maps, other)));
    CHECK(fixture.ask(kube::apply_new(job_sets, job_set)));
    CHECK(fixture.server.written() == std::vector<Json>{snapshot, other, job_set});
    // Stored objects have the fields that servers add.
    CHECK(!fixture.server.find(job_sets, key)->operator[]("metadata")["uid"].as_string().empty());

    CHECK(fixture.ask(kube::create(config_maps, snapshot)).error().reason == "AlreadyExists");
    CHECK(fixture.ask(kube::apply_new(job_sets, job_set)).error().code == api::Errc::conflict);
    CHECK(fixture.server.written().size() == 3);
}

TEST_CASE("a status can be changed, which does not count as a write of an object", "[offline]") {
    Fixture fixture;
    fixture.server.put(job_sets, job_set);
    const auto answer = fixture.ask(
        kube::merge_patch_status(job_sets, key, json(R"({"status":{"a":{"b":1}}})"), kube::Unconditional()));
    CHECK(answer.value()["status"]["a"]["b"] == 1);
    CHECK(fixture.server.written().empty());
    CHECK(fixture.ask(kube::merge_patch(job_sets, key, json(R"({"status":null})"), kube::Unconditional())));
    CHECK_FALSE(fixture.server.find(job_sets, key)->contains("status"));
}

TEST_CASE("events are recorded separately", "[offline]") {
    Fixture fixture;
    const Json event = json(R"({"kind":"Event","apiVersion":"v1","metadata":{"name":"e","namespace":"ns"}})");
    CHECK(fixture.ask(kube::create(kube::resources::events, event)));
    CHECK(fixture.server.events() == std::vector<Json>{event});
    CHECK(fixture.server.written().empty());
}

TEST_CASE("a store is filled as by a watch, with UIDs", "[offline]") {
    Fixture fixture;
    fixture.server.put(job_sets, job_set);
    fixture.server.put(config_maps, json(R"({"metadata":{"name":"job","namespace":"ns"}})"));
    struct Facts {};
    kube::Store<Facts> store([](Json&) { return Facts(); }, [](const auto&, auto*, auto*) {});
    fixture.server.show(job_sets, store.partitions());
    CHECK(store.is_synced("ns"));
    REQUIRE(store.size() == 1);
    CHECK(!store.find(key)->object.uid().empty());
}

TEST_CASE("a removed object is gone, and a copy of the server has its own objects", "[offline]") {
    Fixture fixture;
    fixture.server.put(job_sets, job_set);
    Fixture other;
    other.server = fixture.server;
    CHECK(other.ask(kube::remove(job_sets, key, kube::Propagation::background, kube::Unconditional())));
    CHECK(other.server.find(job_sets, key) == nullptr);
    CHECK(fixture.server.find(job_sets, key) != nullptr);
}
