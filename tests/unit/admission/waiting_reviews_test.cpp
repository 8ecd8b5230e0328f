// What is held of a review while it waits. Each test changes the bytes of the request meanwhile: the answer
// shows whether they were decoded again.
#include <boost/asio/co_spawn.hpp>
#include <catch2/catch.hpp>
#include <deque>

#include "reviews.hpp"

using api::Json;
using test::Fixture;
using test::post;
using test::review;
using namespace std::chrono_literals;

namespace {

/// Reviews that wait for a slow API server.
class Waiting {
public:
    explicit Waiting(Fixture& fixture) : fixture_(fixture) { fixture.server.delay = 1s; }

    net::HttpRequest& start(net::HttpRequest request) {
        requests_.push_back(std::move(request));
        boost::asio::co_spawn(fixture_.context, fixture_.handler(requests_.back()),
                              [this](const std::exception_ptr& thrown, const net::HttpResponse& given) {
                                  CHECK_FALSE(thrown);
                                  bodies.push_back(given.body);
                              });
        fixture_.clock.run();
        REQUIRE(bodies.empty());
        return requests_.back();
    }
    void end() { fixture_.clock.run_for(8s); }

    std::vector<std::string> bodies = {};

private:
    Fixture& fixture_;
    std::deque<net::HttpRequest> requests_ = {};
};

// A change of the patches of a suspended TrainJob, which needs the JobSet and the runtime.
net::HttpRequest update(Json job) {
    job["spec"]["suspend"] = true;
    const Json before = job;
    job["spec"]["runtimePatches"] = *api::parse_json(
        R"([{"manager": "a.io/x", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [{"name": "late"}]}}}}])");
    return post(test::train_job_path, review("UPDATE", job, before));
}

Json runtime_with_late_job() {
    Json runtime = test::cluster_runtime();
    Json late = std::as_const(runtime)["spec"]["template"]["spec"]["replicatedJobs"][0];
    late["name"] = "late";
    late["template"].erase("metadata");
    runtime["spec"]["template"]["spec"]["replicatedJobs"].push_back(late);
    return runtime;
}

void change_uid(net::HttpRequest& request) {
    request.body.replace(request.body.find("review-1"), 8, "review-2");
}

std::size_t decoded_again(const Waiting& waiting) {
    return static_cast<std::size_t>(
        std::count_if(waiting.bodies.begin(), waiting.bodies.end(),
                      [](const std::string& body) { return body.find("review-2") != body.npos; }));
}

}  // namespace

TEST_CASE("a review is decoded once, though it waits twice and is judged twice", "[review]") {
    Fixture fixture;
    fixture.runtimes.set({"", "plain"}, admission::make_runtime_text(test::cluster_runtime()));
    fixture.store(kube::resources::cluster_training_runtimes, runtime_with_late_job());
    Waiting waiting(fixture);
    waiting.start(update(test::train_job())).body.clear();
    waiting.end();
    // The JobSet; then, since the runtime of the watch has no such job, both again.
    CHECK(fixture.server.requests.size() == 3);
    REQUIRE(waiting.bodies.size() == 1);
    CHECK_THAT(waiting.bodies.front(), Catch::Contains(R"("uid":"review-1","allowed":true)"));
}

TEST_CASE("a large review waits as bytes", "[review]") {
    Fixture fixture;
    fixture.store(kube::resources::cluster_training_runtimes, runtime_with_late_job());
    Json job = test::train_job();
    SECTION("of many bytes") { job["metadata"]["x"] = std::string(70'000, 'x'); }
    SECTION("of many values") { job["metadata"]["x"] = Json(Json::Array(2'000, Json(0))); }
    Waiting waiting(fixture);
    change_uid(waiting.start(update(job)));
    waiting.end();
    REQUIRE(waiting.bodies.size() == 1);
    CHECK_THAT(waiting.bodies.front(), Catch::Contains(R"("uid":"review-2","allowed":true)"));
}

TEST_CASE("only so many reviews keep their objects while they wait", "[review]") {
    Fixture fixture;
    fixture.store(kube::resources::cluster_training_runtimes, runtime_with_late_job());
    Waiting waiting(fixture);
    const std::size_t more = 4;
    for (std::size_t i = 0; i < admission::lookup_limits::kept_reviews + more; ++i) {
        net::HttpRequest request = update(test::train_job());
        request.peer = std::to_string(i);
        change_uid(waiting.start(std::move(request)));
    }
    waiting.end();
    CHECK(waiting.bodies.size() == admission::lookup_limits::kept_reviews + more);
    CHECK(decoded_again(waiting) == more);
    // Places are free again.
    CHECK(fixture.turns.kept.try_take());
}
