// Warnings of a Service that has the name of a TrainJob.
#include "admission/service_check.hpp"

#include <catch2/catch.hpp>

#include "reviews.hpp"
#include "support/printers.hpp"

using api::Json;
using test::post;
using test::Reply;
using test::review;
using namespace std::chrono_literals;

namespace {

struct Checked : test::Fixture {
    admission::ServiceCheck check{server, clock};
    admission::ReviewHandler with_check{inputs, clock, review_metrics,  log,    pipeline,
                                        {},     {},    &lookup_permits, &turns, &check};
    std::vector<std::string> asked = {};  // Services

    explicit Checked(const Json& runtime = test::cluster_runtime()) {
        runtimes.set({"", "plain"}, admission::make_runtime_text(runtime));
        const auto by_default = server.answer;
        server.answer = [this, by_default](const kube::Request& request) {
            if (kube::resource_of(request.target) == "services") asked.push_back(request.target);
            return by_default(request);
        };
    }
    void serve(const Json& metadata = {}, const Json& selector = Json::object({{"app", "inference"}})) {
        Json service = Json::object({{"metadata", metadata}});
        service["metadata"]["name"] = "job";
        service["metadata"]["namespace"] = "ns";
        service["spec"]["selector"] = selector;
        store(kube::resources::services, service);
    }
    Reply send(const Json& sent) { return ask_of(with_check, post(test::train_job_path, sent)); }
    Reply create(const Json& job = test::train_job()) { return send(review("CREATE", job)); }
};

std::vector<std::string> warnings(const Reply& reply) {
    CHECK(reply.allowed());
    std::vector<std::string> texts;
    for (const Json& warning : reply.response["warnings"].items()) texts.emplace_back(warning.as_string());
    return texts;
}

const std::vector<std::string> none;
const std::vector<std::string> taken = {
    "Service ns/job exists already, so host names of Pods do not resolve: delete it, or name the TrainJob "
    "otherwise"};

Json refused_job() {
    Json job = test::train_job();
    job["status"] = *api::parse_json(R"({"conditions": [{"type": "Created", "status": "False", "reason": "R",
        "message": "", "lastTransitionTime": "2026-01-15T00:00:00Z"}]})");
    return job;
}

}  // namespace

TEST_CASE("a new TrainJob with the name of a Service is admitted with a warning", "[admission]") {
    Checked fixture;
    CHECK(warnings(fixture.create()) == none);
    fixture.serve();
    CHECK(warnings(fixture.create()) == taken);
    CHECK(fixture.asked == std::vector<std::string>(2, "/api/v1/namespaces/ns/services/job"));
    CHECK_THAT(fixture.metrics_text(), Catch::Contains("rule=\"service_taken\"} 1"));
}

TEST_CASE("so is one whose runtime has to be looked up", "[admission]") {
    Checked fixture;
    fixture.runtimes.set({"", "plain"}, nullptr);
    fixture.store(kube::resources::cluster_training_runtimes, test::cluster_runtime());
    fixture.serve();
    CHECK(warnings(fixture.create()) == taken);
}

TEST_CASE("a correction of a TrainJob that never had a JobSet gets the warning too, and no other update",
          "[admission]") {
    Checked fixture;
    fixture.serve();
    Json corrected = refused_job();
    corrected["spec"]["trainer"]["image"] = "registry.example.com/train:2";
    CHECK(warnings(fixture.send(review("UPDATE", corrected, refused_job()))) == taken);
    Json labelled = test::train_job();
    labelled["metadata"]["labels"]["a"] = "b";
    CHECK(warnings(fixture.send(review("UPDATE", labelled, test::train_job()))) == none);
    CHECK(fixture.asked.size() == 1);
}

