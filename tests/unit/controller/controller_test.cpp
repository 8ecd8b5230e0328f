#include "shop.hpp"

TEST_CASE("many TrainJobs are worked on, each to its JobSet") {
    Shop shop;
    for (int i = 0; i < 20; ++i) shop.submit("job-" + std::to_string(i));
    shop.server.show(shop.cache);
    shop.settle();
    for (int i = 0; i < 20; ++i) CHECK(shop.server.find(job_sets, {"ns", "job-" + std::to_string(i)}));
}

TEST_CASE("no more TrainJobs are worked on at a time than the limit says, and the metrics tell how many") {
    Shop shop;
    shop.delay = 5s;
    for (int i = 0; i < 5; ++i) shop.submit("job-" + std::to_string(i));
    shop.server.show(shop.cache);
    shop.settle();
    CHECK(shop.in_flight == 2);
    const auto reported = [&](const std::string& line) {
        return shop.metrics.expose().find(line) != std::string::npos;
    };
    CHECK(reported("signalbox_reconciles_running 2\n"));
    CHECK(reported("signalbox_passes_running 2\n"));  // its former name
    CHECK(reported("signalbox_queue_depth 3\n"));
    shop.delay = 0s;
    shop.time.run_for(1min);
    CHECK(reported("signalbox_reconciles_running 0\n"));
    CHECK(reported("signalbox_queue_depth 0\n"));
}

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

TEST_CASE("an exception in a reconcile is counted, logged and followed by another try") {
    Shop shop;
    int reconciles = 0;
    SECTION("in the middle of it") {
        shop.on_reconcile = [&] {
            if (++reconciles == 1) throw std::runtime_error("out of luck");
        };
    }
    SECTION("that is no std::exception") {
        shop.on_reconcile = [&] {
            if (++reconciles == 1) throw 42;
        };
    }
    SECTION("when its result is taken down") {
        shop.on_reconcile = [&] { ++reconciles; };
        // The last request of a reconcile; what follows is the controller's look at the clock.
        shop.server.refuse = [&](const kube::Request& request) -> std::optional<api::Error> {
            const bool is_first = shop.clock.broken_down == 0;
            if (is_first && request.target.find("/status") != std::string::npos) shop.clock.breakdowns = 1;
            return std::nullopt;
        };
    }
    shop.submit("job");
    shop.server.show(shop.cache);
    shop.settle();
    CHECK_THAT(shop.lines, Catch::Contains("pass failed with an exception") && Catch::Contains("ns/job"));
    CHECK_THAT(shop.metrics.expose(), Catch::Contains("signalbox_reconciles_total{result=\"exception\"} 1"));
    CHECK(!shop.ended);
    const int before = reconciles;
    shop.server.show(shop.cache);
    shop.time.run_for(1s);
    CHECK(reconciles > before);
    CHECK(shop.has_job_set("job"));
}

TEST_CASE("a new TrainJob does not inherit the backoff of another one that had its name") {
    Shop shop;
    int tries = 0;
    bool bug = false;
    SECTION("after errors") {}
    SECTION("after exceptions") { bug = true; }
    const api::Error no = {.code = api::Errc::invalid, .message = "no", .http_status = 422};
    shop.server.refuse = [&](const kube::Request& request) -> std::optional<api::Error> {
        if (request.target.find("/jobsets/") == std::string::npos) return std::nullopt;
        ++tries;
        if (bug) throw std::runtime_error("out of luck");
        return no;
    };
    shop.submit("job");
    shop.server.show(shop.cache);
    // It is about to be tried every minute or two.
    for (int second = 0; second < 120; ++second) {
        shop.time.run_for(1s);
        shop.server.now += 1s;
        shop.server.show(shop.cache);
    }
    CHECK(tries < 12);

    shop.server.erase(train_jobs, {"ns", "job"});
    shop.server.erase(kube::resources::config_maps, {"ns", "job-runtime-snapshot"});
    shop.submit("job");
    tries = 0;
    // Its deletion and its successor are seen at once, so that no reconcile finds the name free.
    for (int second = 0; second < 8; ++second) {
        shop.server.show(shop.cache);
        shop.time.run_for(1s);
    }
    CHECK(tries >= 4);  // at once, and then after 1, 2 and 4 s
}

TEST_CASE("a failure that the end of a reconcile cannot handle ends the controller with an error") {
    Shop shop;
    shop.on_reconcile = [&] { shop.clock.breakdowns = 2; };
    shop.submit("job");
    shop.server.show(shop.cache);
    shop.settle();
    CHECK(shop.ended == "the clock is broken");
}

