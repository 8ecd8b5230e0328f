// JobSets and ConfigMaps that another controller has built, in part not as we would.
#include "api/names.hpp"
#include "life.hpp"

namespace controller {
namespace {

const char* const claims_that_go = R"([{"templates": [{"metadata": {"name": "data"}}]}])";

// Its JobSet has another backoffLimit than ours, and was applied under our name.
struct TakenOver : Life {
    Json foreign = {};
    std::string uid = {};

    explicit TakenOver(const char* framework = "torch", const char* claims = nullptr) {
        set_in_runtime("mlPolicy", Json::object({{framework, Json::object()}}));
        server.edit(cluster_training_runtimes, torch, [&](Json& runtime) {
            Json& spec = runtime["spec"]["template"]["spec"];
            spec["replicatedJobs"].items().front()["template"]["spec"]["backoffLimit"] = 3;
            if (claims) spec["volumeClaimPolicies"] = api::parse_json(claims).value();
        });
        reconcile();
        foreign = job_set();
        for (const char* name : {"annotations", "managedFields", "generation", "creationTimestamp"})
            foreign["metadata"].erase(name);
        foreign.erase("status");
        foreign["spec"]["replicatedJobs"].items().front()["template"]["spec"]["backoffLimit"] = 7;
        server.erase(job_sets, key);
        server.erase(config_maps, snapshot);
        server.edit(train_jobs, key, [](Json& job) { job["status"].erase("runtimeDigest"); });
        server.apply(job_sets, foreign);
        uid = api::parse_meta(job_set()).uid;
        server.take_writes();
    }

    // As it does, which we see afterwards.
    void suspend() {
        set_suspend(true);
        foreign["spec"]["suspend"] = true;
        server.apply(job_sets, foreign);
    }
    void finish_some() {
        server.edit(job_sets, key, [](Json& job_set) {
            job_set["status"]["replicatedJobsStatus"] =
                api::parse_json(R"([{"name": "node", "succeeded": 1}])").value();
        });
    }
    std::int64_t backoff_limit() const {
        const Json& job = job_set()["spec"]["replicatedJobs"][std::size_t{0}];
        return job["template"]["spec"]["backoffLimit"].int_or(0);
    }
    bool has_said(std::string_view text) const {
        return std::any_of(log_lines.begin(), log_lines.end(),
                           [&](const std::string& line) { return line.find(text) != line.npos; });
    }
    void label_pods() {
        set_in_job("runtimePatches", api::parse_json(R"([{"manager": "test", "trainingRuntimeSpec": {
            "template": {"spec": {"replicatedJobs": [{"name": "node", "template": {"spec": {"template": {
                "metadata": {"labels": {"a": "b"}}}}}}]}}}}])")
                                         .value());
    }
};

struct Mounted {
    const char* framework;
    api::ObjectKey map;
    const char* data_key;
};
const Mounted mounted[] = {{"mpi", {"ns", "job-mpi-hostfile"}, "hostfile"},
                           {"flux", {"ns", "job-flux-entrypoint"}, "entrypoint.sh"}};

// The other controller has put something else into what its Pods mount.
struct WithMap : TakenOver {
    api::ObjectKey map;
    std::string data_key;

    explicit WithMap(const Mounted& of) : TakenOver(of.framework), map(of.map), data_key(of.data_key) {
        server.edit(config_maps, map, [&](Json& object) {
            object["metadata"].erase("annotations");
            object["data"][data_key] = "foreign";
        });
        server.take_writes();
    }
    bool is_theirs() const {
        return (*server.find(config_maps, map))["data"][data_key].as_string() == "foreign";
    }
};

}  // namespace

TEST_CASE("a JobSet that another controller has built goes on as it is where a new one would lose something",
          "[takeover]") {
    for (const bool has_claims : {false, true}) {
        INFO(has_claims);
        TakenOver life("torch", has_claims ? claims_that_go : nullptr);
        life.suspend();
        if (!has_claims) life.finish_some();
        life.reconcile();
        CHECK(life.condition("Created") == "True/JobsCreationSucceeded");
        CHECK(life.has_said("JobSetKept"));
        CHECK(life.has_said("spec.replicatedJobs[0].template.spec.backoffLimit"));
        life.log_lines.clear();
        life.label_pods();
        life.reconcile();
        life.set_suspend(false);
        life.reconcile();
        life.reconcile();
        CHECK(api::parse_meta(life.job_set()).uid == life.uid);
        CHECK(life.job_set()["spec"]["suspend"] == Json(false));
        CHECK(life.backoff_limit() == 7);
        CHECK(to_json(life.job_set()["spec"]).find(R"("a":"b")") != std::string::npos);
        CHECK(life.condition("Created") == "True/JobsCreationSucceeded");
        CHECK_FALSE(life.has_said("JobSetKept"));

        // What users change from then on is not taken, and can be taken back.
        life.set_suspend(true);
        life.reconcile();
        life.set_in_job("trainer", api::parse_json(R"({"image": "second"})").value());
        life.reconcile();
        CHECK(life.condition("Created") == "True/JobsCreationSucceeded");
        CHECK(life.has_said("JobSetKept"));
        life.set_in_job("trainer", Json());
        life.set_suspend(false);
        life.reconcile();
        CHECK(api::parse_meta(life.job_set()).uid == life.uid);
        CHECK(life.job_set()["spec"]["suspend"] == Json(false));
        CHECK(life.condition("Created") == "True/JobsCreationSucceeded");
    }
}

