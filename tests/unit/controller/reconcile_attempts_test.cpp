// Attempts of one TrainJob, from the failure of one to the start of the next, on the modelled API server.
#include "api/names.hpp"
#include "life.hpp"

namespace Catch {

template <>
struct StringMaker<api::Attempt> {
    static std::string convert(const api::Attempt& attempt) {
        const auto text = [](const std::optional<api::Time>& time) {
            return time ? api::format_time(*time) : "-";
        };
        return "began " + text(attempt.began) + ", next " + text(attempt.next) + ", " +
               std::to_string(attempt.failures) + " failures, " + std::to_string(attempt.uncounted_failures) +
               " uncounted";
    }
};

}  // namespace Catch

namespace controller {
namespace {

using kube::resources::pods;
using kube::resources::volume_claims;

constexpr const char* usual_policy = R"({"maxRestarts": 2, "rules": [
    {"action": "FailTrainJob", "onExitCodes": {"operator": "In", "values": [42]}},
    {"action": "RestartTrainJob", "onPodReasons": ["OOMKilled"], "excludeNode": true}]})";

constexpr const char* failed = "ReachedMaxRestarts";
constexpr const char* disrupted = "FailJobSetFailurePolicyAction";

const Writes status_alone = {"PATCH " + status_path};

struct Attempts : Life {
    explicit Attempts(const char* policy = usual_policy) {
        set_in_runtime("runPolicy", Json::object({{"failurePolicy", api::parse_json(policy).value()}}));
    }
    // Its first attempt runs.
    void begin() {
        reconcile();
        run();
    }
    void run() {
        count_in_job_set(R"([{"name": "node", "active": 1, "ready": 1}])");
        reconcile();
        server.take_writes();
    }
    // A reconcile by another process, as after a crash.
    controller::ReconcileResult reconcile_anew() {
        controller::Cache fresh{[](const api::ObjectKey&, const controller::Change&) {}, namespaces,
                                pipeline};
        server.show(fresh);
        controller::SharedObjects objects{time, [] {}};
        controller::Reconciler other{server,
                                     fresh,
                                     events,
                                     log,
                                     [this] { return kube::ServerTime(server.now, true); },
                                     {},
                                     {pipeline, objects}};
        controller::ReconcileResult report;
        const auto run = [&]() -> kube::Task<> { report = co_await other.reconcile(key, {}); };
        boost::asio::co_spawn(context, run(), boost::asio::detached);
        context.restart();
        context.run();
        return report;
    }
    Json pod() {
        Json pod;
        const std::string name = "job-node-0-" + std::to_string(++pods_left);
        pod["metadata"] = Json::object({{"name", name}, {"namespace", "ns"}});
        pod["metadata"]["labels"] = Json::object({{api::job_set_name_label, "job"},
                                                  {api::job_set_uid_label, job_set()["metadata"]["uid"]},
                                                  {api::replicated_job_label, "node"}});
        pod["metadata"]["ownerReferences"] = Json::array({Json::object({{"apiVersion", "batch/v1"},
                                                                        {"kind", "Job"},
                                                                        {"name", "job-node-0"},
                                                                        {"uid", "u"},
                                                                        {"controller", true}})});
        return pod;
    }
    void leave_pending_pod(Json spec) {
        Json waiting = pod();
        waiting["spec"] = std::move(spec);
        waiting["status"] = Json::object({{"phase", "Pending"}});
        server.put(pods, waiting);
    }
    void leave_failed_pod(int exit_code, const char* reason, const std::string& node = "gpu-17") {
        Json failed_pod = pod();
        failed_pod["spec"]["nodeName"] = node;
        Json container = Json::object({{"name", "node"}});
        container["state"]["terminated"] = Json::object(
            {{"exitCode", exit_code}, {"reason", reason}, {"finishedAt", api::format_time(server.now)}});
        failed_pod["status"] =
            Json::object({{"phase", "Failed"}, {"containerStatuses", Json::array({container})}});
        server.put(pods, failed_pod);
    }
    void fail_job_set(const char* reason = failed) {
        server.edit(job_sets, key, [&](Json& job_set) {
            job_set["status"]["replicatedJobsStatus"] =
                api::parse_json(R"([{"name": "node", "failed": 1}])").value();
            job_set["status"]["conditions"] =
                Json::array({Json::object({{"type", "Failed"},
                                           {"status", "True"},
                                           {"reason", reason},
                                           {"message", "jobset failed"},
                                           {"lastTransitionTime", api::format_time(server.now)}})});
        });
    }
    void fail(int exit_code = 1, const char* pod_reason = "Error", const char* reason = failed) {
        leave_failed_pod(exit_code, pod_reason);
        fail_job_set(reason);
    }
    // From the judgement to the next JobSet.
    void wait_for_next() {
        server.now += 300s;
        reconcile();
        server.collect_garbage();
        reconcile();
    }
    // The same, and it runs.
    void go_on() {
        wait_for_next();
        run();
    }
    api::TrainJob state() const { return api::parse_train_job(job()); }
    std::string note(const char* annotation) const {
        return std::string(job_set()["metadata"]["annotations"][annotation].as_string());
    }
    std::string attempt() const { return note("trainer.kubeflow.org/attempt"); }
    std::string excluded() const { return note("trainer.kubeflow.org/excluded-nodes"); }
    bool is_being_deleted() const { return !job_set()["metadata"]["deletionTimestamp"].is_null(); }
    const Json& pod_spec() const {
        return job_set()["spec"]["replicatedJobs"][std::size_t(0)]["template"]["spec"]["template"]["spec"];
    }

private:
    int pods_left = 0;
};

