#include "worker.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <catch2/catch.hpp>

#include "memory_api_server.hpp"
#include "support/printers.hpp"

using api::Json;
using kube::resources::cluster_training_runtimes;
using kube::resources::job_sets;
using kube::resources::train_jobs;

namespace {

// A worker over the memory server, with the caches under the test's control.
struct Shop {
    MemoryApiServer server = {};
    boost::asio::io_context context = {};
    std::unique_ptr<kube::Clock> clock = kube::make_clock(context.get_executor());
    kube::EventRecorder events{context.get_executor(), event_server_, *clock, "test"};
    net::Log log{net::LogLevel::error, net::LogFormat::json, [](std::string_view) {}};
    net::Metrics metrics = {};
    std::unique_ptr<reconciler::Worker> worker = {};
    reconciler::Caches caches{[this](const api::ObjectKey& key) { worker->wake(key); }};
    reconciler::Pass pass{server, caches, events, log, [this] { return server.now; }, {}};
    bool allowed = true;

    Shop() {
        worker = std::make_unique<reconciler::Worker>(
            context.get_executor(), *clock, caches, pass, metrics, log, [this] { return allowed; },
            reconciler::Worker::Limits{.concurrency = 2});
        server.put(cluster_training_runtimes, api::parse_json(R"({
            "apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "ClusterTrainingRuntime", "metadata": {"name": "plain"},
            "spec": {"mlPolicy": {"numNodes": 1}, "template": {"spec": {"replicatedJobs": [{"name": "node", "template": {
                "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
                "spec": {"template": {"spec": {"containers": [{"name": "node", "image": "base"}]}}}}}]}}}})")
                                                  .value());
        boost::asio::co_spawn(context, worker->run(), boost::asio::detached);
    }

    void submit(const std::string& name) {
        Json job =
            api::parse_json(R"({"metadata": {"namespace": "ns"}, "spec": {"runtimeRef": {"name": "plain"}}})")
                .value();
        job["metadata"]["name"] = name;
        server.put(train_jobs, job);
    }

    // Everything that is ready to run, and nothing that waits for time.
    void settle() {
        context.restart();
        while (context.poll() > 0) {
        }
    }

private:
    MemoryApiServer event_server_ = {};
};

}  // namespace

TEST_CASE("many TrainJobs are worked on, each to its JobSet") {
    Shop shop;
    for (int i = 0; i < 20; ++i) shop.submit("job-" + std::to_string(i));
    shop.server.show(shop.caches);
    shop.settle();
    for (int i = 0; i < 20; ++i) CHECK(shop.server.find(job_sets, {"ns", "job-" + std::to_string(i)}));
}

TEST_CASE("nothing starts before the caches are complete, and everything once they are") {
    Shop shop;
    shop.submit("job");
    shop.worker->wake({"ns", "job"});
    shop.settle();
    CHECK(shop.server.take_writes().empty());
    shop.server.show(shop.caches);
    shop.settle();
    CHECK(shop.server.find(job_sets, {"ns", "job"}));
}

TEST_CASE("nothing starts without the lease, and everything with it") {
    Shop shop;
    shop.allowed = false;
    shop.submit("job");
    shop.server.show(shop.caches);
    shop.settle();
    CHECK(shop.server.take_writes().empty());
    shop.allowed = true;
    shop.worker->look_again();
    shop.settle();
    CHECK(shop.server.find(job_sets, {"ns", "job"}));
}

TEST_CASE("a pass is held back until the caches show what the last one wrote") {
    Shop shop;
    shop.submit("job");
    shop.server.show(shop.caches);
    shop.settle();
    REQUIRE(shop.server.find(job_sets, {"ns", "job"}));
    shop.server.take_writes();

    // An old event comes late: on the caches' view there would be no JobSet and no status.
    shop.worker->wake({"ns", "job"});
    shop.settle();
    CHECK(shop.server.take_writes().empty());

    shop.server.show(shop.caches);
    shop.settle();
    CHECK(shop.server.take_writes().empty());
}

TEST_CASE("stopping lets the worker end") {
    Shop shop;
    shop.submit("job");
    shop.server.show(shop.caches);
    shop.settle();
    shop.worker->stop();
    shop.context.restart();
    shop.context.run();
    SUCCEED("run() returned, so nothing was left to do");
}
