// How a suspended JobSet takes a change.
#include "api/names.hpp"
#include "kube/client/request.hpp"
#include "life.hpp"
#include "runtime/info.hpp"

namespace controller {
namespace {

// A suspended job whose JobSet has a label that we did not put there.
struct WithForeignLabel : Life {
    std::string uid = {};

    WithForeignLabel() {
        set_suspend(true);
        set_in_job("runtimePatches", label_patch());
        reconcile();
        server.edit(job_sets, key, [](Json& job_set) {
            labels(job_set)["foreign"] = "x";
            job_set["status"]["replicatedJobsStatus"] =
                api::parse_json(R"([{"name": "node", "suspended": 1}])").value();
        });
        server.take_writes();
        uid = api::parse_meta(job_set()).uid;
    }

    // What JobSet has made of it.
    Json child(const std::string& labels_of_pods) const {
        Json job = api::parse_json(R"({"apiVersion": "batch/v1", "kind": "Job", "metadata": {
            "name": "job-node-0", "namespace": "ns", "labels": {
            "jobset.sigs.k8s.io/jobset-name": "job", "jobset.sigs.k8s.io/replicatedjob-name": "node"}},
            "spec": {"suspend": true}})")
                       .value();
        job["metadata"]["ownerReferences"] = Json::array(
            {Json::object({{"kind", "JobSet"}, {"name", "job"}, {"uid", uid}, {"controller", true}})});
        job["spec"]["template"]["metadata"]["labels"] = api::parse_json(labels_of_pods).value();
        return job;
    }

    static Json label_patch() {
        return api::parse_json(
                   R"([{"manager": "test", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [
            {"name": "node", "template": {"spec": {"template": {"metadata": {"labels": {"ours": "y"}}}}}}]}}}}])")
            .value();
    }
    static Json& labels(Json& job_set) {
        Json& job = job_set["spec"]["replicatedJobs"].items().front();
        return job["template"]["spec"]["template"]["metadata"]["labels"];
    }
};

using kube::resources::jobs;
const api::ObjectKey child_key = {"ns", "job-node-0"};

Json template_of(const Life& life) {
    return (*life.server.find(cluster_training_runtimes, torch))["spec"]["template"];
}
Json with_rule(const Life& life) {
    Json changed = template_of(life);
    changed["spec"]["failurePolicy"] =
        api::parse_json(R"({"rules": [{"name": "", "action": "FailJobSet"}]})").value();
    return changed;
}
const Json& rule_of(const Json& job_set) { return job_set["spec"]["failurePolicy"]["rules"][std::size_t{0}]; }
Json with_backoff_limit(const Life& life) {
    Json changed = template_of(life);
    changed["spec"]["replicatedJobs"].items().front()["template"]["spec"]["backoffLimit"] = 2;
    return changed;
}

}  // namespace

TEST_CASE("a label that a user put on a suspended JobSet is no reason to make it anew") {
    WithForeignLabel life;
    life.set_suspend(false);
    life.reconcile();
    for (const std::string& write : life.server.take_writes()) CHECK(write != "DELETE " + job_set_path);
    REQUIRE(life.server.find(job_sets, key));
    CHECK(life.job_set()["spec"]["suspend"] == Json(false));
}

TEST_CASE("a label of ours that is withdrawn is one, also next to a user's") {
    WithForeignLabel life;
    life.server.put(jobs, life.child(R"({"ours": "y", "foreign": "x"})"));
    life.server.edit(train_jobs, key, [](Json& job) {
        job["spec"].erase("runtimePatches");
        job["spec"]["suspend"] = false;
    });
    life.reconcile();
    REQUIRE(life.server.find(job_sets, key));
    CHECK(life.job_set()["spec"]["suspend"] == Json(true));
    CHECK((*life.server.find(jobs, child_key))["metadata"].contains("deletionTimestamp"));
    // Once its Pods are gone; and JobSet's answer to that.
    life.server.erase(jobs, child_key);
    life.server.put(jobs, life.child(R"({"foreign": "x"})"));
    life.reconcile();
    CHECK(life.job_set()["spec"]["suspend"] == Json(false));
    Json stored = life.job_set();
    CHECK(WithForeignLabel::labels(stored) == Json::object({{"foreign", "x"}}));
    CHECK_FALSE(stored["metadata"]["annotations"].contains(api::withdrawn_annotation));
    CHECK(life.server.find(jobs, child_key));
}

TEST_CASE("the resume of a JobSet in a queue is noted once its Jobs are made anew") {
    WithForeignLabel life;
    life.server.edit(job_sets, key, [](Json& job_set) {
        job_set["metadata"]["labels"][api::queue_label] = "team";
        job_set["metadata"]["annotations"][api::written_suspend_annotation] = "true";
    });
    const auto note = [&] {
        return Json(life.job_set()["metadata"]["annotations"][api::written_suspend_annotation]);
    };
    life.server.put(jobs, life.child(R"({"ours": "y"})"));
    life.server.edit(train_jobs, key, [](Json& job) {
        job["spec"].erase("runtimePatches");
        job["spec"]["suspend"] = false;
    });
    life.reconcile();
    CHECK(life.job_set()["spec"]["suspend"] == Json(true));
    CHECK(note() == Json("true"));
    life.server.erase(jobs, child_key);
    life.server.put(jobs, life.child(R"({"foreign": "x"})"));
    life.reconcile();
    CHECK(life.job_set()["spec"]["suspend"] == Json(false));
    CHECK(note() == Json("false"));
}