// Answers one request with an error, and says whether it has.
struct Once {
    std::string method = {};
    std::string target = {};
    int left = 1;

    std::optional<api::Error> operator()(const kube::Request& request) {
        if (request.method != method || request.target != target || left == 0) return std::nullopt;
        --left;
        return api::Error{.code = api::Errc::unavailable, .message = "connection reset"};
    }
};

}  // namespace

TEST_CASE("an attempt that fails is judged, waited for, retired and followed by the next one", "[attempts]") {
    Attempts life;
    life.begin();
    CHECK(life.attempt() == "0");
    CHECK(life.state().attempt.began == life.server.now);
    life.server.now += 60s;
    life.fail(137, "OOMKilled");

    const auto judged = life.reconcile();
    CHECK(life.server.take_writes() == status_alone);
    CHECK(judged.requeue_after == 10s);
    CHECK(judged.measurements.restarted == api::Restarts{.all = 1, .counted = 1});
    CHECK(life.condition("Restarting") == "True/BackingOff");
    CHECK(life.message("Restarting") ==
          "attempt 1 begins at " + api::format_time(life.server.now + 10s) +
              ". The first to fail: Pod job-node-0-1 on node gpu-17: OOMKilled, exit code 137");
    CHECK(life.condition("Failed").empty());
    CHECK_THAT(life.log_lines.back(),
               Catch::Contains("TrainJobRestarted") &&
                   Catch::Contains("restart 1, 1 of 2 counted: Pod job-node-0-1 on node gpu-17"));
    api::TrainJob job = life.state();
    CHECK(job.restarts == api::Restarts{.all = 1, .counted = 1});
    CHECK(job.attempt == api::Attempt{.next = life.server.now + 10s, .failures = 1});
    REQUIRE(job.failures.size() == 1);
    CHECK(job.failures[0].decision == api::FailureDecision::restart);
    CHECK(job.failures[0].rule == 1);
    CHECK(job.failures[0].excludes_node);
    CHECK(job.failures[0].attempt == 0);

    life.server.now += 9s;
    CHECK(life.reconcile().requeue_after == 1s);
    CHECK(life.server.take_writes().empty());

    life.server.now += 1s;
    life.reconcile();
    CHECK(life.server.take_writes() == Writes{"DELETE " + job_set_path});
    CHECK(life.job_set()["metadata"]["finalizers"] == Json::array({"foregroundDeletion"}));
    CHECK(life.is_being_deleted());
    life.reconcile();
    CHECK(life.server.take_writes().empty());

    life.server.collect_garbage();
    life.server.now += 5s;
    life.reconcile();
    REQUIRE(life.server.find(job_sets, key));
    CHECK(life.attempt() == "1");
    CHECK(life.note("trainer.kubeflow.org/restarts-before") == "1,1");
    CHECK(life.excluded() == "gpu-17");
    CHECK(to_json(life.pod_spec()["affinity"]) ==
          R"({"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":)"
          R"([{"matchFields":[{"key":"metadata.name","operator":"NotIn","values":["gpu-17"]}]}]}}})");
    CHECK(life.condition("Restarting") == "True/BackingOff");
    CHECK(life.condition("Created") == "True/JobsCreationSucceeded");

    life.count_in_job_set(R"([{"name": "node", "active": 1}])");
    life.reconcile();
    CHECK(life.condition("Restarting").empty());
    CHECK(life.state().attempt == api::Attempt{.failures = 1});
    life.server.now += 5s;
    life.count_in_job_set(R"([{"name": "node", "active": 1, "ready": 1}])");
    life.reconcile();
    CHECK(life.state().attempt == api::Attempt{.began = life.server.now, .failures = 1});
    life.server.take_writes();
    life.reconcile();
    CHECK(life.server.take_writes().empty());

    life.finish_job_set();
    life.reconcile();
    CHECK(life.condition("Complete") == "True/AllJobsCompleted");
    job = life.state();
    CHECK(job.restarts == api::Restarts{.all = 1, .counted = 1});
    CHECK(job.failures.size() == 1);
}

