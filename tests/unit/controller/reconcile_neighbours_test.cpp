// Suspended JobSets among neighbours that have their own idea of them: JobSet's defaults, policies, Jobs and
// claims that are slow to go.
#include "api/names.hpp"
#include "kube/client/request.hpp"
#include "life.hpp"

namespace controller {
namespace {

using kube::resources::jobs;
using kube::resources::volume_claims;

// What our applies own, as managedFields tell.
Json applied_fields(Life& life) {
    Json owned;
    const auto read = [&]() -> kube::Task<> {
        kube::Request request = kube::get(job_sets, key);
        const auto job_set = co_await kube::fetch(life.server, std::move(request));
        for (const Json& entry : (*job_set)["metadata"]["managedFields"].items())
            if (entry["manager"] == Json("trainer") && entry["operation"] == Json("Apply"))
                owned = entry["fieldsV1"];
    };
    boost::asio::co_spawn(life.context, read(), boost::asio::detached);
    life.context.restart();
    life.context.run();
    return owned;
}

void suspend_and_resume(Life& life) {
    life.set_suspend(true);
    life.reconcile();
    life.set_in_job("labels", Json::object({{"a", "b"}}));
    life.reconcile();
    life.set_suspend(false);
    life.reconcile();
    life.set_in_job("labels", Json());
}

// Of every Pod of "node", as Kueue does it.
Json label_patch(const char* label) {
    Json pod;
    pod["metadata"]["labels"][label] = "y";
    Json replicated = Json::object({{"name", "node"}});
    replicated["template"]["spec"]["template"] = std::move(pod);
    Json patch = Json::object({{"manager", "test"}});
    patch["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"] = Json::array({std::move(replicated)});
    return Json::array({std::move(patch)});
}

// A suspended job with a label, and what JobSet has made of it.
struct Labelled : Life {
    const api::ObjectKey child_key = {"ns", "job-node-0"};

    Labelled() {
        set_suspend(true);
        set_in_job("runtimePatches", label_patch("ours"));
        reconcile();
        server.edit(job_sets, key, [](Json& job_set) {
            job_set["status"]["replicatedJobsStatus"] =
                Json::array({Json::object({{"name", "node"}, {"suspended", 1}})});
        });
        make_child();
        server.take_writes();
    }

    // The cluster gives it the label whatever the JobSet says.
    void make_child() {
        Json job = Json::object({{"apiVersion", "batch/v1"}, {"kind", "Job"}});
        job["metadata"] = Json::object({{"name", child_key.name}, {"namespace", child_key.ns}});
        job["metadata"]["labels"] = Json::object({{std::string(api::job_set_name_label), "job"},
                                                  {std::string(api::replicated_job_label), "node"}});
        job["metadata"]["ownerReferences"] = Json::array({Json::object({{"kind", "JobSet"},
                                                                        {"name", "job"},
                                                                        {"uid", job_set()["metadata"]["uid"]},
                                                                        {"controller", true}})});
        job["spec"]["suspend"] = true;
        job["spec"]["template"]["metadata"]["labels"]["ours"] = "y";
        server.put(jobs, job);
    }

    void withdraw() { set_in_job("runtimePatches", Json::array()); }
};

// A running job whose claim is kept.
struct Keeping : Life {
    const api::ObjectKey claim_key = {"ns", "data-job"};

    Keeping() {
        server.edit(cluster_training_runtimes, torch, [](Json& runtime) {
            runtime["spec"]["template"]["spec"]["volumeClaimPolicies"] =
                api::parse_json(R"([{"retentionPolicy": {"whenDeleted": "Retain"}, "templates": [
                    {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"]}}]}])")
                    .value();
        });
        reconcile();
        make_claim("Bound");
    }

    void make_claim(const char* phase) {
        Json claim = api::parse_json(R"({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {
            "name": "data-job", "namespace": "ns", "labels": {"jobset.sigs.k8s.io/jobset-name": "job"}},
            "spec": {"accessModes": ["ReadWriteOnce"], "volumeName": "pv-1"}})")
                         .value();
        claim["status"]["phase"] = phase;
        server.put(volume_claims, claim);
    }
    void lose_job_set() { server.erase(job_sets, key); }
    std::string volume() const {
        const Json& policy = job_set()["spec"]["volumeClaimPolicies"][std::size_t{0}];
        return std::string(policy["templates"][std::size_t{0}]["spec"]["volumeName"].as_string());
    }
};

}  // namespace

