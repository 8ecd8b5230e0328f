// How a suspended JobSet takes a change.
#include "api/names.hpp"
#include "life.hpp"

namespace reconciler {
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
        pass();
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

// A suspended job whose JobSet has a label that we did not put there.
struct WithForeignLabel : Life {
    WithForeignLabel() {
        set_suspend(true);
        set_in_job("runtimePatches", label_patch());
        pass();
        server.edit(job_sets, key, [](Json& job_set) { labels(job_set)["foreign"] = "x"; });
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
    life.server.collect_garbage();
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
        Json theirs = life.job_set();
        theirs["metadata"]["annotations"].erase(api::applied_hash_annotation);
        theirs["spec"]["suspend"] = false;
        life.server.erase(job_sets, key);
        life.server.put(job_sets, theirs);
        // It suspends what runs by an apply under our name.
        theirs["spec"] = Json::object({{"suspend", true}});
        life.server.apply(job_sets, theirs);
        if (after_a_change) {
            life.server.edit(train_jobs, key, [](Json& job) { job["metadata"]["labels"]["team"] = "a"; });
            life.pass();
            CHECK(life.server.take_writes() == Writes{"PATCH " + job_set_path});
            CHECK(api::is_applied_by_us(life.job_set()));
        }
        life.ask_for_more();
        life.pass();
        life.server.collect_garbage();
        life.pass();
        REQUIRE(life.server.find(job_sets, key));
        CHECK(life.condition("Created") == "False/JobsCreationFailed");
    }
}

TEST_CASE("a JobSet that was resumed meanwhile is not suspended again by a change that was decided before") {
    WithClaims life;
    life.server.edit(train_jobs, key, [](Json& job) { job["metadata"]["labels"]["team"] = "a"; });
    life.server.show(life.caches);
    life.frozen = true;
    life.set_suspend(false);
    life.server.edit(job_sets, key, [](Json& job_set) { job_set["spec"]["suspend"] = false; });
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
    life.server.edit(train_jobs, key, [](Json& job) {
        job["spec"].erase("runtimePatches");
        job["spec"]["suspend"] = false;
    });
    life.pass();
    life.server.collect_garbage();
    CHECK_FALSE(life.server.find(job_sets, key));
}

}  // namespace reconciler
