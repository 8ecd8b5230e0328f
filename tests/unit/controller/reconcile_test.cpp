#include "life.hpp"

namespace controller {

TEST_CASE("a new TrainJob gets its snapshot, then its JobSet, then its status") {
    Life life;
    life.reconcile();
    CHECK(life.server.take_writes() ==
          Writes{"POST " + config_maps_path, "PATCH " + job_set_path, "PATCH " + status_path});
    CHECK(life.condition("Created") == "True/JobsCreationSucceeded");
    REQUIRE(life.server.find(job_sets, key));
    CHECK(api::parse_meta(*life.server.find(job_sets, key)).controller_uid ==
          api::parse_meta(life.job()).uid);
}

TEST_CASE("a second reconcile of a settled TrainJob writes nothing") {
    Life life;
    life.reconcile();
    life.server.take_writes();
    CHECK(!life.reconcile().error);
    CHECK(life.server.take_writes().empty());
}

TEST_CASE("a suspended TrainJob settles without a write as well") {
    Life life;
    life.set_suspend(true);
    life.reconcile();
    CHECK(life.condition("Suspended") == "True/Suspended");
    CHECK((*life.server.find(job_sets, key))["spec"]["suspend"] == Json(true));
    life.reconcile();
    life.server.take_writes();
    life.reconcile();
    CHECK(life.server.take_writes().empty());
}

TEST_CASE("suspending stores the transition before the JobSet is touched") {
    Life life;
    life.reconcile();
    life.server.take_writes();
    life.set_suspend(true);
    life.reconcile();
    CHECK(life.server.take_writes() == Writes{"PATCH " + status_path, "PATCH " + job_set_path});
    CHECK((*life.server.find(job_sets, key))["spec"]["suspend"] == Json(true));
}

TEST_CASE("the JobSet's end becomes the TrainJob's") {
    Life life;
    life.reconcile();
    life.server.take_writes();
    life.finish_job_set();
    life.reconcile();
    CHECK(life.server.take_writes() == Writes{"PATCH " + status_path});
    CHECK(life.condition("Complete") == "True/AllJobsCompleted");
    life.reconcile();
    CHECK(life.server.take_writes().empty());
}

TEST_CASE("a status that is too long for the cache is written again as a whole") {
    Life life;
    life.reconcile();
    const std::string message(5'000, 'm');
    life.finish_job_set();
    life.server.edit(job_sets, key, [&](Json& job_set) {
        job_set["status"]["conditions"].items().front()["message"] = message;
    });
    life.reconcile();
    REQUIRE(life.message("Complete") == message);
    life.set_suspend(true);  // a new generation
    life.reconcile();
    CHECK(life.cache.is_abridged(key));
    const api::TrainJob job = api::parse_train_job(life.job());
    CHECK(api::terminal_condition(job)->observed_generation == job.meta.generation);
    CHECK(life.message("Complete") == message);
    life.server.take_writes();
    life.reconcile();
    CHECK(life.server.take_writes().empty());
}

TEST_CASE("after the deadline the status comes first, then the JobSet is suspended, then it goes") {
    Life life;
    life.set_in_job("activeDeadlineSeconds", 20);
    CHECK(life.reconcile().requeue_after == 20s);
    life.server.take_writes();
    life.server.now += 21s;
    life.reconcile();
    CHECK(life.server.take_writes() == Writes{"PATCH " + status_path});
    CHECK(life.condition("Failed") == "True/DeadlineExceeded");
    life.reconcile();
    CHECK(life.server.take_writes() == Writes{"PATCH " + job_set_path});
    CHECK(life.job_set()["spec"]["suspend"] == Json(true));
    life.reconcile();
    CHECK(life.server.take_writes() == Writes{"DELETE " + job_set_path});
    life.reconcile();
    CHECK(life.server.take_writes().empty());
}

TEST_CASE("a deadline that another write has moved is not acted on: the live view decides") {
    Life life;
    life.set_in_job("activeDeadlineSeconds", 60);
    life.reconcile();
    life.server.show(life.cache);
    life.server.take_writes();
    // The cache still shows a running job; in the cluster it was suspended.
    life.frozen = true;
    life.set_suspend(true);
    life.server.now += 61s;
    life.reconcile();
    CHECK(life.condition("Failed").empty());
    CHECK(life.condition("Suspended") == "True/Suspended");
}

TEST_CASE("the TTL of the runtime deletes the finished TrainJob") {
    Life life;
    life.set_in_runtime("ttlSecondsAfterFinished", 30);
    life.reconcile();
    life.finish_job_set();
    life.reconcile();
    life.server.take_writes();
    CHECK(life.reconcile().requeue_after == 30s);
    CHECK(life.server.take_writes().empty());
    life.server.now += 30s;
    life.reconcile();
    CHECK(life.server.take_writes() == Writes{"DELETE " + job_path});
    life.server.collect_garbage();
    CHECK(life.reconcile().gone);
}

TEST_CASE("the snapshot's TTL counts once the runtime is gone") {
    Life life;
    life.set_in_runtime("ttlSecondsAfterFinished", 30);
    life.reconcile();
    life.finish_job_set();
    life.reconcile();
    life.server.erase(cluster_training_runtimes, {"", "torch"});
    life.server.now += 30s;
    life.server.take_writes();
    life.reconcile();
    CHECK(life.server.take_writes() == Writes{"DELETE " + job_path});
}

TEST_CASE("a new TrainJob costs no look for a snapshot or a JobSet that it cannot have") {
    Life life;
    std::vector<std::string> reads;
    life.server.refuse_read = [&](const kube::Request& request) -> std::optional<api::Error> {
        reads.push_back(request.target);
        return std::nullopt;
    };
    life.reconcile();
    CHECK(reads == std::vector<std::string>{job_path, runtime_path});
}

TEST_CASE("a JobSet that has come meanwhile is not changed by the request that was to create one") {
    Life life;
    life.server.show(life.cache);
    life.frozen = true;
    const Json foreign = api::parse_json(R"({"metadata":{"name":"job","namespace":"ns"}})").value();
    life.server.refuse = [&](const kube::Request& request) -> std::optional<api::Error> {
        if (request.method == "PATCH" && request.target == job_set_path) life.server.put(job_sets, foreign);
        return std::nullopt;
    };
    life.reconcile();
    CHECK(life.condition("Created") == "False/JobsCreationFailed");
    CHECK(life.job_set()["spec"]["replicatedJobs"].is_null());
}

TEST_CASE("a missing runtime is reported, and the job goes on when it appears") {
    Life life;
    life.server.erase(cluster_training_runtimes, {"", "torch"});
    life.reconcile();
    CHECK(life.condition("Created") == "False/JobsBuildFailed");
    CHECK(!life.server.find(job_sets, key));
    life.server.put(cluster_training_runtimes, api::parse_json(runtime_text).value());
    life.reconcile();
    CHECK(life.condition("Created") == "True/JobsCreationSucceeded");
}

// As the API server does when JobSet's webhook does not take one.
std::optional<api::Error> refuse_job_sets(const kube::Request& request) {
    if (request.target != job_set_path) return std::nullopt;
    return api::Error{.code = api::Errc::invalid, .message = "no", .reason = "Invalid", .http_status = 422};
}

TEST_CASE("a runtime that is corrected before anything was created replaces the snapshot") {
    Life life;
    life.server.refuse = refuse_job_sets;
    life.reconcile();
    CHECK(life.condition("Created") == "False/JobsCreationFailed");
    REQUIRE(life.server.find(config_maps, snapshot));
    life.server.refuse = {};
    life.set_nodes(5);
    life.server.take_writes();
    life.reconcile();
    CHECK(life.server.take_writes() == Writes{"POST " + config_maps_path,
                                              "DELETE " + config_maps_path + "/job-runtime-snapshot",
                                              "POST " + config_maps_path, "PATCH " + status_path,
                                              "PATCH " + job_set_path, "PATCH " + status_path});
    CHECK(life.condition("Created") == "True/JobsCreationSucceeded");
}

TEST_CASE("a snapshot is not replaced by what a runtime was before another reconcile read it") {
    Life life;
    life.server.refuse = refuse_job_sets;
    life.reconcile();
    life.server.refuse = {};
    Json corrected = *life.server.find(cluster_training_runtimes, {"", "torch"});
    corrected["spec"]["mlPolicy"]["numNodes"] = 5;
    // While we look at the snapshot, the runtime changes: another reconciler may have made one of it.
    life.server.refuse_read = [&](const kube::Request& request) -> std::optional<api::Error> {
        if (request.target == config_maps_path + "/job-runtime-snapshot")
            life.server.put(cluster_training_runtimes, corrected);
        return std::nullopt;
    };
    life.set_nodes(4);
    life.server.take_writes();
    life.reconcile();
    CHECK(life.server.take_writes() == Writes{"POST " + config_maps_path});
    life.server.refuse_read = {};
    life.reconcile();
    CHECK(life.condition("Created") == "True/JobsCreationSucceeded");
}

TEST_CASE("a snapshot of another owner is not overwritten") {
    Life life;
    life.server.put(
        config_maps,
        api::parse_json(R"({"metadata":{"name":"job-runtime-snapshot","namespace":"ns"}})").value());
    life.reconcile();
    CHECK(life.condition("Created") == "False/JobsCreationFailed");
    CHECK(life.server.take_writes() == Writes{"POST " + config_maps_path, "PATCH " + status_path});
}

TEST_CASE("a snapshot of an earlier TrainJob of the name is not overwritten but awaited") {
    Life life;
    life.server.put(config_maps,
                    api::parse_json(R"({"metadata":{"name":"job-runtime-snapshot","namespace":"ns",
                        "ownerReferences":[{"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob",
                        "name":"job","uid":"of-an-earlier-one","controller":true}]}})")
                        .value());
    life.reconcile();
    CHECK(life.condition("Created") == "False/JobsCreationFailed");
    CHECK_THAT(life.message("Created"),
               Catch::EndsWith("but to an earlier one of this name; it will be collected"));
    CHECK(life.server.take_writes() == Writes{"POST " + config_maps_path, "PATCH " + status_path});
}