TEST_CASE("a crash after each step loses no attempt and counts none twice", "[attempts]") {
    Attempts life;
    life.begin();
    life.fail();

    // The judgement is not stored.
    life.server.refuse = Once{"PATCH", status_path};
    CHECK(life.reconcile().error);
    CHECK(life.state().restarts == api::Restarts());
    CHECK(life.log_lines.back().find("TrainJobRestarted") == std::string::npos);
    life.reconcile_anew();
    CHECK(life.state().restarts == api::Restarts{.all = 1, .counted = 1});
    life.server.take_writes();

    // It is: the next process waits as this one would have.
    CHECK(life.reconcile_anew().requeue_after == 10s);
    CHECK(life.server.take_writes().empty());

    // The JobSet is not deleted.
    life.server.now += 10s;
    life.server.refuse = Once{"DELETE", job_set_path};
    CHECK(life.reconcile().error);
    CHECK_FALSE(life.is_being_deleted());
    life.server.refuse = {};
    life.server.take_writes();
    life.reconcile_anew();
    CHECK(life.server.take_writes() == Writes{"DELETE " + job_set_path});
    CHECK_FALSE(life.reconcile_anew().error);
    CHECK(life.server.take_writes().empty());

    // The next one is not created.
    life.server.collect_garbage();
    bool refused = false;
    life.server.refuse = [&](const kube::Request& request) -> std::optional<api::Error> {
        if (request.target.find("/jobsets") == std::string::npos || refused) return std::nullopt;
        refused = true;
        return api::Error{.code = api::Errc::unavailable, .message = "connection reset"};
    };
    CHECK(life.reconcile().error);
    CHECK(refused);
    CHECK_FALSE(life.server.find(job_sets, key));
    life.reconcile_anew();
    CHECK(life.attempt() == "1");

    // It is, and the status does not say so.
    life.server.take_writes();
    life.reconcile_anew();
    CHECK(life.attempt() == "1");
    CHECK(life.state().restarts == api::Restarts{.all = 1, .counted = 1});
    CHECK(life.state().failures.size() == 1);
}

