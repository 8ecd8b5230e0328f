// How a suspended JobSet takes a change.
#include "api/names.hpp"
#include "life.hpp"

namespace reconciler {
namespace {

api::Error immutable(const std::string& field) {
    return {.code = api::Errc::invalid,
            .message = "JobSet.jobset.x-k8s.io \"job\" is invalid: " + field +
                       ": Invalid value: \"array\": Value is immutable",
            .reason = "Invalid",
            .http_status = 422};
}

const char* const claims = R"([{"templates": [{"metadata": {"name": "data"}, "spec": {"resources":
    {"requests": {"storage": "1Gi"}}}}]}])";

// As the API server and JobSet's webhook fill it in.
const char* const claims_with_defaults = R"([{"retentionPolicy": {"whenDeleted": "Delete"}, "templates": [
    {"metadata": {"name": "data", "creationTimestamp": null}, "spec": {"resources": {"requests": {"storage": "1Gi"}}},
     "status": {}}]}])";

// A suspended job with volume claims, on a server that refuses any other list of them.
struct WithClaims : Life {
    WithClaims() {
        (*server.find(cluster_training_runtimes, torch))["spec"]["template"]["spec"]["volumeClaimPolicies"] =
            api::parse_json(claims).value();
        job()["spec"]["suspend"] = true;
        pass();
        job_set()["spec"]["volumeClaimPolicies"] = api::parse_json(claims_with_defaults).value();
        server.refuse = [this](const kube::Request& request) -> std::optional<api::Error> {
            if (request.method != "PATCH" || request.target != job_set_path) return std::nullopt;
            const Json* stored = server.find(job_sets, key);
            const Json body = api::parse_json(request.body).value();
            const Json* sent = body["spec"].find("volumeClaimPolicies");
            if (!stored || !sent || *sent == (*stored)["spec"]["volumeClaimPolicies"]) return std::nullopt;
            return immutable("spec.volumeClaimPolicies");
        };
        server.take_writes();
    }

    // The job's own idea of them changes, which no JobSet can follow.
    void ask_for_more() {
        Json changed = job();
        changed["spec"]["runtimePatches"] = api::parse_json(R"([{"manager": "test", "trainingRuntimeSpec": {
            "template": {"spec": {"volumeClaimPolicies": [{"templates": [{"metadata": {"name": "other"}}]}]}}}}])")
                                                .value();
        server.put(train_jobs, std::move(changed));
    }
};

// A suspended job whose JobSet has a label that we did not put there.
struct WithForeignLabel : Life {
    WithForeignLabel() {
        job()["spec"]["suspend"] = true;
        job()["spec"]["runtimePatches"] = label_patch();
        pass();
        Json labelled = job_set();
        labels(labelled)["foreign"] = "x";
        labelled["metadata"]["managedFields"] = api::parse_json(R"([
            {"manager": "trainer", "operation": "Apply", "fieldsV1": {"f:spec": {"f:replicatedJobs": {
             "k:{\"name\":\"node\"}": {"f:template": {"f:spec": {"f:template": {"f:metadata": {
             "f:labels": {"f:ours": {}}}}}}}}}}},
            {"manager": "kubectl-edit", "operation": "Update", "fieldsV1": {"f:spec": {"f:replicatedJobs": {
             "k:{\"name\":\"node\"}": {"f:template": {"f:spec": {"f:template": {"f:metadata": {
             "f:labels": {"f:foreign": {}}}}}}}}}}}])")
                                                    .value();
        server.put(job_sets, std::move(labelled));
        server.take_writes();
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

}  // namespace

TEST_CASE("a job whose volume claims were given defaults can be resumed") {
    WithClaims life;
    life.set_suspend(false);
    CHECK_FALSE(life.pass().trouble);
    CHECK(life.condition("Created") == "True/JobsCreationSucceeded");
    CHECK(life.job_set()["spec"]["suspend"] == Json(false));
    CHECK(life.job_set()["spec"]["volumeClaimPolicies"] == api::parse_json(claims_with_defaults).value());
}

TEST_CASE("a JobSet that never ran is made anew although its volume claims go with it") {
    WithClaims life;
    life.ask_for_more();
    life.set_suspend(false);
    life.pass();
    CHECK_FALSE(life.server.find(job_sets, key));
    life.pass();
    REQUIRE(life.server.find(job_sets, key));
    CHECK(life.job_set()["spec"]["suspend"] == Json(false));
    CHECK(life.condition("Created") == "True/JobsCreationSucceeded");
}

TEST_CASE("a JobSet that has run keeps its volume claims, and the TrainJob says what stands in the way") {
    WithClaims life;
    life.set_suspend(false);
    life.pass();
    life.set_suspend(true);
    life.pass();
    life.ask_for_more();
    life.set_suspend(false);
    life.pass();
    REQUIRE(life.server.find(job_sets, key));
    CHECK(life.job_set()["spec"]["suspend"] == Json(true));
    CHECK(life.condition("Created") == "False/JobsCreationFailed");
}

TEST_CASE(
    "a JobSet that the original suspended keeps its volume claims, whatever it has taken from us since") {
    for (const bool after_a_change : {false, true}) {
        INFO(after_a_change);
        WithClaims life;
        // It suspends what runs by an apply under our name.
        Json left = life.job_set();
        left["metadata"]["annotations"].erase(api::applied_hash_annotation);
        left["metadata"]["generation"] = 2;
        left["metadata"]["managedFields"] = api::parse_json(R"([{"manager": "trainer", "operation": "Apply",
            "fieldsV1": {"f:spec": {"f:suspend": {}}}}])")
                                                .value();
        life.server.put(job_sets, std::move(left));
        if (after_a_change) {
            Json changed = life.job();
            changed["metadata"]["labels"]["team"] = "a";
            life.server.put(train_jobs, std::move(changed));
            life.pass();
            CHECK(life.server.take_writes() == Writes{"PATCH " + job_set_path});
            CHECK(api::is_applied_by_us(life.job_set()));
        }
        life.ask_for_more();
        life.pass();
        life.pass();
        REQUIRE(life.server.find(job_sets, key));
        CHECK(life.condition("Created") == "False/JobsCreationFailed");
    }
}

TEST_CASE("a JobSet that was resumed meanwhile is not suspended again by a change that was decided before") {
    WithClaims life;
    Json changed = life.job();
    changed["metadata"]["labels"]["team"] = "a";
    life.server.put(train_jobs, std::move(changed));
    life.server.show(life.caches);
    life.frozen = true;
    life.set_suspend(false);
    Json resumed = life.job_set();
    resumed["spec"]["suspend"] = false;
    life.server.put(job_sets, std::move(resumed));
    life.pass();
    for (const std::string& write : life.server.take_writes()) CHECK(write != "PATCH " + job_set_path);
    CHECK(life.job_set()["spec"]["suspend"] == Json(false));
}

TEST_CASE("a label that somebody else put on a suspended JobSet is no reason to make it anew") {
    WithForeignLabel life;
    life.set_suspend(false);
    life.pass();
    for (const std::string& write : life.server.take_writes()) CHECK(write != "DELETE " + job_set_path);
    REQUIRE(life.server.find(job_sets, key));
    CHECK(life.job_set()["spec"]["suspend"] == Json(false));
}

TEST_CASE("a label of ours that is withdrawn is one, also next to somebody else's") {
    WithForeignLabel life;
    Json changed = life.job();
    changed["spec"].erase("runtimePatches");
    changed["spec"]["suspend"] = false;
    life.server.put(train_jobs, std::move(changed));
    life.pass();
    CHECK_FALSE(life.server.find(job_sets, key));
}

}  // namespace reconciler
