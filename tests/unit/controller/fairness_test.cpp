#include <set>

#include "api/yaml.hpp"
#include "shop.hpp"

namespace {

// Answers take so long that reconciles of the jobs of one namespace last for many minutes.
struct ManyUsers : Shop {
    ManyUsers() : Shop({}, 16) {
        delay = 100ms;
        for (int i = 0; i < 10'000; ++i) submit("job-" + std::to_string(i), "crowded");
        server.show(cache);
    }
};

}  // namespace

TEST_CASE(
    "ten thousand TrainJobs of one namespace keep the first JobSet of another one waiting for less than two "
    "seconds") {
    ManyUsers shop;
    shop.time.run_for(10s);
    REQUIRE(shop.metrics.expose().find("signalbox_queue_depth 0\n") == std::string::npos);
    shop.submit("job", "quiet");
    shop.server.show(shop.cache);
    shop.time.run_for(2s);
    CHECK(shop.server.find(job_sets, {"quiet", "job"}));
    CHECK(shop.metrics.expose().find("signalbox_queue_depth 0\n") == std::string::npos);
}

TEST_CASE("reconciles whose requests hang keep no other namespace waiting") {
    Shop shop({}, 16);
    shop.hangs = [](const kube::Request& request) {
        return request.target.find("/namespaces/stuck/") != std::string::npos;
    };
    for (int i = 0; i < 100; ++i) shop.submit("job-" + std::to_string(i), "stuck");
    shop.server.show(shop.cache);
    shop.settle();
    shop.submit("job", "quiet");
    shop.server.show(shop.cache);
    shop.time.run_for(2s);
    CHECK(shop.server.find(job_sets, {"quiet", "job"}));
}

TEST_CASE(
    "a TrainJob that is patched in a loop gets a reconcile a second, and what it wants in the end is done") {
    Shop shop;
    shop.submit("job");
    shop.server.show(shop.cache);
    shop.settle();
    int number = 0;
    for (; number < 1000; ++number) {
        shop.server.edit(train_jobs, {"ns", "job"},
                         [&](Json& job) { job["spec"]["trainer"]["env"] = number; });
        shop.server.show(shop.cache);
        shop.time.run_for(30ms);
        shop.server.show(shop.cache);
    }
    CHECK(shop.controller->reconciles_started() <= 45);
    CHECK(shop.controller->reconciles_started() >= 30);
    shop.server.edit(train_jobs, {"ns", "job"}, [](Json& job) { job["spec"]["suspend"] = true; });
    shop.server.show(shop.cache);
    for (int second = 0; second < 4; ++second) {
        shop.time.run_for(1s);
        shop.server.show(shop.cache);
    }
    CHECK(std::as_const(*shop.server.find(job_sets, {"ns", "job"}))["spec"]["suspend"].bool_or(false));
}

// Of TrainJobs that others manage a reconcile costs nothing but itself.
TEST_CASE("a runtime that is changed in a loop causes a thousand reconciles a second, however many use it") {
    constexpr int users = 1'000;
    Shop shop({}, 16);
    for (int i = 0; i < users; ++i) {
        const api::ObjectKey name = {"crowded", "job-" + std::to_string(i)};
        shop.submit(name.name, name.ns);
        shop.server.edit(train_jobs, name,
                         [](Json& job) { job["spec"]["managedBy"] = "kueue.x-k8s.io/multikueue"; });
    }
    shop.server.show(shop.cache);
    shop.settle();
    REQUIRE(shop.controller->reconciles_started() == users);
    shop.time.run_for(1min);
    Json runtime = *shop.server.find(cluster_training_runtimes, {"", "plain"});
    for (int change = 0; change < 60; ++change) {
        runtime["spec"]["ttlSecondsAfterFinished"] = 1'000 + change;
        shop.cache.cluster_training_runtimes().partitions()[0].sink.upsert(
            {"", "plain"}, std::to_string(1'000'000 + change), runtime, 500);
        shop.time.run_for(50ms);
    }
    CHECK(shop.controller->reconciles_started() > users + 3'000);
    CHECK(shop.controller->reconciles_started() < users + 4'500);
    shop.submit("job", "quiet");
    shop.server.show(shop.cache);
    shop.settle();
    CHECK(shop.server.find(job_sets, {"quiet", "job"}));
}

TEST_CASE("large TrainJobs are worked on one after the other, and small ones meanwhile") {
    Shop shop({}, 16);
    shop.delay = 1s;
    for (int i = 0; i < 4; ++i) {
        const std::string ns = "large-" + std::to_string(i);
        shop.submit("job", ns);
        shop.server.edit(train_jobs, {ns, "job"}, [](Json& job) {
            job["spec"]["trainer"]["args"].push_back(std::string(1'400'000, 'x'));
        });
    }
    for (int i = 0; i < 3; ++i) shop.submit("job-" + std::to_string(i));
    shop.server.show(shop.cache);
    shop.settle();
    CHECK(shop.jobs_in_flight == 1 + 3);
}

TEST_CASE("of reconciles that read large snapshots one at a time holds them, and each is done in the end") {
    Shop shop({}, 16);
    const auto ns_of = [](int i) { return "tenant-" + std::to_string(i); };
    for (int i = 0; i < 4; ++i) shop.submit("job", ns_of(i));
    shop.server.show(shop.cache);
    shop.settle();
    for (int i = 0; i < 4; ++i) {
        const api::ObjectKey name = {ns_of(i), "job-runtime-snapshot"};
        Json snapshot = *shop.server.find(kube::resources::config_maps, name);
        Json runtime = api::parse_yaml(std::as_const(snapshot)["data"]["runtime"].as_string()).value();
        runtime["x"] = std::string(600'000, 'x');
        snapshot["data"]["runtime"] = to_json(runtime);
        shop.server.erase(kube::resources::config_maps, name);
        shop.server.put(kube::resources::config_maps, snapshot);
    }
    std::set<std::string> holding;
    std::size_t most = 0;
    shop.on_answer = [&](const kube::Request& request, const kube::Response& answer) {
        for (int i = 0; i < 4; ++i) {
            if (request.target.find("/namespaces/" + ns_of(i) + "/") == std::string::npos) continue;
            if (request.method == "GET" && answer.body.size() > 500'000) holding.insert(ns_of(i));
            if (request.method != "GET" && request.target.find("/jobsets/") != std::string::npos)
                holding.erase(ns_of(i));
        }
        most = std::max(most, holding.size());
    };
    shop.delay = 100ms;
    for (int i = 0; i < 4; ++i) shop.server.erase(job_sets, {ns_of(i), "job"});
    shop.server.show(shop.cache);
    for (int second = 0; second < 30; ++second) {
        shop.time.run_for(1s);
        shop.server.show(shop.cache);
    }
    CHECK(most == 1);
    for (int i = 0; i < 4; ++i) CHECK(shop.server.find(job_sets, {ns_of(i), "job"}));
}