TEST_CASE("the restarts of the policy are spent one by one, and then the job ends", "[attempts]") {
    Attempts life;
    life.begin();
    for (int restarts = 1; restarts <= 2; ++restarts) {
        life.fail();
        const api::Time now = life.server.now;
        life.reconcile();
        CHECK(life.state().restarts == api::Restarts{.all = restarts, .counted = restarts});
        CHECK(life.state().attempt.next == now + 10s * restarts);
        life.go_on();
        CHECK(life.attempt() == std::to_string(restarts));
    }
    life.fail();
    life.server.take_writes();
    life.reconcile();
    CHECK(life.server.take_writes() == status_alone);
    CHECK(life.condition("Failed") == "True/ReachedMaxRestarts");
    CHECK(
        life.message("Failed") ==
        "the TrainJob has used the restarts of its failure policy: 2. The first to fail: Pod job-node-0-3 on "
        "node gpu-17: exit code 1");
    const api::TrainJob job = life.state();
    CHECK(job.restarts == api::Restarts{.all = 2, .counted = 2});
    REQUIRE(job.failures.size() == 3);
    CHECK(job.failures[0].attempt == 2);
    CHECK(job.failures[0].decision == api::FailureDecision::fail);
    CHECK(job.failures[2].attempt == 0);
    life.server.now += 1h;
    life.reconcile();
    CHECK_FALSE(life.is_being_deleted());
}

TEST_CASE("a rule of the runtime ends the job", "[attempts]") {
    Attempts life;
    life.begin();
    life.fail(42);
    life.reconcile();
    CHECK(life.condition("Failed") == "True/FailJobSetFailurePolicyAction");
    CHECK_THAT(life.message("Failed"), Catch::StartsWith("rule 0 of the failure policy ends the TrainJob. "));
    CHECK(life.state().restarts == api::Restarts());
}

TEST_CASE("a disruption does not count, and leaves no Pod to be read", "[attempts]") {
    Attempts life(R"({"maxRestarts": 0})");
    life.begin();
    life.fail_job_set(disrupted);
    life.reconcile();
    CHECK(life.condition("Restarting") == "True/BackingOff");
    const api::TrainJob job = life.state();
    CHECK(job.restarts == api::Restarts{.all = 1, .counted = 0});
    CHECK(job.attempt.uncounted_failures == 1);
    REQUIRE(job.failures.size() == 1);
    CHECK(job.failures[0].decision == api::FailureDecision::restart_uncounted);
    CHECK(job.failures[0].rule == api::infrastructure_rule);
    CHECK(job.failures[0].pod.empty());
    life.go_on();
    CHECK(life.note("trainer.kubeflow.org/restarts-before") == "1,0");
    life.fail();
    life.reconcile();
    CHECK(life.condition("Failed") == "True/ReachedMaxRestarts");
}

TEST_CASE("the TrainJob alone may have a policy", "[attempts]") {
    Life life;
    life.set_in_job("failurePolicy", api::parse_json(R"({"maxRestarts": 1})").value());
    life.reconcile();
    CHECK(life.job_set()["metadata"]["annotations"][api::attempt_annotation] == Json("0"));
    CHECK(life.job_set()["spec"]["failurePolicy"]["maxRestarts"] == Json(0));
}

TEST_CASE("the policy that judges is the one that the job began with", "[attempts]") {
    Attempts life;
    life.begin();
    life.set_in_runtime("runPolicy", Json());
    life.fail();
    life.reconcile();
    CHECK(life.condition("Restarting") == "True/BackingOff");
    CHECK(life.state().restarts == api::Restarts{.all = 1, .counted = 1});
    life.go_on();
    CHECK(life.attempt() == "1");
}

TEST_CASE("without the snapshot the job ends as its JobSet has, unless the runtime is the same",
          "[attempts]") {
    Attempts life;
    life.begin();
    life.server.erase(config_maps, snapshot);
    const bool has_changed = GENERATE(false, true);
    if (has_changed) life.set_nodes(5);
    life.fail(42);
    life.reconcile();
    if (has_changed) {
        CHECK(life.condition("Failed") == "True/ReachedMaxRestarts");
        CHECK(life.message("Failed") ==
              "jobset failed. The first to fail: Pod job-node-0-1 on node gpu-17: exit code 42");
        CHECK(life.state().failures.at(0).decision == api::FailureDecision::none);
    } else {
        CHECK(life.condition("Failed") == "True/FailJobSetFailurePolicyAction");
    }
}