TEST_CASE("draining starts nothing, and waits for as long as it is patient") {
    Shop shop;
    shop.delay = 24h;
    shop.submit("stuck");
    shop.server.show(shop.cache);
    shop.settle();
    shop.drain(20s);
    shop.submit("late");
    shop.server.show(shop.cache);
    shop.time.run_for(19'999ms);
    CHECK(!shop.cut);
    shop.time.run_for(1ms);
    CHECK(shop.cut == 1);
    CHECK(shop.lines.empty());  // to be cut is no bug of the reconcile
    shop.time.run_for(24h);
    CHECK(!shop.has_job_set("stuck"));
    CHECK(!shop.has_job_set("late"));
}

TEST_CASE("draining ends with the last reconcile") {
    Shop shop;
    SECTION("at once without any") {
        shop.drain(20s);
        CHECK(shop.cut == 0);
    }
    SECTION("or when it is through") {
        shop.delay = 5s;
        shop.submit("job");
        shop.server.show(shop.cache);
        shop.settle();
        shop.drain(20s);
        shop.time.run_for(4s);
        CHECK(!shop.cut);
        shop.delay = 0s;
        shop.time.run_for(1s);
        CHECK(shop.cut == 0);
        CHECK(shop.has_job_set("job"));
    }
}

TEST_CASE("draining waits for no reconcile once the lease is lost: none of them can write any more") {
    Shop shop;
    shop.delay = 24h;
    shop.submit("stuck");
    shop.server.show(shop.cache);
    shop.settle();
    SECTION("before") {
        shop.allowed = false;
        shop.drain(20s);
        CHECK(shop.cut == 1);
    }
    SECTION("meanwhile") {
        shop.drain(20s);
        shop.time.run_for(3s);
        CHECK(!shop.cut);
        shop.allowed = false;
        shop.time.run_for(1s);
        CHECK(shop.cut == 1);
    }
}

TEST_CASE("no reconcile outlives the controller") {
    Shop shop;
    shop.delay = 24h;
    shop.submit("stuck");
    shop.server.show(shop.cache);
    shop.settle();
    REQUIRE(shop.in_flight == 1);
    SECTION("that is cancelled without having been drained") { shop.stop(); }
    SECTION("that breaks down") {
        shop.delay = 0s;
        shop.on_reconcile = [&] { shop.clock.breakdowns = 2; };
        shop.submit("other");
        shop.server.show(shop.cache);
        shop.settle();
    }
    CHECK(shop.ended);
    CHECK(shop.in_flight == 0);
}

TEST_CASE("what reconciles bring about, and why there will be more of them, is counted") {
    Shop shop;
    const auto reported = [&](const std::string& line) {
        return shop.metrics.expose().find("\n" + line + "\n") != std::string::npos;
    };
    CHECK(reported("signalbox_time_to_job_set_seconds_count 0"));
    CHECK(reported(R"(signalbox_train_jobs_ended_total{end="deadline"} 0)"));
    shop.submit("job");
    shop.server.show(shop.cache);
    shop.settle();
    CHECK(reported("signalbox_time_to_job_set_seconds_count 1"));
    CHECK(reported(R"(signalbox_reconciles_total{result="done"} 1)"));
    CHECK(reported(R"(signalbox_requeues_total{reason="stale_cache"} 0)"));

    // The caches have not seen what was written.
    shop.controller->enqueue({"ns", "job"});
    shop.settle();
    CHECK(reported(R"(signalbox_requeues_total{reason="stale_cache"} 1)"));

    shop.server.edit(train_jobs, {"ns", "job"}, [](Json& job) { job["spec"]["activeDeadlineSeconds"] = 60; });
    shop.server.show(shop.cache);
    shop.settle();
    CHECK(reported(R"(signalbox_requeues_total{reason="deadline"} 1)"));
    CHECK(reported("signalbox_queue_timers 1"));
    shop.server.now += 70s;
    shop.time.run_for(61s);
    CHECK(reported(R"(signalbox_train_jobs_ended_total{end="deadline"} 1)"));
    CHECK(reported("signalbox_deadline_lateness_seconds_count 1"));
}

TEST_CASE("a Lease of the server of reports that is ahead of this clock is counted, and logged once") {
    const api::ObjectKey lease = {"kubeflow-system", "signalbox-progress"};
    Shop shop({}, 2, {.watch = lifecycle::ProgressWatch::deadlines, .lease = lease});
    shop.cache.watch_progress(lifecycle::ProgressWatch::deadlines, [&] { return shop.server.now; });
    shop.submit("job");
    shop.server.show(shop.cache);
    shop.settle();
    shop.server.edit(train_jobs, {"ns", "job"}, [&](Json& job) {
        job["metadata"]["annotations"]["trainer.kubeflow.org/progress-deadline-seconds"] = "60";
        job["status"]["trainerStatus"]["lastProgressTime"] = api::format_time(shop.server.now);
    });
    shop.server.edit(job_sets, {"ns", "job"}, [](Json& job_set) {
        job_set["status"]["replicatedJobsStatus"] =
            Json::array({Json::object({{"name", "node"}, {"active", 1}})});
    });
    shop.server.show(shop.cache);
    shop.settle();
    shop.server.now += 1h;
    const auto look = [&](std::chrono::seconds ahead) {
        shop.server.now += 30s;
        const std::string time = api::format_time(shop.server.now + ahead);
        shop.server.put(
            kube::resources::leases,
            Json::object({{"metadata", Json::object({{"name", lease.name}, {"namespace", lease.ns}})},
                          {"spec", Json::object({{"acquireTime", time}, {"renewTime", time}})}}));
        shop.lines.clear();
        shop.server.show(shop.cache);
        shop.controller->enqueue({"ns", "job"});
        shop.time.run_for(1s);
    };
    const auto counted = [&](const std::string& count) {
        return shop.metrics.expose().find("\nsignalbox_progress_lease_ahead_total " + count + "\n") !=
               std::string::npos;
    };
    const std::string text = "the Lease of the server of progress reports is more than a minute ahead";
    look(60s);
    CHECK(counted("0"));
    CHECK(shop.lines.empty());
    look(61s);
    CHECK(counted("1"));
    CHECK_THAT(shop.lines, Catch::Contains(text));
    look(61s);
    CHECK(counted("2"));
    CHECK(shop.lines.empty());
    look(0s);
    look(61s);
    CHECK(counted("3"));
    CHECK_THAT(shop.lines, Catch::Contains(text));
}
