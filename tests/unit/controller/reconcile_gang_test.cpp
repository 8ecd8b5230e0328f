// A job whose Pods are scheduled as a gang, and what its build has to see.
#include "api/names.hpp"
#include "life.hpp"
#include "support/pod_groups.hpp"

namespace controller {
namespace {

using kube::resources::limit_ranges;
using test::pod_groups;

const std::string group_path = "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/ns/podgroups/job";
const std::string limit_ranges_path = "/api/v1/namespaces/ns/limitranges";

struct Gang : Life {
    Gang() { set_in_runtime("podGroupPolicy", Json::object({{"coscheduling", Json::object()}})); }
    Json group() { return server.find(pod_groups, key) ? *server.find(pod_groups, key) : Json(); }
    void set_default_memory(const char* memory) {
        Json range = api::parse_json(R"({"metadata": {"name": "range", "namespace": "ns"},
            "spec": {"limits": [{"type": "Container", "defaultRequest": {}}]}})")
                         .value();
        range["spec"]["limits"].items()[0]["defaultRequest"]["memory"] = memory;
        server.put(limit_ranges, std::move(range));
    }
    static Json& pod_of(Json& runtime) {
        Json& job = runtime["spec"]["template"]["spec"]["replicatedJobs"].items()[0];
        return job["template"]["spec"]["template"]["spec"];
    }
};

TEST_CASE("the PodGroup is there before the JobSet, and belongs to the TrainJob", "[reconcile]") {
    Gang life;
    life.reconcile();
    CHECK(life.server.take_writes() == Writes{"POST " + config_maps_path, "PATCH " + group_path,
                                              "PATCH " + job_set_path, "PATCH " + status_path});
    CHECK(life.group()["spec"]["minMember"].int_or(0) == 2);
    CHECK(api::parse_meta(life.group()).controller_uid == api::parse_meta(life.job()).uid);
}

TEST_CASE("a gang that is settled is not written again", "[reconcile]") {
    for (const bool suspended : {false, true}) {
        CAPTURE(suspended);
        Gang life;
        life.set_suspend(suspended);
        life.reconcile();
        life.reconcile();
        life.server.take_writes();
        life.reconcile();
        CHECK(life.server.take_writes() == Writes{});
    }
}

TEST_CASE("a PodGroup of another owner stops the job before the first write", "[reconcile]") {
    Gang life;
    life.server.put(pod_groups,
                    api::parse_json(R"({"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup",
        "metadata": {"name": "job", "namespace": "ns"}, "spec": {"minMember": 9}})")
                        .value());
    life.reconcile();
    CHECK(life.condition("Created") == "False/JobsCreationFailed");
    CHECK(life.message("Created") == "PodGroup ns/job exists already and does not belong to this TrainJob");
    CHECK(life.server.take_writes() == Writes{"PATCH " + status_path});
    CHECK(life.group()["spec"]["minMember"].int_or(0) == 9);
}

TEST_CASE("the PodGroup of a job that runs is left alone, whatever becomes of it", "[reconcile]") {
    Gang life;
    life.reconcile();
    life.server.erase(pod_groups, key);
    life.server.take_writes();
    life.reconcile();
    CHECK(life.server.take_writes() == Writes{});
}

TEST_CASE("the PodGroup of a suspended job is made again and computed anew", "[reconcile]") {
    Gang life;
    life.set_suspend(true);
    life.reconcile();
    life.reconcile();

    SECTION("when it was deleted") {
        life.server.erase(pod_groups, key);
        life.server.take_writes();
        life.reconcile();
        CHECK(life.server.take_writes() == Writes{"PATCH " + group_path});
        CHECK(life.group()["spec"]["minMember"].int_or(0) == 2);
    }
    SECTION("when it was edited") {
        Json edited = life.group();
        edited["spec"]["minMember"] = 1;
        life.server.put(pod_groups, edited);
        life.reconcile();
        CHECK(life.group()["spec"]["minMember"].int_or(0) == 2);
    }
    SECTION("when a LimitRange has changed, in the reconcile that resumes the job") {
        life.set_default_memory("1Mi");
        life.set_suspend(false);
        life.reconcile();
        CHECK(life.group()["spec"]["minResources"]["memory"] == Json("2Mi"));
        // From now on it runs, and nothing changes any more.
        life.set_default_memory("2Mi");
        life.reconcile();
        CHECK(life.group()["spec"]["minResources"]["memory"] == Json("2Mi"));
    }
}