TEST_CASE("a judgement waits for a snapshot that cannot be read at the moment", "[attempts]") {
    Attempts life;
    life.begin();
    life.fail();
    life.server.refuse_read = [](const kube::Request& request) -> std::optional<api::Error> {
        if (request.target != config_maps_path + "/job-runtime-snapshot") return std::nullopt;
        return api::Error{.code = api::Errc::unavailable, .message = "busy"};
    };
    CHECK(life.reconcile().error);
    CHECK(life.condition("Failed").empty());
    CHECK(life.state().restarts == api::Restarts());
    life.server.refuse_read = {};
    life.reconcile();
    CHECK(life.state().restarts == api::Restarts{.all = 1, .counted = 1});
}

TEST_CASE("an attempt is judged although its Pods may not be listed", "[attempts]") {
    Attempts life;
    life.begin();
    life.fail(42);
    life.server.refuse_read = [](const kube::Request& request) -> std::optional<api::Error> {
        if (kube::resource_of(request.target) != "pods") return std::nullopt;
        return api::Error{.code = api::Errc::forbidden,
                          .message = "pods is forbidden: User \"reconciler\" cannot list resource \"pods\"",
                          .reason = "Forbidden",
                          .http_status = 403};
    };
    life.reconcile();
    CHECK(life.condition("Restarting") == "True/BackingOff");
    CHECK(life.state().failures.at(0).message == "jobset failed");
    CHECK(life.state().failures.at(0).rule == api::default_rule);
}

TEST_CASE("an old view judges nothing again", "[attempts]") {
    Attempts life;
    life.begin();
    life.fail();
    life.server.show(life.cache);
    life.frozen = true;
    life.reconcile();
    life.server.take_writes();
    life.reconcile();
    CHECK(life.server.take_writes().empty());
    CHECK(life.state().restarts == api::Restarts{.all = 1, .counted = 1});
}

TEST_CASE("an old view, in which the former attempt is there, harms no new one", "[attempts]") {
    Attempts life;
    life.begin();
    life.fail();
    life.reconcile();
    life.server.show(life.cache);
    life.frozen = true;
    life.server.now += 10s;
    life.reconcile();
    life.server.collect_garbage();
    life.reconcile_anew();
    CHECK(life.attempt() == "1");
    const Json uid = life.job_set()["metadata"]["uid"];
    life.server.take_writes();
    life.reconcile();
    CHECK(life.job_set()["metadata"]["uid"] == uid);
    CHECK_FALSE(life.is_being_deleted());
    for (const std::string& write : life.server.take_writes()) CHECK(write == "PATCH " + status_path);
}

TEST_CASE("of two reconcilers that judge at once one does", "[attempts]") {
    Attempts life;
    life.begin();
    life.fail();
    bool overtaken = false;
    life.server.refuse = [&](const kube::Request& request) -> std::optional<api::Error> {
        if (request.target != status_path || std::exchange(overtaken, true)) return std::nullopt;
        life.server.edit(train_jobs, key, [](Json& job) {
            job["status"]["restarts"] = 1;
            job["status"]["restartsCountTowardsMax"] = 1;
        });
        return std::nullopt;
    };
    const auto report = life.reconcile();
    REQUIRE(overtaken);
    REQUIRE(report.error);
    CHECK(report.error->code == api::Errc::conflict);
    life.server.refuse = {};
    life.reconcile();
    CHECK(life.state().restarts == api::Restarts{.all = 1, .counted = 1});
}

TEST_CASE("a suspended TrainJob keeps what failed, and is resumed into its next attempt", "[attempts]") {
    Attempts life;
    life.begin();
    life.fail();
    life.reconcile();
    life.set_suspend(true);
    life.server.now += 1h;
    life.reconcile();
    life.reconcile();
    CHECK(life.condition("Suspended") == "True/Suspended");
    CHECK_FALSE(life.is_being_deleted());
    CHECK(life.job_set()["spec"]["suspend"] != Json(true));
    life.set_suspend(false);
    life.reconcile();
    CHECK(life.is_being_deleted());
    life.server.collect_garbage();
    life.reconcile();
    CHECK(life.attempt() == "1");
    CHECK(life.job_set()["spec"]["suspend"] == Json(false));
    CHECK(life.state().restarts == api::Restarts{.all = 1, .counted = 1});
}

