// Which reconciles follow one another, and when.
#include "shop.hpp"

TEST_CASE("a reconcile is deferred until the caches show what the last one wrote") {
    Shop shop;
    shop.submit("job");
    shop.server.show(shop.cache);
    shop.settle();
    REQUIRE(shop.server.find(job_sets, {"ns", "job"}));
    shop.server.take_writes();

    // An old event comes late: on the caches' view there would be no JobSet and no status.
    shop.controller->enqueue({"ns", "job"});
    shop.settle();
    CHECK(shop.server.take_writes().empty());

    shop.server.show(shop.cache);
    shop.settle();
    CHECK(shop.server.take_writes().empty());
}

TEST_CASE("what a reconcile has written brings no other reconcile, and what others do brings one") {
    struct Row {
        const char* name;
        void (*act)(Shop& shop);
        std::uint64_t reconciles;  // that follow
    };
    const auto change = [](Shop& shop, const kube::Resource& resource, const api::ObjectKey& key) {
        shop.server.edit(resource, key,
                         [](Json& object) { object["metadata"]["annotations"]["changed"] = "yes"; });
    };
    static const auto& do_change = change;
    const Row rows[] = {
        {"nothing happens", [](Shop&) {}, 0},
        {"the TrainJob changes",
         [](Shop& shop) {
             do_change(shop, train_jobs, {"ns", "job"});
         },
         1},
        {"the JobSet changes",
         [](Shop& shop) {
             do_change(shop, job_sets, {"ns", "job"});
         },
         1},
        {"the runtime changes",
         [](Shop& shop) {
             shop.server.edit(cluster_training_runtimes, {"", "plain"},
                              [](Json& runtime) { runtime["spec"]["ttlSecondsAfterFinished"] = 60; });
         },
         1},
        {"annotations of the runtime change",
         [](Shop& shop) {
             do_change(shop, cluster_training_runtimes, {"", "plain"});
         },
         0},
        {"the JobSet goes",
         [](Shop& shop) {
             shop.server.erase(job_sets, {"ns", "job"});
         },
         1},
    };
    for (const Row& row : rows) {
        DYNAMIC_SECTION("after the reconcile: " << row.name) {
            Shop shop;
            shop.submit("job");
            shop.server.show(shop.cache);
            shop.settle();
            REQUIRE(shop.has_job_set("job"));
            row.act(shop);
            shop.server.show(shop.cache);
            shop.settle();
            CHECK(shop.controller->reconciles_started() == 1 + row.reconciles);
        }
        DYNAMIC_SECTION("after it was shown: " << row.name) {
            Shop shop;
            shop.submit("job");
            shop.server.show(shop.cache);
            shop.settle();
            shop.server.show(shop.cache);
            shop.settle();
            CHECK(shop.controller->reconciles_started() == 1);
            row.act(shop);
            shop.server.show(shop.cache);
            shop.settle();
            CHECK(shop.controller->reconciles_started() == 1 + row.reconciles);
        }
        DYNAMIC_SECTION("before its end: " << row.name) {
            Shop shop;
            shop.delay = 5s;
            shop.submit("job");
            shop.server.show(shop.cache);
            while (!shop.has_job_set("job")) shop.time.run_for(1s);
            CHECK(shop.in_flight == 1);  // the status
            row.act(shop);
            shop.server.show(shop.cache);
            shop.delay = 0s;
            shop.time.run_for(5s);
            shop.server.show(shop.cache);
            shop.time.run_for(1s);  // a deferred reconcile is due before
            CHECK((shop.controller->reconciles_started() > 1) == (row.reconciles > 0));
        }
    }
}

TEST_CASE("an end that the JobSet tells of takes one reconcile") {
    Shop shop;
    shop.submit("job");
    shop.server.show(shop.cache);
    shop.settle();
    shop.server.edit(job_sets, {"ns", "job"}, [](Json& job_set) {
        job_set["status"]["conditions"] =
            Json::array({Json::object({{"type", "Completed"}, {"status", "True"}})});
    });
    shop.server.show(shop.cache);
    shop.settle();
    shop.server.show(shop.cache);
    shop.time.run_for(1min);
    CHECK(shop.controller->reconciles_started() == 2);
}

