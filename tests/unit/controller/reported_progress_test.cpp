// Which reports of progress enqueue their TrainJob, and what the cache keeps of them.
#include <catch2/catch.hpp>

#include "controller/cache/cache.hpp"
#include "support/printers.hpp"

using api::Json;
using lifecycle::ProgressWatch;
using lifecycle::StallReason;
using namespace std::chrono_literals;

namespace {

const api::Time start = api::parse_time("2026-01-15T10:00:00Z").value();

// It runs, and has a limit.
Json reporting() {
    Json job = api::parse_json(R"({
        "metadata":{"name":"job","namespace":"ns","uid":"u1","resourceVersion":"5","generation":1,
            "creationTimestamp":"2026-01-15T10:00:00Z","labels":{"a":"b"},
            "annotations":{"trainer.kubeflow.org/progress-deadline-seconds":"1800","other":"x"}},
        "spec":{"runtimeRef":{"name":"torch"}},
        "status":{"conditions":[{"type":"Created","status":"True","reason":"JobsCreationSucceeded","message":"",
                                 "lastTransitionTime":"2026-01-15T10:00:00Z"}],
            "runPolicy":{}}})")
                   .value();
    return job;
}

Json reported(Json job, std::chrono::seconds last_progress, int percentage = 42) {
    Json& report = job["status"]["trainerStatus"];
    report["lastProgressTime"] = api::format_time(start + last_progress);
    report["lastUpdatedTime"] = api::format_time(start + 1h);
    report["progressPercentage"] = percentage;
    report["metrics"] = api::parse_json(R"([{"name":"loss","value":"1"}])").value();
    return job;
}

Json stalled(Json job, const char* reason = "ProgressDeadlineExceeded") {
    job["status"]["conditions"].push_back(Json::object({{"type", "Stalled"},
                                                        {"status", "True"},
                                                        {"reason", reason},
                                                        {"message", "no progress"},
                                                        {"lastTransitionTime", "2026-01-15T11:00:00Z"}}));
    return job;
}

struct Watch {
    int enqueued = 0;
    kube::Namespaces namespaces = {};
    controller::Cache cache{[this](const api::ObjectKey&, const controller::Change&) { ++enqueued; },
                            namespaces};
    int version = 5;

    explicit Watch(ProgressWatch watch = ProgressWatch::deadlines) {
        cache.watch_progress(watch, [] { return start + 1h; });
    }
    // Returns how often the change enqueues the job.
    int show(Json job) {
        enqueued = 0;
        const std::string text = std::to_string(++version);
        job["metadata"]["resourceVersion"] = text;
        job["metadata"]["managedFields"] = Json::array({Json::object({{"time", text}})});
        cache.train_jobs().partitions().front().sink.upsert({"ns", "job"}, text, std::move(job), 1000);
        return enqueued;
    }
    std::string bytes() { return std::string(cache.train_jobs().find({"ns", "job"})->object.bytes()); }
};

}  // namespace

TEST_CASE("a report enqueues nothing, and the cache has it", "[progress]") {
    Watch watch;
    CHECK(watch.show(reporting()) == 1);
    CHECK(watch.show(reported(reporting(), 10s)) == 1);  // its deadline begins
    CHECK(watch.show(reported(reporting(), 20s)) == 0);
    CHECK(watch.show(reported(reporting(), 20s, 43)) == 0);
    const auto job = watch.cache.train_job({"ns", "job"});
    CHECK(job->trainer_status.last_progress == start + 20s);
    CHECK(job->trainer_status.percentage == 43);
    CHECK(job->trainer_status.metrics.empty());
    CHECK(job->progress_annotations.seconds == "1800");
    CHECK(job->meta.resource_version == std::to_string(watch.version));
    CHECK(watch.bytes().find("other") == std::string::npos);
    CHECK(watch.cache.train_jobs().has_seen("ns", std::to_string(watch.version)));
}

TEST_CASE("any other change enqueues the job", "[progress]") {
    struct Case {
        const char* name;
        void (*change)(Json&);
    };
    const Case cases[] = {
        {"spec", [](Json& job) { job["metadata"]["generation"] = 2; }},
        {"label", [](Json& job) { job["metadata"]["labels"]["a"] = "c"; }},
        {"annotation",
         [](Json& job) {
             job["metadata"]["annotations"]["trainer.kubeflow.org/progress-deadline-seconds"] = "60";
         }},
        {"finalizer", [](Json& job) { job["metadata"]["finalizers"] = Json::array({"a/b"}); }},
        {"deletion", [](Json& job) { job["metadata"]["deletionTimestamp"] = "2026-01-15T11:00:00Z"; }},
        {"condition", [](Json& job) { job = stalled(job); }},
        {"counts", [](Json& job) { job["status"]["jobsStatus"] = Json::array(); }},
        {"another job of the name", [](Json& job) { job["metadata"]["uid"] = "u2"; }},
        {"no generation", [](Json& job) { job["metadata"].erase("generation"); }},
    };
    for (const Case& c : cases) {
        CAPTURE(c.name);
        Watch watch;
        watch.show(reported(reporting(), 10s));
        Json job = reported(reporting(), 20s, 50);
        c.change(job);
        CHECK(watch.show(job) == 1);
    }
}

