// What the controller waits for before it works: complete caches and the lease.
#include "shop.hpp"

TEST_CASE("nothing starts before the caches are complete, and everything once they are") {
    Shop shop;
    shop.submit("job");
    shop.controller->enqueue({"ns", "job"});
    shop.settle();
    CHECK(shop.server.take_writes().empty());
    shop.server.show(shop.cache);
    shop.settle();
    CHECK(shop.server.find(job_sets, {"ns", "job"}));
}

TEST_CASE("a namespace whose lists do not come keeps no other one waiting") {
    Shop shop(kube::Namespaces({"ns", "late"}));
    shop.submit("job");
    shop.submit("job", "late");
    shop.server.show(shop.cache, "ns");
    // The cache of TrainJobs is synced, that of JobSets is not.
    for (const kube::Partition& partition : shop.cache.train_jobs().partitions())
        if (partition.ns == "late")
            partition.sink.upsert({"late", "job"}, "1", *shop.server.find(train_jobs, {"late", "job"}));
    shop.time.run_for(1min);
    CHECK(shop.server.find(job_sets, {"ns", "job"}));
    CHECK(!shop.server.find(job_sets, {"late", "job"}));
    shop.server.show(shop.cache, "late");
    shop.time.run_for(1s);
    CHECK(shop.server.find(job_sets, {"late", "job"}));
}

TEST_CASE("nothing starts without the lease, and everything with it") {
    Shop shop;
    shop.allowed = false;
    shop.submit("job");
    shop.server.show(shop.cache);
    shop.settle();
    CHECK(shop.server.take_writes().empty());
    shop.allowed = true;
    shop.controller->notify();
    shop.settle();
    CHECK(shop.server.find(job_sets, {"ns", "job"}));
}

TEST_CASE("a standby has no queue, and forgets what is gone before it leads") {
    Shop shop;
    shop.allowed = false;
    for (int i = 0; i < 5; ++i) shop.submit("job-" + std::to_string(i));
    shop.server.show(shop.cache);
    CHECK(shop.metrics.expose().find("signalbox_queue_depth 0\n") != std::string::npos);
    for (int i = 0; i < 4; ++i) shop.server.erase(train_jobs, {"ns", "job-" + std::to_string(i)});
    shop.server.show(shop.cache);
    shop.settle();
    shop.allowed = true;
    CHECK(shop.metrics.expose().find("signalbox_queue_depth 1\n") != std::string::npos);
    shop.controller->notify();
    shop.settle();
    CHECK(shop.controller->reconciles_started() == 1);
}

TEST_CASE("a lease that lapsed and came back without a word is noticed within a second") {
    Shop shop;
    shop.allowed = false;
    shop.submit("job");
    shop.server.show(shop.cache);
    shop.settle();
    shop.allowed = true;  // without a call of notify()
    shop.time.run_for(999ms);
    CHECK(!shop.has_job_set("job"));
    shop.time.run_for(1ms);
    CHECK(shop.has_job_set("job"));
}
