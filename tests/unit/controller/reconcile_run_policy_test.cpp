// Times to live, deadlines of runtimes, and what the status says of them.
#include "life.hpp"

namespace controller {
namespace {

Json seconds(const char* member, int value) { return Json::object({{member, value}}); }
Json ttl(int value) { return seconds("ttlSecondsAfterFinished", value); }

void give_ttl(Life& life, int value) { life.set_in_runtime("runPolicy", ttl(value)); }

void run_to_end(Life& life) {
    life.reconcile();
    life.finish_job_set();
    life.reconcile();
    life.server.take_writes();
}

// Whether it is deleted in a reconcile so long after its end.
bool is_gone_after(Life& life, std::chrono::seconds elapsed) {
    life.server.now += elapsed;
    life.reconcile();
    return life.server.take_writes() == Writes{"DELETE " + job_path};
}

const Json& status_of(const Life& life) { return life.job()["status"]; }

std::function<std::optional<api::Error>(const kube::Request&)> lose(std::string_view path) {
    return [path](const kube::Request& request) -> std::optional<api::Error> {
        if (request.target.find(path) == std::string::npos) return std::nullopt;
        return api::Error{.code = api::Errc::unavailable, .message = "connection reset"};
    };
}

}  // namespace

TEST_CASE("the first status of a job tells what its runtime said, and when it started") {
    Life life;
    life.set_in_runtime("ttlSecondsAfterFinished", 30);
    life.set_in_runtime("runPolicy", seconds("activeDeadlineSeconds", 7200));
    const std::string now = api::format_time(life.server.now);
    life.reconcile();
    CHECK(to_json(status_of(life)["runPolicy"]) ==
          R"({"activeDeadlineSeconds":7200,"ttlSecondsAfterFinished":30})");
    CHECK(status_of(life)["startTime"] == Json(now));
    CHECK_FALSE(status_of(life).contains("completionTime"));
    Life plain;
    plain.reconcile();
    CHECK(to_json(status_of(plain)["runPolicy"]) == "{}");
    plain.server.now += 90s;
    plain.finish_job_set();
    plain.reconcile();
    CHECK(status_of(plain)["completionTime"] == Json(api::format_time(plain.server.now)));
    CHECK(status_of(plain)["startTime"] == Json(now));
}

TEST_CASE("a TTL that a runtime gets later ends no job that has begun, and a longer one keeps it") {
    Life never;
    run_to_end(never);
    give_ttl(never, 1);
    CHECK_FALSE(is_gone_after(never, 24h));

    Life shortened;
    give_ttl(shortened, 60);
    run_to_end(shortened);
    give_ttl(shortened, 1);
    CHECK_FALSE(is_gone_after(shortened, 59s));
    CHECK(is_gone_after(shortened, 1s));

    Life prolonged;
    give_ttl(prolonged, 60);
    run_to_end(prolonged);
    give_ttl(prolonged, 120);
    CHECK_FALSE(is_gone_after(prolonged, 119s));
    CHECK(is_gone_after(prolonged, 1s));

    Life without;
    give_ttl(without, 60);
    run_to_end(without);
    without.set_in_runtime("runPolicy", Json::object());
    CHECK_FALSE(is_gone_after(without, 24h));
    // A prolongation goes with the runtime.
    without.server.erase(cluster_training_runtimes, torch);
    CHECK(is_gone_after(without, 0s));
}

TEST_CASE("a job's own TTL counts, also if it is set after the end, and needs no runtime") {
    Life life;
    give_ttl(life, 3600);
    run_to_end(life);
    life.server.now += 60s;
    life.set_in_job("ttlSecondsAfterFinished", 90);
    CHECK(life.reconcile().requeue_after == 30s);
    CHECK_FALSE(is_gone_after(life, 29s));
    life.server.refuse_read = lose(runtime_path);
    life.set_in_job("ttlSecondsAfterFinished", 0);
    CHECK(is_gone_after(life, 0s));
}

TEST_CASE("a job whose status was lost keeps the TTL that it began with") {
    Life life;
    give_ttl(life, 60);
    life.server.refuse = lose("/status");
    life.reconcile();
    REQUIRE(life.server.find(job_sets, key));
    life.server.refuse = nullptr;
    give_ttl(life, 120);
    life.reconcile();
    CHECK(status_of(life)["runPolicy"] == ttl(60));
    // The snapshot is read once.
    std::size_t looks = 0;
    life.server.refuse_read = [&](const kube::Request& request) -> std::optional<api::Error> {
        looks += request.target.find("configmaps") != std::string::npos;
        return std::nullopt;
    };
    life.server.edit(job_sets, key, [](Json& job_set) { job_set["metadata"]["labels"]["a"] = "b"; });
    life.reconcile();
    CHECK(looks == 0);
}

TEST_CASE("a status that tells of an earlier snapshot is put right") {
    Life life;
    give_ttl(life, 60);
    life.server.refuse = lose("jobsets");
    life.reconcile();
    life.server.edit(train_jobs, key, [](Json& job) { job["status"]["runPolicy"] = ttl(60); });
    give_ttl(life, 120);
    life.server.refuse = lose("/status");
    life.reconcile();
    REQUIRE(life.server.find(job_sets, key));
    CHECK(status_of(life)["runPolicy"] == ttl(60));
    life.server.refuse = nullptr;
    life.reconcile();
    CHECK(status_of(life)["runPolicy"] == ttl(120));
}

TEST_CASE("a running job of Kubeflow Trainer gets its start and what it began with in one write") {
    Life life;
    life.reconcile();
    life.server.edit(train_jobs, key, [](Json& job) {
        job["status"].erase("runPolicy");
        job["status"].erase("startTime");
    });
    life.set_in_runtime("ttlSecondsAfterFinished", 5);
    life.server.take_writes();
    life.reconcile();
    CHECK(life.server.take_writes() == Writes{"PATCH " + status_path});
    CHECK(to_json(status_of(life)["runPolicy"]) == "{}");
    CHECK(status_of(life).contains("startTime"));
    life.finish_job_set();
    life.reconcile();
    life.server.take_writes();
    CHECK_FALSE(is_gone_after(life, 24h));
}

TEST_CASE("a job that ended under Kubeflow Trainer goes by its snapshot, and its status stays as it is") {
    Life life;
    give_ttl(life, 60);
    run_to_end(life);
    life.server.edit(train_jobs, key, [](Json& job) {
        for (const char* field : {"runPolicy", "startTime", "completionTime"}) job["status"].erase(field);
    });
    const std::string before = to_json(status_of(life));
    give_ttl(life, 30);
    CHECK(life.reconcile().requeue_after == 60s);
    CHECK(life.server.take_writes().empty());
    CHECK(to_json(status_of(life)) == before);
    CHECK(is_gone_after(life, 60s));
}

TEST_CASE("the deadline of a runtime is that of the jobs that begin with it") {
    Life life;
    life.set_in_runtime("runPolicy", seconds("activeDeadlineSeconds", 60));
    life.reconcile();
    life.set_in_runtime("runPolicy", seconds("activeDeadlineSeconds", 30));
    life.server.now += 59s;
    CHECK(life.reconcile().requeue_after == 1s);
    CHECK(life.condition("Failed").empty());
    life.server.erase(cluster_training_runtimes, torch);
    life.server.now += 1s;
    life.reconcile();
    CHECK(life.condition("Failed") == "True/DeadlineExceeded");
}

TEST_CASE("a maximum that is lowered reaches no job that has begun") {
    Life life;
    life.set_in_runtime("runPolicy", seconds("maxActiveDeadlineSeconds", 60));
    life.reconcile();
    life.set_in_runtime("runPolicy", seconds("maxActiveDeadlineSeconds", 5));
    life.server.now += 59s;
    CHECK(life.reconcile().requeue_after == 1s);
    CHECK(life.condition("Failed").empty());
    life.server.now += 1s;
    life.reconcile();
    CHECK(life.condition("Failed") == "True/DeadlineExceeded");
}

TEST_CASE("the deadline of a runtime counts from the last of several resumes") {
    Life life;
    life.set_in_runtime("runPolicy", seconds("activeDeadlineSeconds", 60));
    life.reconcile();
    for (int i = 0; i < 2; ++i) {
        life.server.now += 50s;
        life.set_suspend(true);
        life.reconcile();
        life.server.now += 50s;
        life.set_suspend(false);
        life.reconcile();
    }
    life.server.now += 59s;
    CHECK(life.reconcile().requeue_after == 1s);
    life.server.now += 1s;
    life.reconcile();
    CHECK(life.condition("Failed") == "True/DeadlineExceeded");
}

TEST_CASE("an ended job stays for the TTL of a runtime that was made anew") {
    Life life;
    give_ttl(life, 60);
    run_to_end(life);
    const Json runtime = *life.server.find(cluster_training_runtimes, torch);
    life.server.erase(cluster_training_runtimes, torch);
    CHECK_FALSE(is_gone_after(life, 30s));
    life.server.put(cluster_training_runtimes, runtime);
    give_ttl(life, 90);
    CHECK_FALSE(is_gone_after(life, 59s));
    CHECK(is_gone_after(life, 1s));
}

TEST_CASE("until it is built, a job goes by the deadline that its runtime has now, and ends with it") {
    Life life;
    life.set_in_runtime("runPolicy", seconds("maxActiveDeadlineSeconds", 60));
    life.server.refuse = [](const kube::Request& request) -> std::optional<api::Error> {
        if (request.target.find("jobsets") == std::string::npos) return std::nullopt;
        return api::Error{.code = api::Errc::forbidden, .message = "exceeded quota: few", .http_status = 403};
    };
    life.reconcile();
    CHECK(life.condition("Created") == "False/JobsCreationFailed");
    life.set_in_runtime("runPolicy", seconds("maxActiveDeadlineSeconds", 90));
    life.server.now += 89s;
    life.reconcile();
    CHECK(life.condition("Failed").empty());
    life.set_in_runtime(
        "runPolicy",
        api::parse_json(R"({"maxActiveDeadlineSeconds": 80, "ttlSecondsAfterFinished": 10})").value());
    life.reconcile();
    CHECK(life.condition("Failed") == "True/DeadlineExceeded");
    CHECK(status_of(life)["runPolicy"]["ttlSecondsAfterFinished"] == Json(10));
}

// Here no managedFields tell when it was resumed; the model has them.
TEST_CASE("the deadline of a runtime counts from now for a job that was resumed before it was seen") {
    Life life;
    life.set_in_runtime("runPolicy", seconds("activeDeadlineSeconds", 60));
    life.set_suspend(true);
    life.server.now += 1h;
    life.set_suspend(false);
    life.server.now += 10s;
    life.reconcile();
    CHECK(life.condition("Failed").empty());
    CHECK(status_of(life)["startTime"] == Json(api::format_time(life.server.now)));
}

TEST_CASE("times that were written by others are put right") {
    Life life;
    life.reconcile();
    const Json started = status_of(life)["startTime"];
    life.server.edit(train_jobs, key, [](Json& job) {
        job["status"]["startTime"] = "2001-01-01T00:00:00Z";
        job["status"]["completionTime"] = "2001-01-01T00:00:00Z";
    });
    life.reconcile();
    CHECK(status_of(life)["startTime"] == started);
    CHECK_FALSE(status_of(life).contains("completionTime"));
}

TEST_CASE("a suspended job has no start, and a resumed one has the last") {
    Life life;
    life.reconcile();
    life.set_suspend(true);
    life.server.now += 60s;
    life.reconcile();
    CHECK_FALSE(status_of(life).contains("startTime"));
    life.set_suspend(false);
    life.server.now += 60s;
    CHECK(life.reconcile().measurements.wait == 120s);
    CHECK(status_of(life)["startTime"] == Json(api::format_time(life.server.now)));
}

TEST_CASE("a worker's copy of MultiKueue stays until its label goes") {
    Life life;
    give_ttl(life, 60);
    life.server.edit(train_jobs, key, [](Json& job) {
        job["metadata"]["labels"]["kueue.x-k8s.io/multikueue-origin"] = "manager";
        job["spec"]["ttlSecondsAfterFinished"] = 10;
    });
    run_to_end(life);
    life.server.now += 1h;
    const auto report = life.reconcile();
    CHECK(life.server.take_writes().empty());
    CHECK(report.measurements.held == lifecycle::TtlHeld::multikueue);
    CHECK_FALSE(report.requeue_after);
    life.server.edit(train_jobs, key, [](Json& job) { job["metadata"].erase("labels"); });
    const auto last = life.reconcile();
    CHECK(life.server.take_writes() == Writes{"DELETE " + job_path});
    CHECK(last.measurements.expired == lifecycle::TtlFrom::train_job);
    CHECK_FALSE(last.measurements.held);
}

TEST_CASE("of a job that MultiKueue dispatches nothing is written but its deletion, by its own TTL") {
    Life life;
    give_ttl(life, 1);
    life.set_in_job("managedBy", "kueue.x-k8s.io/multikueue");
    life.reconcile();
    life.server.edit(train_jobs, key, [&](Json& job) {
        job["status"]["conditions"] =
            Json::array({Json::object({{"type", "Complete"},
                                       {"status", "True"},
                                       {"lastTransitionTime", api::format_time(life.server.now)}})});
    });
    life.server.now += 1h;
    CHECK_FALSE(life.reconcile().requeue_after);
    CHECK(life.server.take_writes().empty());
    life.set_in_job("ttlSecondsAfterFinished", 3660);
    CHECK(life.reconcile().requeue_after == 60s);
    CHECK(life.server.take_writes().empty());
    CHECK(is_gone_after(life, 60s));
}

TEST_CASE("a TTL that has changed since the caches saw it is held") {
    Life life;
    give_ttl(life, 60);
    run_to_end(life);
    life.reconcile();
    life.server.now += 60s;
    life.server.show(life.cache);
    life.frozen = true;
    life.set_in_job("ttlSecondsAfterFinished", 3600);
    const auto report = life.reconcile();
    // It has another generation, which the conditions tell of.
    CHECK(life.server.take_writes() == Writes{"PATCH " + status_path});
    CHECK(report.measurements.held == lifecycle::TtlHeld::live);
    CHECK(report.measurements.expires);
    CHECK(report.requeue_after == 5min);
}

}  // namespace controller
