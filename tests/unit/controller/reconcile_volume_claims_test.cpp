// How the volume claims of a suspended JobSet are kept.
#include "api/names.hpp"
#include "life.hpp"

namespace controller {
namespace {

const char* const claims = R"([{"templates": [{"metadata": {"name": "data"}, "spec": {"resources":
    {"requests": {"storage": "1Gi"}}}}]}])";

// As the API server and JobSet's webhook fill it in.
const char* const claims_with_defaults = R"([{"retentionPolicy": {"whenDeleted": "Delete"}, "templates": [
    {"metadata": {"name": "data", "creationTimestamp": null}, "spec": {"resources": {"requests": {"storage": "1Gi"}}},
     "status": {}}]}])";

// A suspended job with volume claims, of which a JobSet takes no others.
struct WithClaims : Life {
    WithClaims() {
        server.edit(cluster_training_runtimes, torch, [](Json& runtime) {
            runtime["spec"]["template"]["spec"]["volumeClaimPolicies"] = api::parse_json(claims).value();
        });
        set_suspend(true);
        reconcile();
        Json filled = job_set();
        filled["spec"]["volumeClaimPolicies"] = api::parse_json(claims_with_defaults).value();
        server.restore(job_sets, std::move(filled));
        server.take_writes();
    }

    // The job's own idea of them changes, which no JobSet can follow.
    void ask_for_more() {
        set_in_job("runtimePatches", api::parse_json(R"([{"manager": "test", "trainingRuntimeSpec": {
            "template": {"spec": {"volumeClaimPolicies": [{"templates": [{"metadata": {"name": "other"}}]}]}}}}])")
                                         .value());
    }
};

}  // namespace

TEST_CASE("a job whose volume claims were given defaults can be resumed") {
    WithClaims life;
    life.set_suspend(false);
    CHECK_FALSE(life.reconcile().error);
    CHECK(life.condition("Created") == "True/JobsCreationSucceeded");
    CHECK(life.job_set()["spec"]["suspend"] == Json(false));
    CHECK(life.job_set()["spec"]["volumeClaimPolicies"] == api::parse_json(claims_with_defaults).value());
}

TEST_CASE("a JobSet that never ran is made anew although its volume claims go with it") {
    WithClaims life;
    life.ask_for_more();
    life.set_suspend(false);
    life.reconcile();
    life.server.collect_garbage();
    CHECK_FALSE(life.server.find(job_sets, key));
    life.reconcile();
    REQUIRE(life.server.find(job_sets, key));
    CHECK(life.job_set()["spec"]["suspend"] == Json(false));
    CHECK(life.condition("Created") == "True/JobsCreationSucceeded");
}

TEST_CASE("a JobSet that has run keeps its volume claims, and is resumed as it was built") {
    WithClaims life;
    life.set_suspend(false);
    life.reconcile();
    life.set_suspend(true);
    life.reconcile();
    life.ask_for_more();
    life.set_suspend(false);
    life.reconcile();
    REQUIRE(life.server.find(job_sets, key));
    CHECK(life.job_set()["spec"]["suspend"] == Json(false));
    CHECK(life.condition("Created") == "True/JobsCreationSucceeded");
    CHECK(to_json(life.job_set()["spec"]["volumeClaimPolicies"]).find("other") == std::string::npos);
}

TEST_CASE(
    "a JobSet that the original suspended keeps its volume claims, whatever it has taken from us since") {
    for (const bool after_a_change : {false, true}) {
        INFO(after_a_change);
        WithClaims life;
        Json foreign = life.job_set();
        foreign["metadata"]["annotations"].erase(api::applied_hash_annotation);
        foreign["spec"]["suspend"] = false;
        life.server.erase(job_sets, key);
        life.server.put(job_sets, foreign);
        // It suspends what runs by an apply under our name.
        foreign["spec"] = Json::object({{"suspend", true}});
        life.server.apply(job_sets, foreign);
        if (after_a_change) {
            life.server.edit(train_jobs, key, [](Json& job) { job["metadata"]["labels"]["team"] = "a"; });
            life.reconcile();
            CHECK(life.server.take_writes() == Writes{"PATCH " + job_set_path});
            CHECK(api::is_applied_here(life.job_set()));
        }
        life.ask_for_more();
        life.reconcile();
        life.server.collect_garbage();
        life.reconcile();
        REQUIRE(life.server.find(job_sets, key));
        CHECK(life.condition("Created") == "True/JobsCreationSucceeded");
        CHECK(to_json(life.job_set()["spec"]["volumeClaimPolicies"]).find("other") == std::string::npos);
    }
}

TEST_CASE("a JobSet that was resumed meanwhile is not suspended again by a change that was decided before") {
    WithClaims life;
    life.server.edit(train_jobs, key, [](Json& job) { job["metadata"]["labels"]["team"] = "a"; });
    life.server.show(life.cache);
    life.frozen = true;
    life.set_suspend(false);
    life.server.edit(job_sets, key, [](Json& job_set) { job_set["spec"]["suspend"] = false; });
    life.reconcile();
    for (const std::string& write : life.server.take_writes()) CHECK(write != "PATCH " + job_set_path);
    CHECK(life.job_set()["spec"]["suspend"] == Json(false));
}

TEST_CASE("a JobSet that is gone is built with the claims that it has left") {
    for (const bool of_another : {false, true}) {
        INFO(of_another);
        Life life;
        life.server.edit(cluster_training_runtimes, torch, [](Json& runtime) {
            runtime["spec"]["template"]["spec"]["volumeClaimPolicies"] =
                api::parse_json(R"([{"retentionPolicy": {"whenDeleted": "Retain"}, "templates": [
                    {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"]}}]}])")
                    .value();
        });
        Json claim = api::parse_json(R"({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {
            "name": "data-job", "namespace": "ns", "labels": {"jobset.sigs.k8s.io/jobset-name": "job"}},
            "spec": {"accessModes": ["ReadWriteOnce"], "volumeName": "pv-1"}, "status": {"phase": "Bound"}})")
                         .value();
        if (of_another) claim["metadata"].erase("labels");
        life.server.put(kube::resources::volume_claims, claim);
        life.reconcile();
        CHECK(life.condition("Created") ==
              (of_another ? "False/JobsCreationFailed" : "True/JobsCreationSucceeded"));
        if (of_another) continue;
        const Json& policy = life.job_set()["spec"]["volumeClaimPolicies"][std::size_t{0}];
        CHECK(policy["templates"][std::size_t{0}]["spec"]["volumeName"] == Json("pv-1"));
        life.set_suspend(true);
        life.reconcile();
        life.set_suspend(false);
        life.reconcile();
        CHECK(life.job_set()["spec"]["suspend"] == Json(false));
    }
}

}  // namespace controller
