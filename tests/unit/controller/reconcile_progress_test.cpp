// What is read before a verdict on progress, and what is written.
#include "api/names.hpp"
#include "life.hpp"

namespace controller {
namespace {

const api::ObjectKey lease = {"kubeflow-system", "signalbox-progress"};
const std::string lease_path =
    "/apis/coordination.k8s.io/v1/namespaces/kubeflow-system/leases/signalbox-progress";

struct Watched : Life {
    Reconciler watching{server,
                        cache,
                        events,
                        log,
                        [this] { return server.now; },
                        {},
                        {pipeline, shared},
                        {.watch = lifecycle::ProgressWatch::deadlines, .lease = lease}};
    lifecycle::RetryState retry_state = {};
    std::vector<std::string> reads = {};

    // It runs, and has reported now.
    explicit Watched(const char* action, const char* failure_policy = nullptr) {
        if (failure_policy)
            set_in_runtime("runPolicy",
                           Json::object({{"failurePolicy", api::parse_json(failure_policy).value()}}));
        cache.watch_progress(lifecycle::ProgressWatch::deadlines, [this] { return server.now; });
        server.edit(train_jobs, key, [&](Json& job) {
            Json& annotations = job["metadata"]["annotations"];
            annotations["trainer.kubeflow.org/progress-deadline-seconds"] = "60";
            annotations["trainer.kubeflow.org/progress-deadline-action"] = action;
        });
        server.watch_requests = [this](const kube::Request& request) -> std::optional<api::Error> {
            if (request.method == "GET") reads.push_back(request.target);
            return std::nullopt;
        };
        look(0s);
        server.edit(job_sets, key, [](Json& job_set) {
            job_set["status"]["replicatedJobsStatus"] =
                Json::array({Json::object({{"name", "node"}, {"active", 1}})});
        });
        look(1s);
        report(42);
        renew(server.now - 1h);
        retry_state.service = has_service();
    }
    ReconcileResult look(std::chrono::seconds later) {
        server.now += later;
        reads.clear();
        if (!frozen) server.show(cache);
        server.take_writes();
        ReconcileResult result;
        const auto run = [&]() -> kube::Task<> { result = co_await watching.reconcile(key, retry_state); };
        boost::asio::co_spawn(context, run(), boost::asio::detached);
        context.restart();
        context.run();
        retry_state = result.retry_state;
        return result;
    }
    void report(int percentage) {
        server.edit(train_jobs, key, [&](Json& job) {
            Json& status = job["status"]["trainerStatus"];
            status["lastProgressTime"] = api::format_time(server.now);
            status["lastUpdatedTime"] = api::format_time(server.now);
            status["progressPercentage"] = percentage;
        });
    }
    void renew(api::Time since) {
        Json object;
        object["metadata"] = Json::object({{"name", lease.name}, {"namespace", lease.ns}});
        object["spec"] = Json::object(
            {{"acquireTime", api::format_time(since)}, {"renewTime", api::format_time(server.now)}});
        server.put(kube::resources::leases, object);
    }
    api::Time since_long() const { return server.now - 24h; }
    api::TrainJob state() const { return api::parse_train_job(job()); }
};

using Reads = std::vector<std::string>;

}  // namespace

TEST_CASE("Lease, TrainJob, runtime and JobSet are read before a job is stalled, and nothing after it") {
    Watched life("Warn");
    CHECK(life.look(1s).requeue_after == 119s);
    CHECK(life.reads.empty());
    life.server.now += 119s;
    life.renew(life.since_long());
    const ReconcileResult stalled = life.look(0s);
    CHECK(life.reads == Reads{lease_path, job_path, runtime_path, job_set_path});
    CHECK(life.condition("Stalled") == "True/ProgressDeadlineExceeded");
    CHECK(life.message("Stalled") == "no progress for 2m (limit 1m): 42 %; last report 2m ago");
    CHECK(life.server.take_writes() == Writes{"PATCH " + status_path});
    CHECK_FALSE(stalled.requeue_after);
    life.look(1h);
    CHECK(life.reads.empty());
    CHECK(life.server.take_writes().empty());
    life.report(43);
    life.look(1s);
    CHECK(life.condition("Stalled").empty());
    CHECK(life.server.take_writes() == Writes{"PATCH " + status_path});
}

TEST_CASE("a job that fails without progress is ended in one write, and then cleaned up") {
    Watched life("Fail");
    life.server.now += 120s;
    life.renew(life.since_long());
    const ReconcileResult ended = life.look(0s);
    CHECK(life.condition("Failed") == "True/ProgressDeadlineExceeded");
    CHECK(life.condition("Stalled").empty());
    CHECK(life.server.take_writes() == Writes{"PATCH " + status_path});
    CHECK(ended.measurements.end == lifecycle::End::progress_deadline);
    life.look(1s);
    CHECK(life.server.take_writes() == Writes{"PATCH " + job_set_path});
    CHECK(life.job_set()["spec"]["suspend"] == Json(true));
}

TEST_CASE("a job that hangs under a failure policy is restarted, and its Pods are not listed") {
    Watched life("Restart", R"({"maxRestarts": 1})");
    CHECK(life.job_set()["metadata"]["annotations"][api::attempt_annotation] == Json("0"));
    life.server.now += 120s;
    life.renew(life.since_long());
    const ReconcileResult restarted = life.look(0s);
    for (const std::string& read : life.reads) CHECK(read.find("/pods") == std::string::npos);
    CHECK(life.server.take_writes() == Writes{"PATCH " + status_path});
    CHECK(life.condition("Restarting") == "True/BackingOff");
    CHECK(life.condition("Failed").empty());
    CHECK(life.state().restarts == api::Restarts{.all = 1, .counted = 1});
    REQUIRE(life.state().failures.size() == 1);
    CHECK(life.state().failures[0].message == "no progress for 2m (limit 1m): 42 %; last report 2m ago");
    CHECK(restarted.measurements.attempt_end == lifecycle::AttemptEnd::restarted);
    CHECK(restarted.requeue_after == 1s);

    life.look(1s);
    CHECK(life.server.take_writes() == Writes{"DELETE " + job_set_path});
    // Its Pods end.
    life.look(1s);
    CHECK(life.server.take_writes().empty());
    life.server.collect_garbage();
    const ReconcileResult waits = life.look(1s);
    CHECK(life.server.take_writes() == Writes{"PATCH " + status_path});
    CHECK_FALSE(api::any_active(life.state().jobs_status));
    CHECK_FALSE(life.server.find(job_sets, key));
    CHECK(waits.requeue_after == 7s);
    life.look(7s);
    REQUIRE(life.server.find(job_sets, key));
    CHECK(life.job_set()["metadata"]["annotations"][api::attempt_annotation] == Json("1"));
    // The report of the attempt before is none of this one.
    life.server.now += 1h;
    life.renew(life.since_long());
    life.look(0s);
    CHECK(life.condition("Failed").empty());
    CHECK(life.state().restarts.all == 1);
}

TEST_CASE("a job that hangs without restarts that are left ends with the reason of its policy") {
    Watched life("Restart", R"({"maxRestarts": 0})");
    life.server.now += 120s;
    life.renew(life.since_long());
    const ReconcileResult ended = life.look(0s);
    CHECK(life.condition("Failed") == "True/ReachedMaxRestarts");
    CHECK(life.message("Failed") ==
          "the TrainJob has used the restarts of its failure policy: 0. The last attempt: no progress for 2m "
          "(limit 1m): 42 %; last report 2m ago");
    CHECK(life.server.take_writes() == Writes{"PATCH " + status_path});
    CHECK(ended.measurements.end == lifecycle::End::progress_deadline);
    life.look(1s);
    CHECK(life.server.take_writes() == Writes{"PATCH " + job_set_path});
}

TEST_CASE("a job that hangs has nothing to restart by without a failure policy, and fails") {
    Watched life("Restart");
    life.server.now += 120s;
    life.renew(life.since_long());
    life.look(0s);
    CHECK(life.condition("Failed") == "True/ProgressDeadlineExceeded");
    CHECK(life.state().failures.empty());
}

TEST_CASE("a policy that cannot be read leaves a job that hangs as it is, and the verdict comes later") {
    Watched life("Restart", R"({"maxRestarts": 1})");
    life.server.now += 120s;
    life.renew(life.since_long());
    life.server.refuse_read = [](const kube::Request& request) -> std::optional<api::Error> {
        if (kube::resource_of(request.target) != "configmaps") return std::nullopt;
        return api::Error{.code = api::Errc::unavailable, .message = "busy", .http_status = 503};
    };
    const ReconcileResult retried = life.look(0s);
    CHECK(retried.error);
    CHECK(retried.requeue_after);
    CHECK(life.server.take_writes().empty());
    life.server.refuse_read = {};
    life.look(1s);
    CHECK(life.condition("Restarting") == "True/BackingOff");
}

TEST_CASE("the start of all Pods is stored once for a start deadline, which counts from it") {
    Watched life("Fail");
    life.server.edit(train_jobs, key, [](Json& job) {
        Json& annotations = job["metadata"]["annotations"];
        annotations.erase("trainer.kubeflow.org/progress-deadline-seconds");
        annotations["trainer.kubeflow.org/start-deadline-seconds"] = "60";
        job["status"].erase("trainerStatus");
    });
    life.look(100s);
    CHECK_FALSE(life.state().attempt.began);
    CHECK(life.server.take_writes().empty());
    life.count_in_job_set(R"([{"name": "node", "active": 1, "ready": 1}])");
    life.look(0s);
    CHECK(life.state().attempt.began == life.server.now);
    CHECK(life.server.take_writes() == Writes{"PATCH " + status_path});
    CHECK(life.look(0s).requeue_after == 120s);
    CHECK(life.server.take_writes().empty());
    life.server.now += 120s;
    life.renew(life.since_long());
    life.look(0s);
    CHECK(life.condition("Failed") == "True/ProgressDeadlineExceeded");
    CHECK(life.message("Failed") == "no report for 2m since all Pods had started (limit 1m)");
}

TEST_CASE("a Lease that allows no verdict costs one read each half a minute") {
    Watched life("Fail");
    life.server.now += 120s;
    SECTION("it is old") {}
    SECTION("it is not there") { life.server.erase(kube::resources::leases, lease); }
    const ReconcileResult waits = life.look(0s);
    CHECK(life.reads == Reads{lease_path});
    CHECK(waits.requeue_after == 30s);
    CHECK(waits.measurements.requeue == lifecycle::RequeueReason::progress);
    CHECK(life.server.take_writes().empty());
    // The server is back: a whole period.
    life.renew(life.server.now);
    CHECK(life.look(0s).requeue_after == 120s);
    CHECK(life.reads == Reads{lease_path});
}

TEST_CASE("a Lease that cannot be read is retried, and holds up nothing else") {
    Watched life("Fail");
    life.server.now += 120s;
    life.server.refuse_read = [](const kube::Request& request) -> std::optional<api::Error> {
        if (kube::resource_of(request.target) != "leases.coordination.k8s.io") return std::nullopt;
        return api::Error{.code = api::Errc::forbidden,
                          .message = R"(leases is forbidden: User "x" cannot get resource "leases")",
                          .http_status = 403};
    };
    const ReconcileResult retried = life.look(0s);
    CHECK(retried.error);
    CHECK(retried.requeue_after == 1s);
    CHECK(life.condition("Failed").empty());
    life.finish_job_set();
    life.look(1s);
    CHECK(life.condition("Complete") == "True/AllJobsCompleted");
}

TEST_CASE("progress that the cache has not shown yet is found by the live read") {
    Watched life("Fail");
    life.look(1s);
    life.server.now += 120s;
    life.frozen = true;
    life.report(43);
    life.renew(life.since_long());
    const ReconcileResult found = life.look(0s);
    CHECK(life.condition("Failed").empty());
    CHECK(found.requeue_after == 120s);
    CHECK(life.server.take_writes().empty());
}

TEST_CASE("without its gate no annotation has an effect") {
    Watched life("Fail");
    life.server.now += 24h;
    life.renew(life.since_long());
    CHECK_FALSE(life.reconcile().requeue_after);
    CHECK(life.condition("Failed").empty());
}

}  // namespace controller