TEST_CASE("what a RuntimeClass adds is computed anew in the reconcile that resumes the job", "[reconcile]") {
    Gang life;
    life.server.edit(cluster_training_runtimes, torch,
                     [](Json& runtime) { Gang::pod_of(runtime)["runtimeClassName"] = "sandboxed"; });
    const auto set_overhead = [&](const char* memory) {
        Json made = api::parse_json(R"({"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass",
            "metadata": {"name": "sandboxed"}, "handler": "sandbox"})")
                        .value();
        made["overhead"]["podFixed"]["memory"] = memory;
        life.server.put(kube::resources::runtime_classes, std::move(made));
    };
    set_overhead("1Mi");
    life.set_suspend(true);
    life.reconcile();
    CHECK(life.group()["spec"]["minResources"]["memory"] == Json("2Mi"));
    set_overhead("3Mi");
    life.set_suspend(false);
    life.reconcile();
    CHECK(life.group()["spec"]["minResources"]["memory"] == Json("6Mi"));
}

TEST_CASE("LimitRanges are listed, and what cannot be read ends the reconcile without a verdict",
          "[reconcile]") {
    Gang life;
    std::vector<std::string> reads;
    int status = 500;
    life.server.refuse_read = [&](const kube::Request& request) -> std::optional<api::Error> {
        reads.push_back(request.target);
        if (request.target != limit_ranges_path) return std::nullopt;
        return api::Error{.code = api::Errc::unavailable, .message = "try later", .http_status = status};
    };
    for (const int code : {500, 403}) {
        status = code;
        const ReconcileResult report = life.reconcile();
        CHECK(std::count(reads.begin(), reads.end(), limit_ranges_path) > 0);
        REQUIRE(report.error);
        CHECK(report.error->message == "try later");
        CHECK(life.condition("Created").empty());
        CHECK(life.group().is_null());
    }
}

TEST_CASE("GPUs behind claims that may not be read are unknown, and the job runs", "[reconcile]") {
    Life life;
    life.set_in_runtime("mlPolicy", api::parse_json(R"({"numNodes": 2, "xgboost": {}})").value());
    life.server.edit(cluster_training_runtimes, torch, [](Json& runtime) {
        Json& pod = Gang::pod_of(runtime);
        pod["resourceClaims"] =
            api::parse_json(R"([{"name": "gpus", "resourceClaimTemplateName": "gpus"}])").value();
        pod["containers"].items()[0]["resources"]["claims"] =
            api::parse_json(R"([{"name": "gpus"}])").value();
    });
    life.server.refuse_read = [](const kube::Request& request) -> std::optional<api::Error> {
        if (request.target.find("resource.k8s.io") == request.target.npos) return std::nullopt;
        return api::Error{.code = api::Errc::forbidden, .message = "no", .http_status = 403};
    };
    life.reconcile();
    CHECK(life.condition("Created") == "True/JobsCreationSucceeded");
    bool reported = false;
    for (const std::string& line : life.log_lines)
        reported = reported || line.find("GPUCountUnknown") != line.npos;
    CHECK(reported);
}

const std::string native_path = "/apis/scheduling.k8s.io/v1beta1/namespaces/ns/podgroups/job";

struct NativeGang : Life {
    NativeGang() { set_in_runtime("podGroupPolicy", Json::object({{"kubernetes", Json::object()}})); }
    bool has_group() { return server.find(test::native_pod_groups, key) != nullptr; }
    void use_group() {
        server.edit(test::native_pod_groups, key, [](Json& group) {
            group["status"]["conditions"] =
                Json::array({Json::object({{"type", "PodGroupInitiallyScheduled"}, {"status", "True"}})});
        });
    }
    // As JobSet and the scheduler would.
    void run() {
        use_group();
        count_in_job_set(R"([{"name": "node", "active": 1, "ready": 1}])");
        reconcile();
        server.take_writes();
    }
};

TEST_CASE("each run of a job has a PodGroup of its own, and a suspended job has none", "[reconcile]") {
    NativeGang life;
    life.reconcile();
    CHECK(life.server.take_writes() == Writes{"POST " + config_maps_path, "PATCH " + native_path,
                                              "PATCH " + job_set_path, "PATCH " + status_path});
    life.run();
    CHECK(life.has_group());
    life.set_suspend(true);
    life.reconcile();
    life.count_in_job_set(R"([{"name": "node", "suspended": 1}])");
    life.reconcile();
    CHECK_FALSE(life.has_group());
    life.server.take_writes();
    life.reconcile();
    CHECK(life.server.take_writes() == Writes{});

    life.set_suspend(false);
    life.reconcile();
    CHECK(life.has_group());
    CHECK(life.job_set()["spec"]["suspend"] == Json(false));
}