TEST_CASE("suspending and resuming a job makes no field of its JobSet ours that was not", "[neighbours]") {
    for (const bool later_release : {false, true}) {
        INFO(later_release);
        struct Later final : runtime::Plugin {
            std::string_view name() const override { return "later"; }
            api::Result<> enforce_pod_spec(const runtime::Inputs&, runtime::Info& info) const override {
                Json& job = info.spec["replicatedJobs"].items().front();
                job["template"]["spec"]["backoffLimit"] = 3;
                return {};
            }
        };
        Life life;
        life.server.edit(cluster_training_runtimes, torch, [](Json& runtime) {
            Json& spec = runtime["spec"]["template"]["spec"];
            spec["network"] = Json::object();
            spec["failurePolicy"] =
                api::parse_json(R"({"maxRestarts": 1, "rules": [{"name": "", "action": "FailJobSet"}]})")
                    .value();
            spec["volumeClaimPolicies"] =
                api::parse_json(R"([{"templates": [{"metadata": {"name": "data"}}]}])").value();
        });
        life.reconcile();
        const Json created = applied_fields(life);
        REQUIRE_FALSE(created.is_null());
        CHECK(created["f:spec"]["f:successPolicy"].is_null());
        if (later_release) life.pipeline.plugins.insert(life.pipeline.begin(), std::make_unique<Later>());
        suspend_and_resume(life);
        CHECK(life.condition("Created") == "True/JobsCreationSucceeded");
        CHECK(life.job_set()["spec"]["suspend"] == Json(false));
        Json owned = applied_fields(life);
        owned["f:metadata"].erase("f:labels");
        CHECK(owned == created);
    }
}

TEST_CASE("Jobs are deleted in the foreground, so that JobSet makes none beside Pods that still end",
          "[neighbours]") {
    Labelled life;
    std::vector<std::string> bodies;
    life.server.refuse = [&](const kube::Request& request) -> std::optional<api::Error> {
        if (request.method == "DELETE" && request.target.find("/jobs/") != std::string::npos)
            bodies.push_back(request.body);
        return std::nullopt;
    };
    life.withdraw();
    life.reconcile();
    REQUIRE(bodies.size() == 1);
    CHECK(api::parse_json(bodies.front()).value()["propagationPolicy"] == Json("Foreground"));
    // Its Pods still end.
    REQUIRE(life.server.find(jobs, life.child_key));
    life.set_suspend(false);
    life.reconcile();
    CHECK(life.job_set()["spec"]["suspend"] == Json(true));
}

TEST_CASE("Jobs that the cluster gives what we withdraw are made anew three times, and then the job goes on",
          "[neighbours]") {
    Labelled life;
    life.withdraw();
    life.set_suspend(false);
    int deletions = 0;
    for (int i = 0; i < 40; ++i) {
        life.server.now += std::chrono::seconds(2);
        life.reconcile();
        const Json* child = life.server.find(jobs, life.child_key);
        if (child && !(*child)["metadata"].contains("deletionTimestamp")) continue;
        ++deletions;
        if (child) life.server.erase(jobs, life.child_key);
        life.make_child();
    }
    CHECK(deletions == 3);
    CHECK(life.job_set()["spec"]["suspend"] == Json(false));
    CHECK_FALSE(life.job_set()["metadata"]["annotations"].contains(api::withdrawn_annotation));
    CHECK(life.condition("Created") == "True/JobsCreationSucceeded");
}