TEST_CASE("a suspended JobSet that another controller has built otherwise is made anew if nothing is lost",
          "[takeover]") {
    TakenOver life;
    life.suspend();
    life.reconcile();
    life.server.collect_garbage();
    life.reconcile();
    CHECK(api::parse_meta(life.job_set()).uid != life.uid);
    CHECK(life.backoff_limit() == 3);
    CHECK_FALSE(api::is_taken_over(life.job_set()));
}

TEST_CASE("a job of another controller does not end by the deadline of its runtime, and stays after its end",
          "[takeover]") {
    const Json limits =
        api::parse_json(R"({"activeDeadlineSeconds": 60, "ttlSecondsAfterFinished": 5})").value();
    for (const bool lost_status : {false, true}) {
        INFO(lost_status);
        TakenOver life;
        life.server.edit(train_jobs, key, [](Json& job) { job["status"].erase("runPolicy"); });
        life.set_in_runtime("runPolicy", limits);
        life.set_in_runtime("ttlSecondsAfterFinished", 5);
        if (lost_status)
            life.server.refuse = [](const kube::Request& request) -> std::optional<api::Error> {
                if (request.target.find("/status") == std::string::npos) return std::nullopt;
                return api::Error{.code = api::Errc::unavailable, .message = "connection reset"};
            };
        life.reconcile();
        life.server.refuse = nullptr;
        REQUIRE(life.server.find(config_maps, snapshot));
        life.reconcile();
        CHECK(to_json(life.job()["status"]["runPolicy"]) == "{}");
        life.server.now += 1h;
        life.reconcile();
        CHECK(life.condition("Failed").empty());
        life.finish_job_set();
        life.reconcile();
        life.server.now += 1h;
        life.server.take_writes();
        life.reconcile();
        CHECK(life.server.take_writes().empty());
    }
}

TEST_CASE("what the Pods of another controller have mounted stays while its template does", "[takeover]") {
    for (const Mounted& of : mounted) {
        INFO(of.framework);
        WithMap life(of);
        life.reconcile();
        CHECK(life.server.take_writes() == Writes{"POST " + config_maps_path, "PATCH " + status_path});
        CHECK(life.is_theirs());
        life.suspend();
        life.finish_some();
        life.reconcile();
        life.set_suspend(false);
        life.reconcile();
        life.reconcile();
        CHECK(life.job_set()["spec"]["suspend"] == Json(false));
        CHECK(life.is_theirs());
    }
}

TEST_CASE("it is replaced with the JobSet", "[takeover]") {
    for (const Mounted& of : mounted) {
        INFO(of.framework);
        WithMap life(of);
        life.suspend();
        life.reconcile();
        life.server.collect_garbage();
        life.reconcile();
        CHECK(api::parse_meta(life.job_set()).uid != life.uid);
        CHECK_FALSE(life.is_theirs());
    }
}

// Kubeflow Trainer gives the label of the gang to the Pods of every Job; only those of the trainer are a
// gang.
TEST_CASE("a gang of another controller runs on, and its initializer leaves it while it is suspended",
          "[takeover]") {
    const std::string_view label = "scheduling.x-k8s.io/pod-group";
    const auto pods_of = [](Json& job_set, std::size_t number) -> Json& {
        return job_set["spec"]["replicatedJobs"].items()[number]["template"]["spec"]["template"];
    };
    Life life;
    life.set_in_runtime("podGroupPolicy", Json::object({{"coscheduling", Json::object()}}));
    life.server.edit(cluster_training_runtimes, torch, [](Json& runtime) {
        Json::Array& jobs = runtime["spec"]["template"]["spec"]["replicatedJobs"].items();
        jobs.insert(jobs.begin(), jobs.front());
        jobs.front()["name"] = "dataset-initializer";
        jobs.front()["template"]["metadata"]["labels"]["trainer.kubeflow.org/trainjob-ancestor-step"] =
            "dataset-initializer";
        jobs.back()["dependsOn"] =
            api::parse_json(R"([{"name": "dataset-initializer", "status": "Complete"}])").value();
    });
    life.reconcile();
    Json foreign = life.job_set();
    REQUIRE(pods_of(foreign, 0)["metadata"]["labels"].find(label) == nullptr);
    REQUIRE(pods_of(foreign, 1)["metadata"]["labels"][label].as_string() == "job");
    for (const char* name : {"annotations", "managedFields", "generation", "creationTimestamp"})
        foreign["metadata"].erase(name);
    foreign.erase("status");
    foreign["spec"].erase("network");
    pods_of(foreign, 0)["metadata"]["labels"][label] = "job";
    life.server.erase(job_sets, key);
    life.server.erase(config_maps, snapshot);
    life.server.apply(job_sets, foreign);
    life.server.take_writes();

    life.reconcile();
    CHECK(life.server.take_writes() == Writes{"POST " + config_maps_path});

    life.set_suspend(true);
    foreign["spec"]["suspend"] = true;
    life.server.apply(job_sets, foreign);
    for (int i = 0; i < 3; ++i) {
        life.reconcile();
        life.server.collect_garbage();
    }
    life.set_suspend(false);
    for (int i = 0; i < 2; ++i) life.reconcile();
    Json now = life.job_set();
    CHECK(now["spec"]["suspend"] == Json(false));
    CHECK(pods_of(now, 0)["metadata"]["labels"].find(label) == nullptr);
    CHECK(pods_of(now, 1)["metadata"]["labels"][label].as_string() == "job");
    CHECK(life.condition("Created") == "True/JobsCreationSucceeded");
}

}  // namespace controller