TEST_CASE("a JobSet keeps the nodes that it avoids, and later ones avoid them as long as the policy says",
          "[attempts]") {
    Attempts life;
    life.begin();
    life.fail(137, "OOMKilled");
    life.reconcile();
    life.go_on();
    REQUIRE(life.excluded() == "gpu-17");
    const Json uid = life.job_set()["metadata"]["uid"];
    const Json as_built = life.pod_spec();

    life.set_suspend(true);
    life.reconcile();
    life.reconcile();
    life.count_in_job_set(R"([{"name": "node", "suspended": 1}])");
    life.server.now += 2h;
    life.reconcile();
    life.set_suspend(false);
    life.reconcile();
    CHECK(life.job_set()["metadata"]["uid"] == uid);
    CHECK(life.job_set()["spec"]["suspend"] == Json(false));
    CHECK(life.excluded() == "gpu-17");
    CHECK(life.pod_spec() == as_built);

    life.run();
    life.fail();
    life.reconcile();
    life.go_on();
    CHECK(life.attempt() == "2");
    CHECK(life.excluded().empty());
    CHECK(life.pod_spec()["affinity"].is_null());
}

TEST_CASE("an exclusion ends only if Pods that avoid its node have had none for five minutes", "[attempts]") {
    Attempts life;
    life.begin();
    life.fail(137, "OOMKilled");
    life.reconcile();
    life.wait_for_next();
    REQUIRE(life.excluded() == "gpu-17");
    life.count_in_job_set(R"([{"name": "node", "active": 1}])");
    life.server.now += 310s;
    life.leave_pending_pod(Json::object({{"containers", Json::array({})}}));
    life.server.now += 310s;
    life.reconcile();
    CHECK(life.attempt() == "1");
    CHECK_FALSE(life.is_being_deleted());

    life.leave_pending_pod(life.pod_spec());
    life.server.now += 299s;
    life.reconcile();
    CHECK(life.state().failures.size() == 1);
    life.server.now += 2s;
    life.reconcile();
    REQUIRE(life.state().failures.size() == 2);
    CHECK(life.state().failures.front().reason == "NoNodeLeft");
    life.reconcile();
    CHECK(life.is_being_deleted());
}

TEST_CASE("the deadline ends a job between its attempts", "[attempts]") {
    Attempts life;
    life.set_in_job("activeDeadlineSeconds", 65);
    life.begin();
    life.server.now += 60s;
    life.fail();
    CHECK(life.reconcile().requeue_after == 5s);
    CHECK(life.reconcile().requeue_after == 5s);
    life.server.now += 5s;
    life.reconcile();
    CHECK(life.condition("Failed") == "True/DeadlineExceeded");
    CHECK(life.condition("Restarting").empty());
    CHECK_FALSE(life.is_being_deleted());
}

TEST_CASE("forged numbers of restarts are put right while an attempt runs", "[attempts]") {
    Attempts life;
    life.begin();
    life.server.edit(train_jobs, key, [](Json& job) {
        job["status"]["restarts"] = 7;
        job["status"]["restartsCountTowardsMax"] = 0;
    });
    life.reconcile();
    CHECK(life.state().restarts == api::Restarts());
    CHECK_FALSE(life.is_being_deleted());
}

namespace {

struct WithClaim : Attempts {
    WithClaim() {
        server.edit(cluster_training_runtimes, torch, [](Json& runtime) {
            Json& spec = runtime["spec"]["template"]["spec"];
            spec["volumeClaimPolicies"] =
                api::parse_json(R"([{"templates": [{"metadata": {"name": "data"}, "spec": {"resources":
                                    {"requests": {"storage": "1Gi"}}}}]}])")
                    .value();
            spec["replicatedJobs"]
                .items()
                .at(0)["template"]["spec"]["template"]["spec"]["containers"]
                .items()
                .at(0)["volumeMounts"] = api::parse_json(R"([{"name": "data", "mountPath": "/d"}])").value();
        });
    }
    const Json* claim() const { return server.find(volume_claims, {"ns", "data-job"}); }
};

}  // namespace

