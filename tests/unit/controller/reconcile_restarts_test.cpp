// Restarts that JobSet makes by a failure policy of the template, over several JobSets of one TrainJob. Those
// of a failure policy of the runtime: reconcile_attempts_test.cpp.
#include "life.hpp"

namespace controller {
namespace {

constexpr const char* before_annotation = "trainer.kubeflow.org/restarts-before";

void restart(Life& life, int all, int counted) {
    life.server.edit(job_sets, key, [&](Json& job_set) {
        job_set["status"]["restarts"] = all;
        job_set["status"]["restartsCountTowardsMax"] = counted;
    });
}

// A TrainJob that has begun, with a failure policy in its runtime's template.
void begin(Life& life) {
    life.server.edit(cluster_training_runtimes, torch, [](Json& runtime) {
        runtime["spec"]["template"]["spec"]["failurePolicy"] = Json::object({{"maxRestarts", 3}});
    });
    life.reconcile();
    life.server.take_writes();
}

api::Restarts restarts_of(const Life& life) { return api::parse_restarts(life.job()["status"]); }

// Reconciles while another reconciler changes the TrainJob and deletes the JobSet, after the TrainJob was
// read.
void lose_job_set_after(Life& life, const std::function<void(Json&)>& change) {
    life.server.erase(job_sets, key);
    life.server.refuse_read = [&](const kube::Request& request) -> std::optional<api::Error> {
        if (request.target == job_set_path) life.server.edit(train_jobs, key, change);
        return std::nullopt;
    };
    CHECK(life.reconcile().requeue_after == 1s);
    CHECK_FALSE(life.server.find(job_sets, key));
    life.server.refuse_read = {};
    life.server.now += 1s;
    life.reconcile();
}

}  // namespace

TEST_CASE("a restart is stored, measured and reported once", "[restarts]") {
    Life life;
    begin(life);
    restart(life, 2, 1);
    CHECK(life.reconcile().measurements.restarted == api::Restarts{.all = 2, .counted = 1});
    CHECK(restarts_of(life) == api::Restarts{.all = 2, .counted = 1});
    CHECK(life.server.take_writes() == Writes{"PATCH " + status_path});
    CHECK_THAT(life.log_lines.back(),
               Catch::Contains("TrainJobRestarted") && Catch::Contains("restart 2, 1 of 3 counted"));
    CHECK(life.reconcile().measurements.restarted == api::Restarts());
    CHECK(life.server.take_writes().empty());
}

TEST_CASE("a new JobSet has the restarts that another reconciler has stored meanwhile", "[restarts]") {
    Life life;
    begin(life);
    lose_job_set_after(life, [](Json& job) {
        job["status"]["restarts"] = 2;
        job["status"]["restartsCountTowardsMax"] = 1;
    });
    REQUIRE(life.server.find(job_sets, key));
    CHECK(life.job_set()["metadata"]["annotations"][before_annotation] == Json("2,1"));
    CHECK(restarts_of(life) == api::Restarts{.all = 2, .counted = 1});
}

TEST_CASE("a TrainJob that another reconciler has ended meanwhile gets no JobSet", "[restarts]") {
    Life life;
    begin(life);
    lose_job_set_after(life, [](Json& job) {
        job["status"]["conditions"].push_back(Json::object(
            {{"type", "Failed"}, {"status", "True"}, {"reason", api::reason::deadline_exceeded}}));
    });
    CHECK_FALSE(life.server.find(job_sets, key));
}

TEST_CASE("a JobSet that replaces another one says what was before it", "[restarts]") {
    Life life;
    begin(life);
    life.set_suspend(true);
    life.reconcile();
    life.reconcile();
    restart(life, 2, 1);
    const auto stored = life.reconcile();
    CHECK(stored.measurements.restarted == api::Restarts{.all = 2, .counted = 1});
    life.server.erase(job_sets, key);
    life.reconcile();
    const Json& renewed = life.job_set();
    CHECK(renewed["metadata"]["annotations"][before_annotation] == Json("2,1"));
    CHECK(renewed["spec"]["failurePolicy"]["maxRestarts"] == Json(3));
    CHECK(restarts_of(life) == api::Restarts{.all = 2, .counted = 1});

    // The one that is there is not built anew for its own restarts.
    restart(life, 1, 1);
    life.reconcile();
    CHECK(restarts_of(life) == api::Restarts{.all = 3, .counted = 2});
    CHECK(life.job_set()["metadata"]["annotations"][before_annotation] == Json("2,1"));
}

// As under CRDs that lack these fields: whatever is written meanwhile loses them.
TEST_CASE("what a job loses with other CRDs returns from its JobSet and its snapshot", "[restarts]") {
    Life life;
    life.set_in_runtime("ttlSecondsAfterFinished", 60);
    begin(life);
    const Json policy = life.job_set()["spec"]["failurePolicy"];
    restart(life, 2, 1);
    life.reconcile();
    const Json before = life.job()["status"];
    REQUIRE(to_json(before["runPolicy"]) == R"({"ttlSecondsAfterFinished":60})");
    constexpr const char* lost[] = {"restarts", "restartsCountTowardsMax", "runPolicy", "startTime"};
    life.server.edit(train_jobs, key, [&](Json& job) {
        for (const char* member : lost) job["status"].erase(member);
    });
    life.set_in_runtime("ttlSecondsAfterFinished", Json());
    life.server.take_writes();
    life.reconcile();
    for (const char* member : lost) CHECK(life.job()["status"][member] == before[member]);
    CHECK(life.server.take_writes() == Writes{"PATCH " + status_path});
    CHECK(life.job_set()["spec"]["failurePolicy"] == policy);

    life.server.erase(job_sets, key);
    life.reconcile();
    CHECK(life.job_set()["metadata"]["annotations"][before_annotation] == Json("2,1"));
}

TEST_CASE("a schema without the numbers of restarts keeps no reconcile busy", "[restarts]") {
    Life life;
    begin(life);
    life.set_suspend(true);
    life.reconcile();
    life.reconcile();
    life.server.take_writes();
    life.server.change_request = [](kube::Request& request) {
        if (!request.target.starts_with(status_path)) return;
        Json body = api::parse_json(request.body).value();
        for (const char* member : {"restarts", "restartsCountTowardsMax"}) body["status"].erase(member);
        request.body = to_json(body);
    };
    int writes = 0;
    life.server.refuse = [&](const kube::Request& request) -> std::optional<api::Error> {
        if (request.target != status_path || ++writes <= 5) return std::nullopt;
        return api::Error{.code = api::Errc::unavailable, .message = "busy"};
    };
    restart(life, 1, 1);
    CHECK_FALSE(life.reconcile().error);
    CHECK(writes == 1);
    CHECK(life.condition("Suspended") == "True/Suspended");
}

}  // namespace controller