TEST_CASE("a JobSet is not made while a claim of its is being deleted", "[neighbours]") {
    Keeping life;
    life.server.edit(volume_claims, life.claim_key, [](Json& claim) {
        claim["metadata"]["finalizers"] = Json::array({"kubernetes.io/pvc-protection"});
    });
    life.server.ask_to_delete(volume_claims, life.claim_key);
    life.lose_job_set();
    life.reconcile();
    CHECK_FALSE(life.server.find(job_sets, key));
    CHECK(life.condition("Created") == "True/JobsCreationSucceeded");
    life.server.erase(volume_claims, life.claim_key);
    life.reconcile();
    REQUIRE(life.server.find(job_sets, key));
    CHECK(life.volume().empty());
}

TEST_CASE("a claim that was never bound pins no JobSet to its volume", "[neighbours]") {
    Keeping life;
    life.make_claim("Pending");
    life.lose_job_set();
    life.reconcile();
    CHECK_FALSE(life.server.find(job_sets, key));
    CHECK(life.message("Created").find("PersistentVolumeClaim ns/data-job") != std::string::npos);
    CHECK(life.message("Created").find("pv-1") != std::string::npos);
    life.server.erase(volume_claims, life.claim_key);
    life.reconcile();
    REQUIRE(life.server.find(job_sets, key));
    CHECK(life.volume().empty());
}

TEST_CASE("a JobSet that is pinned to the volume of a lost claim is made anew", "[neighbours]") {
    for (const bool never_bound : {false, true}) {
        INFO(never_bound);
        Keeping life;
        life.lose_job_set();
        life.reconcile();
        REQUIRE(life.volume() == "pv-1");
        life.set_suspend(true);
        life.reconcile();
        CHECK(life.volume() == "pv-1");
        life.server.erase(volume_claims, life.claim_key);
        // JobSet may have made it again, as the JobSet has it.
        if (never_bound) life.make_claim("Pending");
        life.set_suspend(false);
        life.reconcile();
        life.server.collect_garbage();
        CHECK_FALSE(life.server.find(job_sets, key));
        if (never_bound) life.server.erase(volume_claims, life.claim_key);
        life.reconcile();
        REQUIRE(life.server.find(job_sets, key));
        CHECK(life.volume().empty());
        CHECK(life.condition("Created") == "True/JobsCreationSucceeded");
    }
}

TEST_CASE("a policy that changes JobSets on UPDATE as well is reported, with its field where that is known",
          "[neighbours]") {
    for (const bool on_create : {false, true}) {
        INFO(on_create);
        Life life;
        if (on_create)
            life.server.mutate_create = [](const model::Kind& kind, Json& object) {
                if (kind.kind != "JobSet") return;
                Json& job = object["spec"]["replicatedJobs"].items().front();
                job["template"]["spec"]["template"]["spec"]["containers"].items().front()["image"] = "mirror";
            };
        life.set_suspend(true);
        life.reconcile();
        life.server.edit(job_sets, key, [](Json& job_set) {
            job_set["status"]["replicatedJobsStatus"] =
                Json::array({Json::object({{"name", "node"}, {"succeeded", 1}})});
        });
        // What JobSet's webhook makes of that.
        life.server.refuse = [](const kube::Request& request) -> std::optional<api::Error> {
            if (request.method != "PATCH" || request.target != job_set_path) return std::nullopt;
            return api::Error{.code = api::Errc::invalid,
                              .message = "spec.replicatedJobs: Invalid value: []: field is immutable",
                              .http_status = 422};
        };
        life.set_suspend(false);
        life.reconcile();
        const std::string message = life.message("Created");
        CHECK(message.find("policy or webhook of the cluster with every UPDATE") != std::string::npos);
        CHECK(message.find("undo the change") == std::string::npos);
        CHECK((message.find("containers[0].image") != std::string::npos) == on_create);
        CHECK(life.server.find(job_sets, key));
    }
}

}  // namespace controller