TEST_CASE("the claims of a job outlive its attempts", "[attempts]") {
    WithClaim life;
    life.reconcile();
    REQUIRE(life.claim());
    const Json claim = *life.claim();
    const Json& owner = claim["metadata"]["ownerReferences"][std::size_t(0)];
    CHECK(owner["kind"] == Json("TrainJob"));
    CHECK(owner["uid"] == life.job()["metadata"]["uid"]);
    CHECK(life.job_set()["spec"]["volumeClaimPolicies"].is_null());
    CHECK(to_json(life.pod_spec()["volumes"]) ==
          R"([{"name":"data","persistentVolumeClaim":{"claimName":"data-job"}}])");
    life.run();
    life.fail();
    life.reconcile();
    life.go_on();
    CHECK(life.attempt() == "1");
    REQUIRE(life.claim());
    CHECK(*life.claim() == claim);
    life.server.take_writes();
    life.reconcile();
    CHECK(life.server.take_writes().empty());
}

namespace {

// The nodes wait for a step that writes to the claim.
struct WithInitializer : WithClaim {
    WithInitializer() {
        server.edit(cluster_training_runtimes, torch, [](Json& runtime) {
            Json& jobs = runtime["spec"]["template"]["spec"]["replicatedJobs"];
            jobs.items().at(0)["dependsOn"] =
                api::parse_json(R"([{"name": "dataset-initializer", "status": "Complete"}])").value();
            jobs.push_back(api::parse_json(R"({"name": "dataset-initializer", "template": {
                "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "dataset-initializer"}},
                "spec": {"template": {"spec": {"containers": [{"name": "dataset-initializer", "image": "i",
                    "volumeMounts": [{"name": "data", "mountPath": "/workspace"}]}]}}}}})")
                               .value());
        });
    }
    std::string jobs() const {
        std::string names;
        for (const Json& job : job_set()["spec"]["replicatedJobs"].items())
            names += std::string(job["name"].as_string()) + (job.contains("dependsOn") ? "* " : " ");
        return names;
    }
    std::string counts() const {
        std::string text;
        for (const api::JobStatus& each : state().jobs_status)
            text += each.name + " " + std::to_string(each.succeeded) + " ";
        return text;
    }
    // Its only node fails after the step has `succeeded`.
    void fail_after(int succeeded) {
        reconcile();
        const std::string step =
            R"({"name": "dataset-initializer", "succeeded": )" + std::to_string(succeeded) + "}";
        count_in_job_set(("[" + step + R"(, {"name": "node", "active": 1, "ready": 1}])").c_str());
        server.now += 10s;
        reconcile();
        leave_failed_pod(1, "Error");
        fail_job_set();
        server.edit(job_sets, key, [&](Json& job_set) {
            job_set["status"]["replicatedJobsStatus"] =
                api::parse_json("[" + step + R"(, {"name": "node", "failed": 1}])").value();
        });
        reconcile();
    }
};

}  // namespace

TEST_CASE("an initializer that has succeeded does not run again in later attempts", "[attempts]") {
    WithInitializer life;
    life.fail_after(1);
    CHECK(life.jobs() == "node* dataset-initializer ");
    life.go_on();
    CHECK(life.attempt() == "1");
    CHECK(life.jobs() == "node ");
    CHECK(life.note("trainer.kubeflow.org/finished-jobs") == "dataset-initializer");
    CHECK(life.counts() == "dataset-initializer 1 node 0 ");
    life.server.take_writes();
    life.reconcile_anew();
    CHECK(life.server.take_writes().empty());

    life.fail();
    life.reconcile();
    life.go_on();
    CHECK(life.attempt() == "2");
    CHECK(life.jobs() == "node ");
    CHECK(life.counts() == "dataset-initializer 1 node 0 ");
}

