// The effect of reviews with large objects on concurrent reviews.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <catch2/catch.hpp>
#include <deque>

#include "lifecycle/observed.hpp"
#include "reviews.hpp"
#include "runtime/snapshot.hpp"

using api::Json;
using test::Fixture;
using test::post;
using test::review;
using namespace std::chrono_literals;

namespace {

/// Concurrent reviews.
class Calls {
public:
    explicit Calls(Fixture& fixture) : desk_(fixture) {}

    void start(const std::string& name, net::HttpRequest request) {
        requests_.push_back(std::move(request));
        boost::asio::co_spawn(desk_.context, desk_.handler(requests_.back()),
                              [this, name](const std::exception_ptr& thrown, const net::HttpResponse& given) {
                                  CHECK_FALSE(thrown);
                                  answered.push_back(name);
                                  bodies.push_back(given.body);
                              });
    }

    std::vector<std::string> answered = {};  ///< in that order
    std::vector<std::string> bodies = {};

private:
    Fixture& desk_;
    std::deque<net::HttpRequest> requests_ = {};
};

Json named(Json object, const std::string& name) {
    object["metadata"]["name"] = name;
    return object;
}

// Returns an update of the patches of a suspended TrainJob, which needs the runtime and the JobSet.
net::HttpRequest with_another_patch(Json job) {
    job["spec"]["suspend"] = true;
    const Json before = job;
    job["spec"]["runtimePatches"] = Json::array({Json::object({{"manager", "example.com/test"}})});
    return post(test::train_job_path, review("UPDATE", job, before));
}

// Returns an update that needs the runtime of that name.
net::HttpRequest update(const std::string& runtime, const char* status = R"({})") {
    Json job = named(test::train_job(), runtime + "-job");
    job["spec"]["runtimeRef"]["name"] = runtime;
    job["status"] = *api::parse_json(status);
    return with_another_patch(std::move(job));
}

constexpr const char* created = R"({"jobsStatus": [{"name": "node"}]})";

Json large_runtime(std::size_t values = 30'000) {
    Json runtime = test::cluster_runtime("large");
    runtime["spec"]["x"] = Json(Json::Array(values, Json("")));
    return runtime;
}

Json snapshot_with(const std::string& text) {
    Json job = named(test::train_job(), "large-job");
    job["spec"]["runtimeRef"]["name"] = "large";
    Json config_map = runtime::make_snapshot(api::parse_train_job(job), test::cluster_runtime("large"));
    config_map["data"].members().begin()->value = text;
    return config_map;
}

// Stores the objects that the update of "large" needs.
net::HttpRequest large_live_runtime(Fixture& fixture) {
    fixture.store(kube::resources::cluster_training_runtimes, large_runtime());
    return update("large");
}
net::HttpRequest runtime_that_is_too_large(Fixture& fixture) {
    fixture.store(kube::resources::cluster_training_runtimes, large_runtime(60'000));
    return update("large");
}
net::HttpRequest large_snapshot(Fixture& fixture) {
    fixture.store(kube::resources::config_maps, snapshot_with(to_json(large_runtime())));
    return update("large", created);
}
net::HttpRequest snapshot_in_yaml(Fixture& fixture) {
    std::string text = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: ClusterTrainingRuntime\nspec:\n";
    while (text.size() < 30'000) text += "- a\n";
    fixture.store(kube::resources::config_maps, snapshot_with(text));
    fixture.store(kube::resources::cluster_training_runtimes, test::cluster_runtime("large"));
    return update("large", created);
}
net::HttpRequest large_job_set(Fixture& fixture) {
    Json job_set = named(test::train_job(), "large-job");
    job_set["status"]["x"] = std::string(500'000, 'x');
    fixture.store(kube::resources::job_sets, job_set);
    fixture.store(kube::resources::cluster_training_runtimes, test::cluster_runtime("large"));
    return update("large");
}
net::HttpRequest watched_runtime(Fixture& fixture) {
    fixture.runtimes.set({"", "large"}, admission::make_runtime_text(large_runtime()));
    return update("large");
}

struct Case {
    const char* name;
    net::HttpRequest (*prepare)(Fixture& fixture);
};
const Case cases[] = {
    {"a large runtime", large_live_runtime}, {"a runtime that is too large", runtime_that_is_too_large},
    {"a large snapshot", large_snapshot},    {"a snapshot in YAML", snapshot_in_yaml},
    {"a large JobSet", large_job_set},       {"a runtime of the watch", watched_runtime},
};

}  // namespace

TEST_CASE("objects that take long to parse wait in line, and other updates do not wait for them",
          "[inputs]") {
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) {
            Fixture fixture;
            const net::HttpRequest expensive = c.prepare(fixture);
            fixture.store(kube::resources::cluster_training_runtimes, test::cluster_runtime());
            admission::MaybeTurn taken;
            boost::asio::co_spawn(fixture.context, admission::take_turn(fixture.turns.expensive, taken),
                                  boost::asio::detached);
            fixture.clock.run();
            REQUIRE(taken);

            Calls calls(fixture);
            for (int i = 0; i < 8; ++i) calls.start("expensive", expensive);
            calls.start("usual", update("plain"));
            fixture.clock.run_for(1s);
            CHECK(calls.answered == std::vector<std::string>{"usual"});
            taken = {};
            fixture.clock.run_for(1s);
            CHECK(calls.answered.size() == 9);
        }
    }
}

TEST_CASE("only one review at a time holds an object of more than the usual size", "[inputs]") {
    for (const auto& prepare : {large_live_runtime, large_snapshot}) {
        Fixture fixture;
        const net::HttpRequest expensive = prepare(fixture);
        std::vector<kube::SteadyTime> read_at;
        const auto stored = fixture.server.answer;
        fixture.server.answer = [&](const kube::Request& request) {
            CHECK(request.max_answer <= admission::lookup_limits::largest_object);
            if (request.max_answer > admission::lookup_limits::usual_object)
                read_at.push_back(fixture.clock.now());
            return stored(request);
        };
        fixture.server.delay = 100ms;
        Calls calls(fixture);
        for (int i = 0; i < 8; ++i) calls.start("large", expensive);
        fixture.clock.run_for(2s);
        CHECK(calls.answered.size() == 8);
        CHECK_THAT(calls.bodies.back(), Catch::Contains(R"("allowed":true)"));
        REQUIRE(read_at.size() == 8);
        for (std::size_t i = 1; i < read_at.size(); ++i) CHECK(read_at[i] - read_at[i - 1] >= 100ms);
    }
}

TEST_CASE("usual updates have places however many reviews wait for large objects", "[inputs]") {
    Fixture fixture;
    auto expensive = large_live_runtime(fixture);
    SECTION("of runtimes") {}
    SECTION("that are large themselves") {
        expensive = update("plain");
        expensive.body += std::string(100'000, ' ');
    }
    fixture.store(kube::resources::cluster_training_runtimes, test::cluster_runtime());
    fixture.server.delay = 100ms;
    Calls calls(fixture);
    for (int i = 0; i < 60; ++i) calls.start("expensive", expensive);
    fixture.clock.run_for(250ms);
    for (int i = 0; i < 20; ++i) calls.start("usual", update("plain"));
    fixture.clock.run_for(250ms);
    CHECK(std::count(calls.answered.begin(), calls.answered.end(), "usual") == 20);
    fixture.clock.run_for(9s);
    CHECK(calls.answered.size() == 80);
}

TEST_CASE("if large objects do not arrive in time, the next review has its turn", "[inputs]") {
    Fixture fixture;
    const net::HttpRequest expensive = large_live_runtime(fixture);
    const auto stored = fixture.server.answer;
    bool is_slow = true;
    fixture.server.answer = [&](const kube::Request& request) {
        const bool is_large = request.max_answer > admission::lookup_limits::usual_object;
        fixture.server.delay = is_slow && is_large ? 1h : 0h;
        return stored(request);
    };
    Calls calls(fixture);
    for (int i = 0; i < 3; ++i) calls.start("late", expensive);
    fixture.clock.run_for(60s);
    CHECK(calls.answered.size() == 3);
    CHECK_THAT(calls.bodies.back(), Catch::Contains(R"("code":503)"));
    is_slow = false;
    calls.start("in time", expensive);
    fixture.clock.run_for(1s);
    CHECK(calls.answered.back() == "in time");
    CHECK_THAT(calls.bodies.back(), Catch::Contains(R"("allowed":true)"));
}

TEST_CASE("a second review with the live runtime does not wait for the first one's large object",
          "[inputs]") {
    Fixture fixture;
    Json refusing = large_runtime();
    refusing["spec"]["mlPolicy"]["torch"] = Json::object();
    fixture.runtimes.set({"", "large"}, admission::make_runtime_text(refusing));
    fixture.store(kube::resources::cluster_training_runtimes, large_runtime());
    Json job = named(test::train_job(), "large-job");
    job["spec"]["runtimeRef"]["name"] = "large";
    job["spec"]["trainer"]["env"] = Json::array({Json::object({{"name", "PET_NNODES"}, {"value", "1"}})});
    const net::HttpRequest update = with_another_patch(std::move(job));
    CHECK(fixture.ask(update).allowed());
}

TEST_CASE("only one review at a time lists TrainJobs", "[inputs]") {
    Fixture fixture;
    std::vector<kube::SteadyTime> listed_at;
    fixture.server.answer = [&](const kube::Request& request) {
        CHECK(request.max_answer == admission::lookup_limits::largest_page);
        listed_at.push_back(fixture.clock.now());
        return kube::Response{200, R"({"items": []})"};
    };
    fixture.server.delay = 100ms;
    Calls calls(fixture);
    for (const char* name : {"a", "b", "c"}) {
        const Json before = test::cluster_runtime(name);
        Json after = before;
        after["spec"]["mlPolicy"]["numNodes"] = 7;
        calls.start(name, post(test::cluster_runtime_path, review("UPDATE", after, before)));
    }
    fixture.clock.run_for(1s);
    CHECK(calls.answered.size() == 3);
    REQUIRE(listed_at.size() == 3);
    for (std::size_t i = 1; i < listed_at.size(); ++i) CHECK(listed_at[i] - listed_at[i - 1] >= 100ms);
}

TEST_CASE("a waiting review holds only bytes, and names of bounded length", "[inputs]") {
    Json job = test::train_job();
    const std::string text(100'000, 'x');
    job["metadata"]["name"] = job["metadata"]["namespace"] = job["metadata"]["uid"] = text;
    job["spec"]["runtimeRef"] = Json::object({{"apiGroup", text}, {"kind", text}, {"name", text}});
    job["status"]["conditions"] = Json(Json::Array(1'000, Json::object()));
    job["status"]["jobsStatus"] = Json(Json::Array(1'000, Json::object()));
    api::AdmissionRequest request = {.kind = text, .name = text, .ns = text, .object = job};
    const admission::Subject subject = admission::subject_of(request, {});
    const api::TrainJob& kept = subject.job;
    for (const std::string* name :
         {&subject.kind, &subject.ns, &subject.name, &subject.runtime.ns, &subject.runtime.name,
          &kept.meta.ns, &kept.meta.name, &kept.meta.uid, &kept.runtime_ref.api_group, &kept.runtime_ref.kind,
          &kept.runtime_ref.name})
        CHECK(name->size() <= 256);
    CHECK(lifecycle::had_job_set(kept));
    CHECK(kept.conditions.size() + kept.jobs_status.size() == 1);
    CHECK(kept.spec.is_null());
}
