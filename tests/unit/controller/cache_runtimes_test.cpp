// Which TrainJobs a change of a runtime enqueues.
#include <ctime>
#include <set>

#include "cached.hpp"

using namespace std::chrono_literals;

TEST_CASE("a change of a runtime enqueues the TrainJobs that use it, and no others") {
    Enqueued enqueued;
    list_runtimes(enqueued);
    sink(enqueued.cache.train_jobs())
        .upsert({"ns", "uses"}, "1", train_job("ClusterTrainingRuntime", "torch"));
    sink(enqueued.cache.train_jobs())
        .upsert({"ns", "other"}, "2", train_job("ClusterTrainingRuntime", "jax"));
    sink(enqueued.cache.train_jobs()).upsert({"ns", "local"}, "3", train_job("TrainingRuntime", "torch"));
    CHECK(enqueued.take() == std::vector<std::string>{"ns/uses", "ns/other", "ns/local"});

    sink(enqueued.cache.cluster_training_runtimes()).upsert({"", "torch"}, "7", runtime_object);
    CHECK(enqueued.take().empty());
    CHECK(enqueued.take_users() == std::vector<std::string>{"ns/uses"});
    sink(enqueued.cache.training_runtimes()).upsert({"ns", "torch"}, "8", runtime_object);
    CHECK(enqueued.take_users() == std::vector<std::string>{"ns/local"});
    sink(enqueued.cache.training_runtimes()).upsert({"elsewhere", "torch"}, "9", runtime_object);
    CHECK(enqueued.take_users().empty());
}

TEST_CASE("runtimes of the first list enqueue nothing, since nothing was built before") {
    Enqueued enqueued;
    sink(enqueued.cache.train_jobs())
        .upsert({"ns", "job"}, "1", train_job("ClusterTrainingRuntime", "torch"));
    enqueued.take();
    auto& runtimes = sink(enqueued.cache.cluster_training_runtimes());
    runtimes.begin_replace();
    runtimes.upsert({"", "torch"}, "7", runtime_object);
    runtimes.end_replace("7");
    CHECK(enqueued.take_users().empty());
    runtimes.begin_replace();
    runtimes.end_replace("8");
    CHECK(enqueued.take_users() == std::vector<std::string>{"ns/job"});
}

TEST_CASE("a changed runtime enqueues some of ten thousand users at a time, and each of them once") {
    Enqueued enqueued;
    list_runtimes(enqueued);
    int calls = 0;
    enqueued.cache.on_runtime([&] { ++calls; });
    for (int i = 0; i < 10'000; ++i)
        sink(enqueued.cache.train_jobs())
            .upsert({"ns", "job-" + std::to_string(i)}, "1", train_job("TrainingRuntime", "torch"));
    enqueued.take();
    Json runtime = runtime_object;
    for (int i = 0; i < 64; ++i) {
        runtime["spec"]["ttlSecondsAfterFinished"] = i;
        sink(enqueued.cache.training_runtimes()).upsert({"ns", "torch"}, std::to_string(i + 7), runtime);
    }
    CHECK(calls == 64);
    CHECK(enqueued.take().empty());
    std::size_t turns = 0;
    std::set<std::string> all;
    kube::SteadyTime now{};
    for (bool more = true; more; ++turns) {
        const auto next = enqueued.cache.enqueue_users(now);
        const auto some = enqueued.take();
        CHECK(some.size() <= controller::Cache::users_in_a_row);
        for (const std::string& key : some) CHECK(all.insert(key).second);
        if (next) now = std::max(now, *next);
        more = next.has_value();
    }
    CHECK(turns == 40);
    CHECK(all.size() == 10'000);
    CHECK(now > kube::SteadyTime(8s));
    // One that is deleted in between does not end it.
    runtime["spec"]["ttlSecondsAfterFinished"] = 100;
    sink(enqueued.cache.training_runtimes()).upsert({"ns", "torch"}, "100", runtime);
    now += 1h;
    enqueued.cache.enqueue_users(now);
    for (const std::string& key : enqueued.take())
        sink(enqueued.cache.train_jobs()).remove({"ns", key.substr(3)}, "101");
    enqueued.take();
    CHECK(enqueued.take_users().size() == 10'000 - controller::Cache::users_in_a_row);
}

TEST_CASE("a runtime of which only what no reconcile reads has changed enqueues nothing") {
    Enqueued enqueued;
    list_runtimes(enqueued);
    sink(enqueued.cache.train_jobs())
        .upsert({"ns", "uses"}, "1", train_job("ClusterTrainingRuntime", "torch"));
    Json runtime = runtime_object;
    auto& runtimes = sink(enqueued.cache.cluster_training_runtimes());
    runtimes.upsert({"", "torch"}, "7", runtime);
    enqueued.take_users();
    runtime["metadata"]["labels"]["a"] = "b";
    runtime["status"]["a"] = 1;
    runtimes.upsert({"", "torch"}, "8", runtime);
    CHECK(enqueued.take_users().empty());
    runtime["spec"]["ttlSecondsAfterFinished"] = 60;
    runtimes.upsert({"", "torch"}, "9", runtime);
    CHECK(enqueued.take_users() == std::vector<std::string>{"ns/uses"});
    runtime["metadata"]["uid"] = "another";
    runtimes.upsert({"", "torch"}, "10", runtime);
    CHECK(enqueued.take_users() == std::vector<std::string>{"ns/uses"});
    runtimes.remove({"", "torch"}, "11");
    CHECK(enqueued.take_users() == std::vector<std::string>{"ns/uses"});
}

TEST_CASE("a TrainJob that names another runtime, or is gone, is enqueued by the former one no more") {
    Enqueued enqueued;
    list_runtimes(enqueued);
    auto& jobs = sink(enqueued.cache.train_jobs());
    auto& runtimes = sink(enqueued.cache.cluster_training_runtimes());
    for (const char* name : {"a", "b", "c"})
        jobs.upsert({"ns", name}, "1", train_job("ClusterTrainingRuntime", "torch"));
    jobs.upsert({"ns", "b"}, "2", train_job("ClusterTrainingRuntime", "jax"));
    jobs.upsert({"ns", "c"}, "3", train_job("ClusterTrainingRuntime", "torch"));
    jobs.remove({"ns", "a"}, "4");
    enqueued.take();
    runtimes.upsert({"", "torch"}, "7", runtime_object);
    CHECK(enqueued.take_users() == std::vector<std::string>{"ns/c"});
    runtimes.upsert({"", "jax"}, "8", runtime_object);
    CHECK(enqueued.take_users() == std::vector<std::string>{"ns/b"});
}

TEST_CASE("what an event of a runtime takes does not grow with the TrainJobs of others") {
    const auto seconds_with = [](int jobs) {
        Enqueued enqueued;
        for (int i = 0; i < jobs; ++i) {
            const std::string number = std::to_string(i);
            sink(enqueued.cache.train_jobs())
                .upsert({"ns", "job-" + number}, "1", train_job("TrainingRuntime", "of-" + number));
        }
        const std::clock_t began = std::clock();
        for (int i = 0; i < 3'000; ++i)
            sink(enqueued.cache.training_runtimes())
                .upsert({"elsewhere", "r-" + std::to_string(i)}, "7", runtime_object);
        return static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC;
    };
    const double few = seconds_with(10);
    CHECK(seconds_with(6'000) < 2 * few + 0.05);
}