TEST_CASE("a Job that runs or has changed since is not deleted for what was withdrawn") {
    WithForeignLabel life;
    life.server.put(jobs, life.child(R"({"ours": "y"})"));
    life.server.edit(jobs, child_key, [](Json& job) { job["spec"]["suspend"] = false; });
    life.set_in_job("runtimePatches", Json::array());
    life.reconcile();
    CHECK(life.server.find(jobs, child_key));
    CHECK(api::parse_meta(life.job_set()).uid == life.uid);
}

TEST_CASE("a JobSet that the webhook has changed is ours as it is") {
    Life life;
    life.set_in_runtime("template", with_rule(life));
    life.set_suspend(true);
    life.reconcile();
    const std::string uid = api::parse_meta(life.job_set()).uid;
    CHECK(rule_of(life.job_set())["name"] == Json("failurePolicyRule0"));
    life.server.take_writes();
    life.reconcile();
    CHECK(life.server.take_writes() == Writes{});
    life.set_in_job("runtimePatches", WithForeignLabel::label_patch());
    life.set_suspend(false);
    life.reconcile();
    CHECK(api::parse_meta(life.job_set()).uid == uid);
    CHECK(life.job_set()["spec"]["suspend"] == Json(false));
    CHECK(life.condition("Created") == "True/JobsCreationSucceeded");
}

TEST_CASE("a JobSet of which the cluster always makes something else is made anew three times") {
    Life life;
    life.set_suspend(true);
    life.server.mutate_create = [](const model::Kind& kind, Json& object) {
        if (kind.kind != "JobSet") return;
        object["metadata"].erase("annotations");
        object["spec"]["replicatedJobs"].items().front()["template"]["spec"]["backoffLimit"] = 9;
    };
    int deletions = 0;
    life.server.refuse = [&](const kube::Request& request) -> std::optional<api::Error> {
        deletions += request.method == "DELETE" && request.target == job_set_path;
        return std::nullopt;
    };
    life.set_in_runtime("template", with_backoff_limit(life));
    for (int i = 0; i < 20; ++i) {
        life.reconcile();
        life.server.collect_garbage();
    }
    CHECK(deletions == 3);
    CHECK(life.condition("Created") == "False/JobsCreationFailed");
    CHECK(life.message("Created").find(
              "spec.replicatedJobs[0].template.spec.backoffLimit: must not change") != std::string::npos);
    CHECK(life.message("Created").find("3 times") != std::string::npos);
}

TEST_CASE("a JobSet stays while a new one would be refused") {
    Life life;
    life.set_suspend(true);
    life.reconcile();
    life.server.admit_create = [](const model::Kind& kind, const Json&) -> std::optional<model::Reply> {
        if (kind.kind != "JobSet") return std::nullopt;
        return model::failure(403, "Forbidden", "exceeded quota: few");
    };
    life.set_in_job("trainer", api::parse_json(R"({"image": "second"})").value());
    life.reconcile();
    REQUIRE(life.server.find(job_sets, key));
    CHECK_FALSE(life.job_set()["metadata"].contains("deletionTimestamp"));
    CHECK(life.condition("Created") == "False/JobsCreationFailed");
    CHECK(life.message("Created").find("which would be refused: exceeded quota") != std::string::npos);
    life.server.admit_create = {};
    life.reconcile();
    CHECK(life.job_set()["metadata"].contains("deletionTimestamp"));
}

TEST_CASE("a JobSet is made anew where the quota of JobSets is exactly full, as it makes the room itself") {
    Life life;
    life.set_suspend(true);
    life.reconcile();
    const std::string old = api::parse_meta(life.job_set()).uid;
    life.server.admit_create = [&](const model::Kind& kind, const Json&) -> std::optional<model::Reply> {
        if (kind.kind != "JobSet" || !life.server.find(job_sets, key)) return std::nullopt;
        return model::failure(
            403, "Forbidden",
            "jobsets.jobset.x-k8s.io \"jox\" is forbidden: exceeded quota: few, requested: "
            "count/jobsets.jobset.x-k8s.io=1, used: count/jobsets.jobset.x-k8s.io=1, limited: "
            "count/jobsets.jobset.x-k8s.io=1");
    };
    life.set_in_job("trainer", api::parse_json(R"({"image": "second"})").value());
    life.reconcile();
    CHECK(life.job_set()["metadata"].contains("deletionTimestamp"));
    CHECK(life.condition("Created") == "True/JobsCreationSucceeded");
    life.server.erase(job_sets, key);
    life.reconcile();
    REQUIRE(life.server.find(job_sets, key));
    CHECK(api::parse_meta(life.job_set()).uid != old);
    CHECK(life.condition("Created") == "True/JobsCreationSucceeded");
}