TEST_CASE("a report enqueues a job that it arms, a stalled one, and one that comes to be at risk",
          "[progress]") {
    SECTION("progress of before the last start arms nothing") {
        Watch watch;
        watch.show(reported(reporting(), -20s));
        CHECK(watch.show(reported(reporting(), -10s)) == 0);
        CHECK(watch.show(reported(reporting(), 0s)) == 1);
    }
    SECTION("a stalled one") {
        Watch watch;
        watch.show(stalled(reported(reporting(), 10s)));
        CHECK(watch.show(stalled(reported(reporting(), 10s, 43))) == 0);
        CHECK(watch.show(stalled(reported(reporting(), 4000s))) == 1);
    }
    SECTION("at risk") {
        Watch watch(ProgressWatch::reports);
        Json job = reported(reporting(), 10s);
        job["spec"]["activeDeadlineSeconds"] = 2 * 3600;
        const auto remaining = [&](int seconds) {
            job["status"]["trainerStatus"]["estimatedRemainingSeconds"] = seconds;
            return job;
        };
        watch.show(remaining(60));
        CHECK(watch.show(remaining(3600 + 240)) == 0);
        CHECK(watch.cache.at_risk() == 0);
        CHECK(watch.show(remaining(3600 + 241)) == 1);
        CHECK(watch.cache.at_risk() == 1);
        CHECK(watch.show(remaining(9000)) == 0);
        CHECK(watch.show(remaining(60)) == 1);
        CHECK(watch.cache.at_risk() == 0);
        CHECK(watch.cache.train_job({"ns", "job"})->trainer_status.remaining_seconds == 60);
    }
}

TEST_CASE("any progress may be the first of an attempt of which not all Pods have started", "[progress]") {
    Watch watch;
    const auto after_failure = [](Json job) {
        job["status"]["restarts"] = 1;
        job["status"]["consecutiveFailures"] = 1;
        return job;
    };
    watch.show(after_failure(reported(reporting(), 10s)));
    CHECK(watch.show(after_failure(reported(reporting(), 20s))) == 1);
    CHECK(watch.show(after_failure(reported(reporting(), 20s, 43))) == 0);
    const auto begun = [&](Json job) {
        job = after_failure(std::move(job));
        job["status"]["attemptStartTime"] = "2026-01-15T10:00:30Z";
        return job;
    };
    CHECK(watch.show(begun(reported(reporting(), 20s))) == 1);
    CHECK(watch.show(begun(reported(reporting(), 40s))) == 1);
    CHECK(watch.show(begun(reported(reporting(), 50s))) == 0);
    // JobSet itself has restarted this one.
    Json of_template = reported(reporting(), 60s);
    of_template["status"]["restarts"] = 1;
    watch.show(of_template);
    of_template["status"]["trainerStatus"]["lastProgressTime"] = "2026-01-15T10:01:10Z";
    CHECK(watch.show(of_template) == 0);
}

TEST_CASE("the cache has what a start deadline depends on", "[progress]") {
    Watch watch;
    Json job = reporting();
    Json& annotations = job["metadata"]["annotations"];
    annotations.erase("trainer.kubeflow.org/progress-deadline-seconds");
    annotations["trainer.kubeflow.org/start-deadline-seconds"] = "600";
    job["status"]["attemptStartTime"] = "2026-01-15T10:00:30Z";
    watch.show(job);
    CHECK(watch.cache.train_job({"ns", "job"})->progress_annotations.start_seconds == "600");
    CHECK(watch.cache.train_job({"ns", "job"})->attempt.began == start + 30s);
    CHECK(watch.show(reported(job, 40s)) == 1);
    CHECK(watch.show(reported(job, 50s)) == 0);
    CHECK(watch.cache.train_job({"ns", "job"})->trainer_status.last_progress == start + 50s);
}

TEST_CASE("without a gate or a deadline no report enqueues its job, and the cache keeps none", "[progress]") {
    const auto keeps = [](ProgressWatch gates, const Json& job) {
        Watch watch(gates);
        watch.show(job);
        CHECK(watch.show(reported(job, 10s)) == (gates == ProgressWatch::deadlines ? 1 : 0));
        return watch.bytes().find("trainerStatus") != std::string::npos;
    };
    CHECK(keeps(ProgressWatch::deadlines, reporting()));
    CHECK_FALSE(keeps(ProgressWatch::reports, reporting()));
    CHECK_FALSE(keeps(ProgressWatch::off, reporting()));
    Json job = reporting();
    job["spec"]["activeDeadlineSeconds"] = 60;
    CHECK(keeps(ProgressWatch::reports, job));
    CHECK_FALSE(keeps(ProgressWatch::off, job));
    Json by_runtime = reporting();
    by_runtime["status"]["runPolicy"]["maxActiveDeadlineSeconds"] = 60;
    CHECK(keeps(ProgressWatch::reports, by_runtime));

    Watch watch;
    Json ended = reported(reporting(), 10s);
    ended["status"]["conditions"] =
        api::parse_json(
            R"([{"type":"Complete","status":"True","reason":"Done","lastTransitionTime":"2026-01-15T11:00:00Z"}])")
            .value();
    watch.show(ended);
    CHECK(watch.bytes().find("trainerStatus") == std::string::npos);
    CHECK(watch.bytes().find("annotations") == std::string::npos);
}

TEST_CASE("stalled jobs are counted by reason", "[progress]") {
    Watch watch;
    watch.show(stalled(reporting()));
    CHECK(watch.cache.stalled(StallReason::progress_deadline_exceeded) == 1);
    watch.show(stalled(reporting(), "PodsNotCreated"));
    CHECK(watch.cache.stalled(StallReason::progress_deadline_exceeded) == 0);
    CHECK(watch.cache.stalled(StallReason::pods_not_created) == 1);
    watch.show(reporting());
    CHECK(watch.cache.stalled(StallReason::pods_not_created) == 0);
}
