// How many TrainJobs are worked on at a time, what happens to failures, and what is counted.
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
    CHECK(shop.jobs_in_flight == 2);
    const auto reported = [&](const std::string& line) {
        return shop.metrics.expose().find(line) != std::string::npos;
    };
    CHECK(reported("signalbox_reconciles_running 2\n"));
    CHECK(reported("signalbox_queue_depth 3\n"));
    shop.delay = 0s;
    shop.time.run_for(1min);
    CHECK(reported("signalbox_reconciles_running 0\n"));
    CHECK(reported("signalbox_queue_depth 0\n"));
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
    CHECK_THAT(shop.lines,
               Catch::Contains("reconcile failed with an exception") && Catch::Contains("ns/job"));
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