TEST_CASE("a JobSet of which Jobs have finished is not made anew") {
    Life life;
    life.set_suspend(true);
    life.reconcile();
    life.server.edit(job_sets, key, [](Json& job_set) {
        job_set["status"]["replicatedJobsStatus"] =
            api::parse_json(R"([{"name": "node", "succeeded": 1}])").value();
    });
    life.set_in_job("trainer", api::parse_json(R"({"image": "second"})").value());
    life.reconcile();
    REQUIRE(life.server.find(job_sets, key));
    CHECK_FALSE(life.job_set()["metadata"].contains("deletionTimestamp"));
    CHECK(life.condition("Created") == "True/JobsCreationSucceeded");
    const std::string& told = life.log_lines.back();
    CHECK(told.find("JobSetKept") != std::string::npos);
    CHECK(told.find(
              "containers[0].image is not as the TrainJob and its runtime say now, and a new one would run "
              "again what has finished") != std::string::npos);
}

TEST_CASE("a JobSet of which Jobs have finished is resumed as it was built, with what may change in it") {
    Life life;
    life.set_suspend(true);
    life.reconcile();
    const auto pod = [&]() -> const Json& {
        return life
            .job_set()["spec"]["replicatedJobs"][std::size_t{0}]["template"]["spec"]["template"]["spec"];
    };
    const Json image = pod()["containers"][std::size_t{0}]["image"];
    const std::string uid = api::parse_meta(life.job_set()).uid;
    life.server.edit(job_sets, key, [](Json& job_set) {
        job_set["status"]["replicatedJobsStatus"] =
            api::parse_json(R"([{"name": "node", "succeeded": 1}])").value();
    });
    life.set_in_job("trainer", api::parse_json(R"({"image": "second"})").value());
    life.set_in_job("runtimePatches", api::parse_json(R"([{"manager": "kueue.x-k8s.io/manager",
        "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [{"name": "node", "template": {"spec":
        {"template": {"spec": {"nodeSelector": {"pool": "spot"}}}}}}]}}}}])")
                                          .value());
    life.set_suspend(false);
    for (int i = 0; i < 3; ++i) life.reconcile();
    CHECK(api::parse_meta(life.job_set()).uid == uid);
    CHECK(life.job_set()["spec"]["suspend"] == Json(false));
    CHECK(pod()["containers"][std::size_t{0}]["image"] == image);
    CHECK(pod()["nodeSelector"]["pool"] == Json("spot"));
    CHECK(life.condition("Created") == "True/JobsCreationSucceeded");
    CHECK(life.condition("Suspended") == "False/Resumed");
    const auto told =
        std::count_if(life.log_lines.begin(), life.log_lines.end(), [](const std::string& line) {
            return line.find("JobSetKept") != std::string::npos &&
                   line.find("containers[0].image") != std::string::npos;
        });
    CHECK(told == 1);

    // As it is suspended again, the change can be undone.
    life.set_suspend(true);
    for (int i = 0; i < 2; ++i) life.reconcile();
    CHECK(life.condition("Created") == "True/JobsCreationSucceeded");
    life.set_in_job("trainer", Json());
    life.set_suspend(false);
    for (int i = 0; i < 3; ++i) life.reconcile();
    CHECK(api::parse_meta(life.job_set()).uid == uid);
    CHECK(life.job_set()["spec"]["suspend"] == Json(false));
    CHECK(life.condition("Created") == "True/JobsCreationSucceeded");
}

TEST_CASE("what another release builds of the same is no reason for a new JobSet") {
    struct Later final : runtime::Plugin {
        std::string_view name() const override { return "later"; }
        api::Result<> enforce_pod_spec(const runtime::Inputs&, runtime::Info& info) const override {
            Json& job = info.spec["replicatedJobs"].items().front();
            Json& pod = job["template"]["spec"]["template"]["spec"];
            pod["containers"].items().front()["env"].push_back(
                Json::object({{"name", "LATER"}, {"value", "yes"}}));
            return {};
        }
    };
    Life life;
    life.set_suspend(true);
    life.reconcile();
    const std::string uid = api::parse_meta(life.job_set()).uid;
    life.pipeline.plugins.insert(life.pipeline.begin(), std::make_unique<Later>());
    life.reconcile();
    life.set_suspend(false);
    life.reconcile();
    CHECK(api::parse_meta(life.job_set()).uid == uid);
    CHECK(life.job_set()["spec"]["suspend"] == Json(false));
    // A new JobSet of it is of the new release.
    life.server.erase(job_sets, key);
    life.reconcile();
    CHECK(to_json(life.job_set()).find("LATER") != std::string::npos);
}

}  // namespace controller