TEST_CASE("the deadline is kept although nothing but a job's own writes has been seen") {
    Shop shop;
    shop.submit("job");
    shop.server.edit(train_jobs, {"ns", "job"}, [](Json& job) { job["spec"]["activeDeadlineSeconds"] = 60; });
    shop.server.show(shop.cache);
    shop.settle();
    shop.server.show(shop.cache);
    shop.settle();
    CHECK(shop.controller->reconciles_started() == 1);
    shop.server.now += 61s;
    shop.time.run_for(61s);
    const Json& status = std::as_const(*shop.server.find(train_jobs, {"ns", "job"}))["status"];
    CHECK(api::to_json(status).find("DeadlineExceeded") != std::string::npos);
}

TEST_CASE(
    "a job ends with the second of its deadline, although its reconcile was in the middle of a second") {
    Shop shop;
    shop.on_reconcile = [&] { shop.server.now = std::chrono::floor<std::chrono::seconds>(shop.time.wall()); };
    shop.on_reconcile();
    shop.submit("job");
    shop.server.edit(train_jobs, {"ns", "job"}, [](Json& job) { job["spec"]["activeDeadlineSeconds"] = 60; });
    shop.time.run_for(700ms);
    shop.delay = 400ms;  // the answers come in later seconds
    shop.server.show(shop.cache);
    shop.time.run_for(10s);
    shop.server.show(shop.cache);
    const auto has_ended = [&] {
        const Json& status = std::as_const(*shop.server.find(train_jobs, {"ns", "job"}))["status"];
        return api::to_json(status).find("DeadlineExceeded") != std::string::npos;
    };
    shop.delay = 0ms;
    shop.time.run_for(59'999ms - 10'700ms);
    CHECK_FALSE(has_ended());
    shop.time.run_for(10ms);
    CHECK(has_ended());
}

TEST_CASE("a clock that has become less exact delays a deadline by no more than that") {
    Shop shop;
    shop.on_reconcile = [&] {
        shop.server.now = std::chrono::floor<std::chrono::seconds>(shop.clock.wall());
    };
    shop.on_reconcile();
    shop.submit("job");
    shop.server.edit(train_jobs, {"ns", "job"}, [](Json& job) { job["spec"]["activeDeadlineSeconds"] = 60; });
    shop.server.show(shop.cache);
    shop.time.run_for(30s);
    shop.server.show(shop.cache);
    shop.time.run_for(1s);
    shop.clock.behind = 30ms;
    const auto has_ended = [&] {
        const Json& status = std::as_const(*shop.server.find(train_jobs, {"ns", "job"}))["status"];
        return api::to_json(status).find("DeadlineExceeded") != std::string::npos;
    };
    shop.time.run_for(29s + 20ms);
    CHECK_FALSE(has_ended());
    shop.time.run_for(30ms);
    CHECK(has_ended());
}

TEST_CASE("a reconcile whose status was refused is followed by another one") {
    Shop shop;
    shop.submit("job");
    shop.server.refuse = [](const kube::Request& request) -> std::optional<api::Error> {
        if (!request.target.ends_with("/status")) return std::nullopt;
        return api::Error{.code = api::Errc::conflict, .message = "conflict", .http_status = 409};
    };
    shop.server.show(shop.cache);
    shop.settle();
    shop.server.refuse = {};
    CHECK(shop.controller->reconciles_started() == 1);
    shop.server.show(shop.cache);
    shop.settle();
    CHECK(shop.controller->reconciles_started() == 2);
}

TEST_CASE("a TrainJob of which the server says that it is gone is looked at again while the cache has it") {
    Shop shop;
    shop.submit("job");
    shop.server.refuse_read = [](const kube::Request& request) -> std::optional<api::Error> {
        if (!request.target.ends_with("/trainjobs/job")) return std::nullopt;
        return api::Error{
            .code = api::Errc::not_found, .message = "what an old server knows", .http_status = 404};
    };
    shop.server.show(shop.cache);
    shop.settle();
    CHECK(shop.controller->reconciles_started() == 1);
    CHECK_FALSE(shop.has_job_set("job"));
    shop.time.run_for(9s);
    CHECK(shop.controller->reconciles_started() == 2);
    CHECK_FALSE(shop.has_job_set("job"));

    SECTION("and comes to its JobSet although no watch tells of it") {
        shop.server.refuse_read = {};
        shop.time.run_for(5s);
        CHECK(shop.has_job_set("job"));
    }
    SECTION("and is forgotten once the cache has lost it as well") {
        shop.server.erase(train_jobs, {"ns", "job"});
        shop.server.show(shop.cache);
        shop.time.run_for(1min);
        CHECK(shop.controller->reconciles_started() == 2);
        CHECK(shop.metrics.expose().find("signalbox_queue_timers 0\n") != std::string::npos);
    }
}
