// What a cache knows before its lists are complete, and how it counts.
#include "cached.hpp"

TEST_CASE("nothing is concluded from an absence before every list is complete") {
    Enqueued enqueued;
    CHECK(!enqueued.cache.synced("ns"));
    for (kube::Sink* part : std::initializer_list<kube::Sink*>{&sink(enqueued.cache.train_jobs()),
                                                               &sink(enqueued.cache.job_sets()),
                                                               &sink(enqueued.cache.training_runtimes())}) {
        part->begin_replace();
        part->end_replace("1");
        CHECK(!enqueued.cache.synced("ns"));
        CHECK(!enqueued.cache.synced_somewhere());
    }
    sink(enqueued.cache.cluster_training_runtimes()).begin_replace();
    sink(enqueued.cache.cluster_training_runtimes()).end_replace("1");
    CHECK(enqueued.cache.synced("ns"));
    CHECK(enqueued.cache.synced_somewhere());
}

TEST_CASE("caches of some namespaces know of each by itself") {
    Enqueued enqueued{.namespaces = kube::Namespaces({"a", "b"})};
    controller::Cache& cache = enqueued.cache;
    const auto list = [](kube::Sink& of) {
        of.begin_replace();
        of.end_replace("1");
    };
    SECTION("what may be concluded in one does not wait for another") {
        list(sink(cache.cluster_training_runtimes()));
        list(sink(cache.train_jobs(), "a"));
        list(sink(cache.job_sets(), "a"));
        list(sink(cache.training_runtimes(), "b"));
        CHECK(!cache.synced_somewhere());
        list(sink(cache.training_runtimes(), "a"));
        CHECK(cache.synced_somewhere());
        CHECK(cache.synced("a"));
        CHECK(!cache.synced("b"));
        CHECK(!cache.synced("c"));
    }
    SECTION("a list enqueues those of its namespace") {
        Json job = train_job("ClusterTrainingRuntime", "torch");
        job["spec"]["suspend"] = true;
        job["status"] = object(R"({"conditions":[{"type":"Created","status":"True"}]})");
        for (const char* ns : {"a", "b"}) sink(cache.train_jobs(), ns).upsert({ns, "job"}, "1", job);
        enqueued.take();
        list(sink(cache.job_sets(), "b"));
        CHECK(enqueued.take() == std::vector<std::string>{"b/job"});
        list(sink(enqueued.coscheduling(), "a"));
        CHECK(enqueued.take() == std::vector<std::string>{"a/job"});
        list(sink(enqueued.volcano(), "b"));
        CHECK(enqueued.take() == std::vector<std::string>{"b/job"});
    }
    SECTION("a cluster's runtime enqueues those of all") {
        const Json job = train_job("ClusterTrainingRuntime", "torch");
        for (const char* ns : {"a", "b"}) sink(cache.train_jobs(), ns).upsert({ns, "job"}, "1", job);
        enqueued.take();
        list_runtimes(enqueued);
        sink(cache.cluster_training_runtimes()).upsert({"", "torch"}, "7", runtime_object);
        CHECK(enqueued.take_users() == std::vector<std::string>{"a/job", "b/job"});
    }
}

TEST_CASE("TrainJobs are counted by their state as they come, change and go") {
    using lifecycle::State;
    Enqueued enqueued;
    const auto counts = [&] {
        std::vector<std::size_t> all;
        for (std::size_t state = 0; state < lifecycle::state_count; ++state)
            all.push_back(enqueued.cache.count(static_cast<State>(state)));
        return all;
    };
    Json job = train_job("ClusterTrainingRuntime", "torch");
    sink(enqueued.cache.train_jobs()).upsert({"ns", "a"}, "1", job);
    sink(enqueued.cache.train_jobs()).upsert({"ns", "b"}, "2", job);
    CHECK(counts() == std::vector<std::size_t>{2, 0, 0, 0, 0, 0, 0});

    job["status"]["conditions"] = Json::array({object(R"({"type":"Complete","status":"True"})")});
    sink(enqueued.cache.train_jobs()).upsert({"ns", "a"}, "3", job);
    CHECK(counts() == std::vector<std::size_t>{1, 0, 0, 0, 1, 0, 0});

    job["spec"]["managedBy"] = "kueue.x-k8s.io/multikueue";
    sink(enqueued.cache.train_jobs()).upsert({"ns", "c"}, "4", job);
    std::vector<std::string> gone;
    enqueued.cache.on_delete([&](const api::ObjectKey& key, std::string_view uid) {
        gone.push_back(to_string(key) + " " + std::string(uid));
    });
    sink(enqueued.cache.train_jobs()).remove({"ns", "b"}, "5");
    CHECK(gone == std::vector<std::string>{"ns/b u1"});
    job["metadata"]["uid"] = "u2";
    sink(enqueued.cache.train_jobs()).upsert({"ns", "a"}, "6", job);
    CHECK(gone.back() == "ns/a u1");
    gone.clear();
    job["metadata"]["uid"] = "u1";
    sink(enqueued.cache.train_jobs()).upsert({"ns", "a"}, "7", job);
    CHECK(gone == std::vector<std::string>{"ns/a u2"});
    CHECK(counts() == std::vector<std::size_t>{0, 0, 0, 0, 0, 0, 2});

    sink(enqueued.cache.train_jobs()).begin_replace();
    sink(enqueued.cache.train_jobs()).end_replace("9");
    CHECK(counts() == std::vector<std::size_t>(lifecycle::state_count));
}