TEST_CASE("a Service that is no obstacle causes no warning", "[admission]") {
    const Json left = *api::parse_json(R"({"ownerReferences": [{"kind": "JobSet", "name": "job"}]})");
    const Json going = *api::parse_json(R"({"deletionTimestamp": "2026-01-15T00:00:00Z"})");
    for (const Json& metadata : {left, going}) {
        Checked fixture;
        fixture.serve(metadata);
        CHECK(warnings(fixture.create()) == none);
    }
    Checked fixture;
    fixture.serve({}, Json::object({{"jobset.sigs.k8s.io/jobset-name", "job"}}));
    CHECK(warnings(fixture.create()) == none);
}

TEST_CASE("a TrainJob that will have no Service of its own name causes no look", "[admission]") {
    Json without_names = test::cluster_runtime();
    without_names["spec"]["template"]["spec"]["network"]["enableDNSHostnames"] = false;
    Json shared = test::cluster_runtime();
    shared["spec"]["template"]["spec"]["network"]["subdomain"] = "team";
    for (const Json& runtime : {without_names, shared}) {
        Checked fixture(runtime);
        fixture.serve();
        fixture.create();
        CHECK(fixture.asked.empty());
    }
    Checked fixture;
    Json elsewhere = test::train_job();
    elsewhere["spec"]["managedBy"] = "kueue.x-k8s.io/multikueue";
    fixture.create(elsewhere);
    Json denied = test::train_job();
    denied["spec"]["runtimePatches"] =
        *api::parse_json(R"([{"manager": "example.com/a", "trainingRuntimeSpec":
        {"template": {"spec": {"replicatedJobs": [{"name": "absent"}]}}}}])");
    CHECK_FALSE(fixture.create(denied).allowed());
    CHECK(fixture.asked.empty());
}

TEST_CASE("a Service that cannot be read in time delays no TrainJob for long, and causes no warning",
          "[admission]") {
    Checked fixture;
    fixture.serve();
    const auto by_default = fixture.server.answer;
    fixture.server.answer = [](const kube::Request&) -> api::Result<kube::Response> {
        return refusal(403, api::Errc::forbidden, "no permission");
    };
    CHECK(warnings(fixture.create()) == none);
    fixture.server.answer = by_default;
    fixture.server.delay = 1h;
    fixture.patience = 1s;
    CHECK(warnings(fixture.create()) == none);
}

TEST_CASE("without a permit to wait, a TrainJob is answered at once", "[admission]") {
    Checked fixture;
    fixture.serve();
    std::vector<net::Semaphore::Permit> waiting;
    while (auto permit = fixture.lookup_permits.try_take()) waiting.push_back(std::move(permit));
    CHECK(warnings(fixture.create()) == none);
    CHECK(fixture.asked.empty());
}

TEST_CASE("in a flood of TrainJobs most are answered at once", "[admission]") {
    Checked fixture;
    fixture.serve();
    fixture.patience = 0s;
    std::size_t warned = 0;
    for (int i = 0; i < 110; ++i) warned += warnings(fixture.create()).size();
    CHECK(warned == 100);
    fixture.clock.run_for(1s);
    for (int i = 0; i < 30; ++i) warned += warnings(fixture.create()).size();
    CHECK(warned == 120);
}

TEST_CASE("the resume of a TrainJob whose Service is taken repeats what its status says", "[admission]") {
    Checked fixture;
    Json before = test::train_job();
    before["spec"]["suspend"] = true;
    before["status"] = *api::parse_json(R"({"conditions": [{"type": "Stalled", "status": "True",
        "reason": "ServiceTaken", "message": "Service ns/job exists already",
        "lastTransitionTime": "2026-01-15T00:00:00Z"}]})");
    Json resumed = before;
    resumed["spec"]["suspend"] = false;
    CHECK(warnings(fixture.send(review("UPDATE", resumed, before))) ==
          std::vector<std::string>{"Service ns/job exists already"});
    CHECK(warnings(fixture.send(review("UPDATE", before, resumed))) == none);
    CHECK(fixture.asked.empty());
}
