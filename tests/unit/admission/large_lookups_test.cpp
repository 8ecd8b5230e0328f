// The effect of reviews with large objects on concurrent reviews.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <catch2/catch.hpp>
#include <deque>

#include "lifecycle/observed.hpp"
#include "reviews.hpp"
#include "runtime/snapshot.hpp"

using api::Json;
using test::Desk;
using test::post;
using test::review;
using namespace std::chrono_literals;

namespace {

/// Concurrent reviews.
class Calls {
public:
    explicit Calls(Desk& desk) : desk_(desk) {}

    void start(const std::string& name, net::HttpRequest request) {
        requests_.push_back(std::move(request));
        auto answer = desk_.handler(requests_.back());
        REQUIRE(std::holds_alternative<net::Task<net::HttpResponse>>(answer));
        boost::asio::co_spawn(desk_.context, std::move(std::get<net::Task<net::HttpResponse>>(answer)),
                              [this, name](const std::exception_ptr& thrown, const net::HttpResponse& given) {
                                  CHECK_FALSE(thrown);
                                  answered.push_back(name);
                                  bodies.push_back(given.body);
                              });
    }

    std::vector<std::string> answered = {};  ///< in that order
    std::vector<std::string> bodies = {};

private:
    Desk& desk_;
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
net::HttpRequest large_live_runtime(Desk& desk) {
    desk.store(kube::resources::cluster_training_runtimes, large_runtime());
    return update("large");
}
net::HttpRequest runtime_that_is_too_large(Desk& desk) {
    desk.store(kube::resources::cluster_training_runtimes, large_runtime(60'000));
    return update("large");
}
net::HttpRequest large_snapshot(Desk& desk) {
    desk.store(kube::resources::config_maps, snapshot_with(to_json(large_runtime())));
    return update("large", created);
}
net::HttpRequest snapshot_in_yaml(Desk& desk) {
    std::string text = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: ClusterTrainingRuntime\nspec:\n";
    while (text.size() < 30'000) text += "- a\n";
    desk.store(kube::resources::config_maps, snapshot_with(text));
    desk.store(kube::resources::cluster_training_runtimes, test::cluster_runtime("large"));
    return update("large", created);
}
net::HttpRequest large_job_set(Desk& desk) {
    Json job_set = named(test::train_job(), "large-job");
    job_set["status"]["x"] = std::string(500'000, 'x');
    desk.store(kube::resources::job_sets, job_set);
    desk.store(kube::resources::cluster_training_runtimes, test::cluster_runtime("large"));
    return update("large");
}
net::HttpRequest watched_runtime(Desk& desk) {
    desk.runtimes.set({"", "large"}, admission::make_runtime_text(large_runtime()));
    return update("large");
}

struct Case {
    const char* name;
    net::HttpRequest (*prepare)(Desk& desk);
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
            Desk desk;
            const net::HttpRequest expensive = c.prepare(desk);
            desk.store(kube::resources::cluster_training_runtimes, test::cluster_runtime());
            admission::MaybeTurn taken;
            boost::asio::co_spawn(desk.context, admission::take_turn(desk.turns.expensive, taken),
                                  boost::asio::detached);
            desk.clock.run();
            REQUIRE(taken);

            Calls calls(desk);
            for (int i = 0; i < 8; ++i) calls.start("expensive", expensive);
            calls.start("usual", update("plain"));
            desk.clock.run_for(1s);
            CHECK(calls.answered == std::vector<std::string>{"usual"});
            taken.reset();
            desk.clock.run_for(1s);
            CHECK(calls.answered.size() == 9);
        }
    }
}

TEST_CASE("only one review at a time holds an object of more than the usual size", "[inputs]") {
    for (const auto& prepare : {large_live_runtime, large_snapshot}) {
        Desk desk;
        const net::HttpRequest expensive = prepare(desk);
        std::vector<kube::SteadyTime> read_at;
        const auto stored = desk.server.answer;
        desk.server.answer = [&](const kube::Request& request) {
            CHECK(request.max_answer <= admission::lookup_limits::largest_object);
            if (request.max_answer > admission::lookup_limits::usual_object)
                read_at.push_back(desk.clock.now());
            return stored(request);
        };
        desk.server.delay = 100ms;
        Calls calls(desk);
        for (int i = 0; i < 8; ++i) calls.start("large", expensive);
        desk.clock.run_for(2s);
        CHECK(calls.answered.size() == 8);
        CHECK_THAT(calls.bodies.back(), Catch::Contains(R"("allowed":true)"));
        REQUIRE(read_at.size() == 8);
        for (std::size_t i = 1; i < read_at.size(); ++i) CHECK(read_at[i] - read_at[i - 1] >= 100ms);
    }
}

TEST_CASE("usual updates have places however many reviews wait for large objects", "[inputs]") {
    Desk desk;
    auto expensive = large_live_runtime(desk);
    SECTION("of runtimes") {}
    SECTION("that are large themselves") {
        expensive = update("plain");
        expensive.body += std::string(100'000, ' ');
    }
    desk.store(kube::resources::cluster_training_runtimes, test::cluster_runtime());
    desk.server.delay = 100ms;
    Calls calls(desk);
    for (int i = 0; i < 60; ++i) calls.start("expensive", expensive);
    desk.clock.run_for(250ms);
    for (int i = 0; i < 20; ++i) calls.start("usual", update("plain"));
    desk.clock.run_for(250ms);
    CHECK(std::count(calls.answered.begin(), calls.answered.end(), "usual") == 20);
    desk.clock.run_for(9s);
    CHECK(calls.answered.size() == 80);
}

TEST_CASE("if large objects do not arrive in time, the next review has its turn", "[inputs]") {
    Desk desk;
    const net::HttpRequest expensive = large_live_runtime(desk);
    const auto stored = desk.server.answer;
    bool is_slow = true;
    desk.server.answer = [&](const kube::Request& request) {
        const bool is_large = request.max_answer > admission::lookup_limits::usual_object;
        desk.server.delay = is_slow && is_large ? 1h : 0h;
        return stored(request);
    };
    Calls calls(desk);
    for (int i = 0; i < 3; ++i) calls.start("late", expensive);
    desk.clock.run_for(60s);
    CHECK(calls.answered.size() == 3);
    CHECK_THAT(calls.bodies.back(), Catch::Contains(R"("code":503)"));
    is_slow = false;
    calls.start("in time", expensive);
    desk.clock.run_for(1s);
    CHECK(calls.answered.back() == "in time");
    CHECK_THAT(calls.bodies.back(), Catch::Contains(R"("allowed":true)"));
}

TEST_CASE("a second review with the live runtime does not wait for the first one's large object",
          "[inputs]") {
    Desk desk;
    Json refusing = large_runtime();
    refusing["spec"]["mlPolicy"]["torch"] = Json::object();
    desk.runtimes.set({"", "large"}, admission::make_runtime_text(refusing));
    desk.store(kube::resources::cluster_training_runtimes, large_runtime());
    Json job = named(test::train_job(), "large-job");
    job["spec"]["runtimeRef"]["name"] = "large";
    job["spec"]["trainer"]["env"] = Json::array({Json::object({{"name", "PET_NNODES"}, {"value", "1"}})});
    CHECK(desk.ask(with_another_patch(std::move(job))).allowed());
}

TEST_CASE("only one review at a time lists TrainJobs", "[inputs]") {
    Desk desk;
    std::vector<kube::SteadyTime> listed_at;
    desk.server.answer = [&](const kube::Request& request) {
        CHECK(request.max_answer == admission::lookup_limits::largest_page);
        listed_at.push_back(desk.clock.now());
        return kube::Response{200, R"({"items": []})"};
    };
    desk.server.delay = 100ms;
    Calls calls(desk);
    for (const char* name : {"a", "b", "c"}) {
        const Json before = test::cluster_runtime(name);
        Json after = before;
        after["spec"]["mlPolicy"]["numNodes"] = 7;
        calls.start(name, post(test::cluster_runtime_path, review("UPDATE", after, before)));
    }
    desk.clock.run_for(1s);
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
