// Reviews with a runtime from the watch, which may lag behind the cluster.
#include <catch2/catch.hpp>

#include "reviews.hpp"
#include "support/printers.hpp"

using api::Json;
using test::Fixture;
using test::post;
using test::Reply;
using test::review;
using namespace std::chrono_literals;

namespace {

// A TrainJob that needs the replicated job "late" of its runtime.
Json job_for_newest_runtime() {
    Json job = test::train_job();
    job["spec"]["suspend"] = true;
    job["spec"]["runtimePatches"] = *api::parse_json(
        R"([{"manager": "a.io/x", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [{"name": "late"}]}}}}])");
    return job;
}

Json newest_runtime() {
    Json runtime = test::cluster_runtime();
    Json late = std::as_const(runtime)["spec"]["template"]["spec"]["replicatedJobs"][0];
    late["name"] = "late";
    late["template"].erase("metadata");
    runtime["spec"]["template"]["spec"]["replicatedJobs"].push_back(late);
    return runtime;
}

void watch_shows(Fixture& fixture, Json runtime) {
    fixture.runtimes.set({"", "plain"}, admission::make_runtime_text(std::move(runtime)));
}

net::HttpRequest creation() { return post(test::train_job_path, review("CREATE", job_for_newest_runtime())); }

}  // namespace

TEST_CASE("before a denial for an old runtime, the live one is read", "[inputs]") {
    Fixture fixture;
    watch_shows(fixture, test::cluster_runtime());
    fixture.store(kube::resources::cluster_training_runtimes, newest_runtime());
    CHECK(fixture.ask(creation()).allowed());
    CHECK(fixture.server.requests.size() == 1);

    // An update also needs the JobSet.
    Json before = job_for_newest_runtime();
    before["spec"].erase("runtimePatches");
    CHECK(fixture.ask(post(test::train_job_path, review("UPDATE", job_for_newest_runtime(), before)))
              .allowed());
    // If the watched runtime admits the object, the live one is not read.
    fixture.server.requests.clear();
    CHECK(fixture.ask(post(test::train_job_path, review("CREATE", test::train_job()))).allowed());
    CHECK(fixture.server.requests.empty());
}

TEST_CASE("a denial for the live runtime stands", "[inputs]") {
    Fixture fixture;
    watch_shows(fixture, test::cluster_runtime());
    fixture.store(kube::resources::cluster_training_runtimes, test::cluster_runtime());
    const Reply reply = fixture.ask(creation());
    CHECK(reply.denial_code() == 422);
    CHECK(reply.causes().size() == 1);
    CHECK(fixture.server.requests.size() == 1);
    CHECK_THAT(fixture.metrics_text(), Catch::Contains(R"(verdict="denied"} 1)"));
}

TEST_CASE("a denial for the watched runtime stands if the live one cannot be read", "[inputs]") {
    for (const bool slow : {false, true}) {
        Fixture fixture;
        watch_shows(fixture, test::cluster_runtime());
        fixture.server.answer = [](const kube::Request&) -> api::Result<kube::Response> {
            return refusal(500, api::Errc::internal);
        };
        if (slow) fixture.server.delay = 1h;
        const Reply reply = fixture.ask(creation());
        CHECK(reply.denial_code() == 422);
        CHECK(reply.causes().size() == 1);
    }
}

TEST_CASE("a denial for the watched runtime stands while too many reviews wait", "[inputs]") {
    Fixture fixture;
    watch_shows(fixture, test::cluster_runtime());
    fixture.store(kube::resources::cluster_training_runtimes, newest_runtime());
    std::vector<net::Semaphore::Permit> waiting;
    while (auto permit = fixture.lookup_permits.try_take()) waiting.push_back(std::move(permit));
    CHECK(fixture.ask(creation()).denial_code() == 422);
    CHECK(fixture.server.requests.empty());

    // A review that needs the API server gets no verdict without it.
    Json job = test::train_job();
    job["spec"]["runtimeRef"]["name"] = "not-watched";
    CHECK(fixture.ask(post(test::train_job_path, review("CREATE", job))).http.status == 503);
    waiting.clear();
    CHECK(fixture.ask(creation()).allowed());
}

TEST_CASE("a runtime is read again ten times at once, and then ten times a second", "[inputs]") {
    Fixture fixture;
    fixture.patience = 0s;
    watch_shows(fixture, test::cluster_runtime());
    fixture.store(kube::resources::cluster_training_runtimes, test::cluster_runtime());
    for (int i = 0; i < 50; ++i) CHECK(fixture.ask(creation()).denial_code() == 422);
    CHECK(fixture.server.requests.size() == 10);
    fixture.clock.run_for(100ms);
    for (int i = 0; i < 50; ++i) CHECK(fixture.ask(creation()).denial_code() == 422);
    CHECK(fixture.server.requests.size() == 11);
    fixture.clock.run_for(1s);
    for (int i = 0; i < 50; ++i) CHECK(fixture.ask(creation()).denial_code() == 422);
    CHECK(fixture.server.requests.size() == 21);
}