TEST_CASE("a run that goes on has a PodGroup of the Pods that have not succeeded, whoever resumes it",
          "[reconcile]") {
    for (const bool by_others : {false, true}) {
        CAPTURE(by_others);
        NativeGang life;
        life.reconcile();
        life.run();
        const auto hold = [&](bool yes) {
            if (!by_others) return life.set_suspend(yes);
            life.server.edit(job_sets, key, [&](Json& job_set) {
                job_set["metadata"]["labels"][api::queue_label] = "team";
                job_set["metadata"]["annotations"][api::written_suspend_annotation] = "false";
                job_set["spec"]["suspend"] = yes;
            });
        };
        hold(true);
        life.reconcile();
        life.count_in_job_set(R"([{"name": "node", "suspended": 1}])");
        Json job = api::parse_json(R"({"metadata": {"name": "job-node-0", "namespace": "ns", "generation": 2,
            "labels": {"jobset.sigs.k8s.io/jobset-name": "job", "jobset.sigs.k8s.io/replicatedjob-name": "node"},
            "ownerReferences": [{"controller": true}]}, "spec": {"suspend": true}, "status": {"succeeded": 1,
            "conditions": [{"type": "Suspended", "status": "True"}]}})")
                       .value();
        job["metadata"]["ownerReferences"].items()[0]["uid"] = api::parse_meta(life.job_set()).uid;
        life.server.put(kube::resources::jobs, std::move(job));
        life.reconcile();
        CHECK_FALSE(life.has_group());
        hold(false);
        life.reconcile();
        CHECK(life.job_set()["spec"]["suspend"] == Json(false));
        REQUIRE(life.has_group());
        const Json& group = *life.server.find(test::native_pod_groups, key);
        CHECK(group["spec"]["schedulingPolicy"]["gang"]["minCount"] == Json(1));
    }
}

TEST_CASE("each resume is another application of YuniKorn, which holds room for an application once",
          "[reconcile]") {
    Life life;
    life.set_in_runtime("podGroupPolicy", Json::object({{"yunikorn", Json::object()}}));
    const auto application = [&] {
        const Json& job = life.job_set()["spec"]["replicatedJobs"].items().at(0);
        const Json& labels = job["template"]["spec"]["template"]["metadata"]["labels"];
        return std::string(labels["yunikorn.apache.org/app-id"].as_string());
    };
    life.reconcile();
    const std::string first = application();
    life.set_suspend(true);
    life.reconcile();
    life.count_in_job_set(R"([{"name": "node", "suspended": 1}])");
    life.reconcile();
    life.set_suspend(false);
    life.reconcile();
    CHECK(life.job_set()["spec"]["suspend"] == Json(false));
    CHECK(application().starts_with(first + "-"));
}

TEST_CASE("a job that has ended has no PodGroup, which would keep its devices", "[reconcile]") {
    NativeGang life;
    life.reconcile();
    life.run();
    life.finish_job_set();
    life.reconcile();
    CHECK(life.condition("Complete") == "True/AllJobsCompleted");
    life.reconcile();
    CHECK_FALSE(life.has_group());
    life.server.take_writes();
    life.reconcile();
    CHECK(life.server.take_writes() == Writes{});
}

TEST_CASE("a PodGroup of somebody else is not deleted with the job's own", "[reconcile]") {
    NativeGang life;
    life.reconcile();
    life.run();
    life.server.edit(test::native_pod_groups, key,
                     [](Json& group) { group["metadata"].erase("ownerReferences"); });
    life.finish_job_set();
    life.reconcile();
    life.reconcile();
    CHECK(life.has_group());
}

TEST_CASE("a job waits for a cluster that knows PodGroups, without a JobSet", "[reconcile]") {
    NativeGang life;
    bool knows = false;
    life.server.refuse = [&](const kube::Request& request) -> std::optional<api::Error> {
        if (knows || request.target.find("scheduling.k8s.io/v1beta1") == request.target.npos)
            return std::nullopt;
        return api::Error{.code = api::Errc::not_found,
                          .message = "the server could not find the requested resource",
                          .http_status = 404};
    };
    life.reconcile();
    CHECK(life.condition("Created") == "False/PodGroupUnavailable");
    CHECK(life.message("Created") ==
          "PodGroup ns/job: needs scheduling.k8s.io/v1beta1 (Kubernetes 1.37 with the feature gate "
          "GenericWorkload)");
    CHECK_FALSE(life.server.find(job_sets, key));
    knows = true;
    life.reconcile();
    life.reconcile();
    CHECK(life.condition("Created") == "True/JobsCreationSucceeded");
    CHECK(life.server.find(job_sets, key));
}

TEST_CASE("a resume whose runtime is lost does not start Pods without their PodGroup", "[reconcile]") {
    NativeGang life;
    life.reconcile();
    life.run();
    life.set_suspend(true);
    life.reconcile();
    life.count_in_job_set(R"([{"name": "node", "suspended": 1}])");
    life.reconcile();
    life.server.erase(config_maps, {"ns", "job-runtime-snapshot"});
    life.set_nodes(5);
    life.set_suspend(false);
    life.reconcile();
    CHECK(life.condition("Created") == "False/JobsBuildFailed");
    CHECK(life.job_set()["spec"]["suspend"] == Json(true));
}

}  // namespace
}  // namespace controller