TEST_CASE("a lost status write ends the reconcile with an error and emits no event") {
    Life life;
    life.server.refuse = [](const kube::Request& request) -> std::optional<api::Error> {
        if (request.target != status_path) return std::nullopt;
        return api::Error{.code = api::Errc::unavailable, .message = "connection lost"};
    };
    const auto report = life.reconcile();
    CHECK(report.error);
    CHECK(report.requeue_after);
    REQUIRE(life.log_lines.size() == 1);
    CHECK_THAT(life.log_lines[0], Catch::Contains("JobSet created"));
    life.server.refuse = {};
    life.server.take_writes();
    life.reconcile();
    CHECK(life.server.take_writes() == Writes{"PATCH " + status_path});
    CHECK(life.condition("Created") == "True/JobsCreationSucceeded");
}

TEST_CASE("a TrainJob managed by another controller gets no write at all") {
    Life life;
    life.set_in_job("managedBy", "kueue.x-k8s.io/multikueue");
    life.reconcile();
    CHECK(life.server.take_writes().empty());
}

TEST_CASE("cleaning up after the end does not wait for a snapshot that cannot be read") {
    Life life;
    life.set_in_job("activeDeadlineSeconds", 60);
    life.reconcile();
    life.server.now += 61s;
    life.reconcile();
    REQUIRE(life.condition("Failed") == "True/DeadlineExceeded");
    life.server.erase(cluster_training_runtimes, {"", "torch"});
    // As Kubeflow Trainer left it: only the snapshot has the time to live.
    life.server.edit(train_jobs, key, [](Json& job) { job["status"].erase("runPolicy"); });
    life.server.take_writes();
    life.server.refuse_read = [](const kube::Request& request) -> std::optional<api::Error> {
        if (!request.target.starts_with(config_maps_path)) return std::nullopt;
        return api::Error{.code = api::Errc::forbidden, .message = "may not", .http_status = 403};
    };
    for (const char* write : {"PATCH ", "DELETE "}) {
        const auto report = life.reconcile();
        CHECK(life.server.take_writes() == Writes{write + job_set_path});
        CHECK(report.requeue_after);
        CHECK(report.error);
    }
    CHECK_THAT(life.log_lines.back(), Catch::Contains("JobSetDeleted"));
}

}  // namespace controller

TEST_CASE("what is written of a JobSet is logged with the TrainJob's key and UID") {
    controller::Life life;
    const auto reported = [&](const std::string& what) {
        const std::string uid(life.job()["metadata"]["uid"].as_string());
        for (const std::string& line : std::exchange(life.log_lines, {}))
            if (line.find("\"msg\":\"" + what + "\",\"trainjob\":\"ns/job\",\"uid\":\"" + uid + "\"") !=
                std::string::npos)
                return true;
        return false;
    };
    life.set_suspend(true);
    life.reconcile();
    CHECK(reported("JobSet created"));
    life.reconcile();
    CHECK(!reported("JobSet"));
    life.set_suspend(false);
    life.reconcile();
    CHECK(reported("JobSet resumed"));
}