TEST_CASE("an initializer that has not succeeded, or whose claim is lost, runs again", "[attempts]") {
    WithInitializer life;
    SECTION("it has not succeeded") { life.fail_after(0); }
    SECTION("the claim is lost between the attempts") {
        life.fail_after(1);
        life.server.erase(volume_claims, {"ns", "data-job"});
    }
    SECTION("and was made again by a reconcile that went no further") {
        life.fail_after(1);
        Json claim = *life.claim();
        claim["metadata"]["creationTimestamp"] = api::format_time(life.server.now + 1s);
        life.server.restore(volume_claims, std::move(claim));
    }
    life.go_on();
    CHECK(life.attempt() == "1");
    CHECK(life.jobs() == "node* dataset-initializer ");
    CHECK(life.note("trainer.kubeflow.org/finished-jobs").empty());
    CHECK(life.claim());
}

namespace {

Json claim_by_hand(const char* size) {
    Json claim = api::parse_json(R"({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data-job", "namespace": "ns"}, "spec": {"resources": {"requests": {}}}})")
                     .value();
    claim["spec"]["resources"]["requests"]["storage"] = size;
    return claim;
}

}  // namespace

TEST_CASE("a claim that is lost while what wrote to it has finished is not made anew", "[attempts]") {
    WithInitializer life;
    life.fail_after(1);
    life.go_on();
    life.set_suspend(true);
    life.reconcile();
    life.server.erase(volume_claims, {"ns", "data-job"});
    life.set_in_job("labels", api::parse_json(R"({"team": "a"})").value());
    life.set_suspend(false);
    for (int i = 0; i < 3; ++i) life.reconcile();
    CHECK_FALSE(life.claim());
    CHECK(life.job_set()["spec"]["suspend"] == true);
    CHECK(life.condition("Created") == "False/JobsCreationFailed");
    CHECK(life.message("Created") ==
          "PersistentVolumeClaim ns/data-job: it is gone, and with it what jobs have written that will not "
          "run again; restore it, or delete the JobSet so that all of them run again");
    SECTION("it is restored") {
        life.server.put(volume_claims, claim_by_hand("1Gi"));
        life.reconcile();
        CHECK(life.job_set()["spec"]["suspend"] == false);
        CHECK(life.jobs() == "node ");
    }
    SECTION("the JobSet is deleted") {
        life.server.erase(job_sets, key);
        life.reconcile();
        CHECK(life.job_set()["spec"]["suspend"] == false);
        CHECK(life.jobs() == "node* dataset-initializer ");
        CHECK(life.claim());
    }
}

TEST_CASE("a job with claims reads nothing more while it runs", "[attempts]") {
    WithClaim life;
    life.reconcile();
    life.run();
    std::vector<std::string> requests;
    life.server.watch_requests = [&](const kube::Request& request) -> std::optional<api::Error> {
        requests.push_back(request.method + " " + request.target);
        return std::nullopt;
    };
    life.reconcile();
    CHECK(requests == std::vector<std::string>());
}

TEST_CASE("a claim that a user has made in advance is used if it serves", "[attempts]") {
    WithClaim life;
    life.server.put(volume_claims, claim_by_hand("1024Mi"));
    life.reconcile();
    CHECK(life.condition("Created") == "True/JobsCreationSucceeded");
    CHECK((*life.claim())["metadata"]["ownerReferences"].is_null());
}

TEST_CASE("a claim that a user has made in advance is not used if it is too small", "[attempts]") {
    WithClaim life;
    life.server.put(volume_claims, claim_by_hand("512Mi"));
    life.reconcile();
    CHECK_FALSE(life.server.find(job_sets, key));
    CHECK(life.message("Created") ==
          "PersistentVolumeClaim ns/data-job: it exists already, and its spec.resources.requests.storage is "
          "not as the runtime asks");
}

TEST_CASE("a claim of somebody else is not taken", "[attempts]") {
    WithClaim life;
    Json claim = claim_by_hand("1Gi");
    claim["metadata"]["ownerReferences"] =
        api::parse_json(R"([{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}])").value();
    life.server.put(volume_claims, std::move(claim));
    life.reconcile();
    CHECK_FALSE(life.server.find(job_sets, key));
    CHECK(life.condition("Created") == "False/JobsCreationFailed");
    CHECK(life.message("Created") ==
          "PersistentVolumeClaim ns/data-job exists already and does not belong to this TrainJob");
}

}  // namespace controller
