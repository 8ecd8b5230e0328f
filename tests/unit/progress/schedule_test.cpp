#include "progress/schedule.hpp"

#include "scheduling.hpp"

using namespace test;

namespace {

// A job with a write at this moment.
struct Running : Plan {
    explicit Running(progress::ScheduleLimits limits = {}) : Plan(limits) {
        update();
        REQUIRE(submit({.report = report(1), .is_first_of_pod = true}) == Reply::wait);
        REQUIRE(write_all() == 1);
    }
};

std::string updated_in(const Plan& plan, const Schedule::Write& write) {
    return std::string(plan.status_of(write)["lastUpdatedTime"].as_string());
}

}  // namespace

TEST_CASE("the first report of a Pod is due at once and waits for its write", "[schedule]") {
    Plan plan;
    plan.update();
    CHECK(plan.submit({.report = plan.report(7), .is_first_of_pod = true}) == Reply::wait);
    const auto write = plan.must_take();
    CHECK(write.job == job);
    CHECK(write.request.method == "PATCH");
    CHECK(write.request.content_type == "application/apply-patch+yaml");
    CHECK(write.request.target ==
          "/apis/trainer.kubeflow.org/v1alpha1/namespaces/ns/trainjobs/job/"
          "status?fieldManager=trainer-status&force=true");
    const std::string now = api::format_time(Plan::start);
    CHECK(*api::parse_json(write.request.body) ==
          *api::parse_json(R"({
        "apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob",
        "metadata": {"name": "job", "namespace": "ns", "resourceVersion": "1"},
        "status": {"trainerStatus": {"progressPercentage": 7, "lastUpdatedTime": ")" +
                           now + R"(", "lastProgressTime": ")" + now + R"("}}})"));
    CHECK(!plan.take());
    CHECK(plan.schedule.is_sent(job, write.sequence));
    CHECK(plan.store(write) == Outcome::stored);
    CHECK(!plan.schedule.is_sent(job, write.sequence));
    CHECK(plan.schedule.pending() == 0);
}

TEST_CASE("a job has one write per interval, which carries its latest report", "[schedule]") {
    Running plan;
    plan.pass(1s);
    CHECK(plan.submit(2) == Reply::accepted);
    plan.pass(1s);
    CHECK(plan.submit(3) == Reply::accepted);
    CHECK(plan.schedule.pending() == 1);
    CHECK(plan.schedule.due() == plan.steady + 3s);
    plan.pass(2999ms);
    CHECK(!plan.take());
    plan.pass(1ms);
    const auto write = plan.must_take();
    CHECK(plan.status_of(write)["progressPercentage"] == api::Json(3));
    CHECK(plan.version_of(write) == "2");
    plan.store(write);
    plan.pass(1h);
    CHECK(!plan.take());
}

TEST_CASE("a job has one write in flight, and the next one after it", "[schedule]") {
    Running plan;
    plan.pass(5s);
    plan.submit(2);
    const auto first = plan.must_take();
    plan.pass(7s);
    CHECK(plan.submit(3) == Reply::accepted);
    CHECK(!plan.take());
    CHECK(plan.schedule.due() == kube::SteadyTime::max());
    plan.store(first);
    const auto second = plan.must_take();
    CHECK(plan.version_of(second) == "3");
    CHECK(plan.status_of(second)["progressPercentage"] == api::Json(3));
}

TEST_CASE("a report that arrives during its job's write does not wait for the next one", "[schedule]") {
    Running plan;
    plan.pass(61s);
    CHECK(plan.submit(2) == Reply::wait);
    const auto write = plan.must_take();
    plan.update(numbered(1));
    plan.submit(1, numbered(1));
    plan.store(plan.must_take());
    CHECK(plan.submit(3) == Reply::accepted);
    plan.store(write);
    // Nothing was stored for a minute.
    plan.pass(61s);
    const auto hanging = plan.must_take();
    CHECK(plan.submit(4) == Reply::wait);
    plan.store(hanging);
}

TEST_CASE("the first report of 100 percent is due at once", "[schedule]") {
    Running plan;
    plan.pass(1s);
    CHECK(plan.submit(100) == Reply::wait);
    CHECK(plan.write_all() == 1);
    plan.pass(1s);
    CHECK(plan.submit(100) == Reply::accepted);
    CHECK(plan.write_all() == 0);
    // After a restart, one that is already stored is not the first.
    Plan restarted;
    restarted.stored = plan.stored;
    restarted.update();
    restarted.pass(2s);
    CHECK(restarted.submit(100) == Reply::accepted);
}

TEST_CASE("a report of 100 percent that arrives during a write follows it at once", "[schedule]") {
    Running plan;
    plan.pass(5s);
    plan.submit(99);
    const auto first = plan.must_take();
    plan.pass(1s);
    CHECK(plan.submit(100) == Reply::wait);
    plan.store(first);
    CHECK(plan.write_all() == 1);
}

TEST_CASE("a job without a report for a minute waits for its write", "[schedule]") {
    Running plan;
    plan.pass(60s);
    CHECK(plan.submit(2) == Reply::accepted);
    CHECK(plan.write_all() == 1);
    plan.pass(61s);
    CHECK(plan.submit(3) == Reply::wait);
}

TEST_CASE("a newer or equal time wins, and an older one within a minute comes late", "[schedule]") {
    Running plan;
    plan.pass(200s);
    const api::Time latest = plan.wall_now();
    const auto at = [&](api::Time time, int progress) {
        return plan.submit({.report = {.percentage = progress, .updated = time}});
    };
    CHECK(at(latest, 10) != Reply::late);
    CHECK(at(latest - 1s, 11) == Reply::late);
    CHECK(at(latest - 60s, 12) == Reply::late);
    CHECK(at(latest, 13) != Reply::late);
    auto write = plan.must_take();
    CHECK(plan.status_of(write)["progressPercentage"] == api::Json(13));
    plan.store(write);
    // The stored time counts as well, also after a restart of the server.
    plan.pass(5s);
    CHECK(at(latest - 30s, 14) == Reply::late);
    CHECK(!plan.take());
    Plan restarted;
    restarted.stored = plan.stored;
    restarted.update();
    CHECK(restarted.submit({.report = {.percentage = 15, .updated = latest - 30s}}) == Reply::late);
    // A report older by more than a minute has another clock.
    CHECK(at(latest - 61s, 16) == Reply::accepted);
    write = plan.must_take();
    CHECK(updated_in(plan, write) == api::format_time(latest - 61s));
}

TEST_CASE("a report with a time far in the future does not block the job", "[schedule]") {
    Running plan;
    plan.pass(5s);
    const api::Time future = *api::parse_time("2099-01-01T00:00:00Z");
    CHECK(plan.submit({.report = {.percentage = 2, .updated = future}}) == Reply::accepted);
    CHECK(plan.write_all() == 1);
    plan.pass(5s);
    CHECK(plan.submit(3) == Reply::accepted);
    const auto write = plan.must_take();
    CHECK(updated_in(plan, write) == api::format_time(plan.wall_now()));
}

TEST_CASE("only a change of percentage or metrics is progress", "[schedule]") {
    using progress::Report;
    struct Row {
        const char* what;
        Report report;
        bool advances;
    };
    const Report base = {.percentage = 5, .metrics = {{"loss", "1"}}};
    const Row rows[] = {
        {"the same", base, false},
        {"the remaining time alone",
         {.percentage = 5, .remaining_seconds = 7, .metrics = base.metrics},
         false},
        {"percentage up", {.percentage = 6, .metrics = base.metrics}, true},
        {"percentage down", {.percentage = 4, .metrics = base.metrics}, true},
        {"percentage gone", {.metrics = base.metrics}, true},
        {"a value", {.percentage = 5, .metrics = {{"loss", "2"}}}, true},
        {"a name", {.percentage = 5, .metrics = {{"lose", "1"}}}, true},
        {"one more metric", {.percentage = 5, .metrics = {{"loss", "1"}, {"step", "1"}}}, true},
        {"metrics gone", {.percentage = 5}, true},
    };
    for (const Row& row : rows) {
        DYNAMIC_SECTION(row.what) {
            Plan plan;
            plan.update();
            const auto submit = [&](Report report) {
                report.updated = plan.wall_now();
                plan.submit({.report = std::move(report)});
            };
            submit(base);
            REQUIRE(plan.write_all() == 1);
            plan.pass(100s);
            submit(row.report);
            const auto write = plan.must_take();
            const api::Time want = row.advances ? plan.wall_now() : Plan::start;
            CHECK(plan.status_of(write)["lastProgressTime"].as_string() == api::format_time(want));
        }
    }
}

TEST_CASE("the time of progress is the arrival of the report, however late it is written", "[schedule]") {
    Running plan;
    plan.pass(2s);
    plan.submit(2);
    const api::Time arrived = plan.wall_now();
    plan.pass(2s);
    plan.submit(2);  // no progress since
    plan.pass(50s);
    const auto write = plan.must_take();
    CHECK(plan.status_of(write)["lastProgressTime"].as_string() == api::format_time(arrived));
    CHECK(plan.store(write) == Outcome::stored);
    plan.pass(10s);
    plan.submit(2);
    CHECK(plan.status_of(plan.must_take())["lastProgressTime"].as_string() == api::format_time(arrived));
}

TEST_CASE("progress during a write is not lost with its answer", "[schedule]") {
    Running plan;
    plan.pass(5s);
    plan.submit(2);
    const auto first = plan.must_take();
    plan.pass(5s);
    plan.submit(3);
    const api::Time arrived = plan.wall_now();
    plan.pass(3s);
    plan.store(first);
    plan.pass(3s);
    CHECK(plan.status_of(plan.must_take())["lastProgressTime"].as_string() == api::format_time(arrived));
}

TEST_CASE("the first report of a new Pod is progress", "[schedule]") {
    Running plan;
    plan.pass(100s);
    plan.submit({.report = plan.report(1), .pod_created = plan.wall_now() - 1s, .is_first_of_pod = true});
    auto write = plan.must_take();
    const std::string then = api::format_time(plan.wall_now());
    CHECK(plan.status_of(write)["lastProgressTime"].as_string() == then);
    plan.store(write);
    plan.pass(100s);
    plan.submit({.report = plan.report(1), .pod_created = plan.wall_now() - 101s});
    write = plan.must_take();
    CHECK(plan.status_of(write)["lastProgressTime"].as_string() == then);
}

TEST_CASE("a status without the time of progress gets one with the next report", "[schedule]") {
    Plan plan;
    plan.stored[job].progress = progress::progress_hash(plan.report(1));
    plan.stored[job].updated = Plan::start - 1h;
    plan.update();
    plan.submit(1);
    CHECK(plan.status_of(plan.must_take())["lastProgressTime"].as_string() == api::format_time(Plan::start));
}

TEST_CASE("the time of progress does not go back, unless the stored one is ahead of the clock",
          "[schedule]") {
    for (const auto ahead : {-10s, 3600s}) {
        Running plan;
        plan.pass(5s);
        plan.submit(2);
        const api::Time arrived = plan.wall_now();
        plan.pass(20s);
        plan.stored[job].bookmark = plan.wall_now() + ahead;  // by another replica
        plan.update();
        const auto write = plan.must_take();
        const api::Time want = ahead < 0s ? plan.wall_now() + ahead : arrived;
        CHECK(plan.status_of(write)["lastProgressTime"].as_string() == api::format_time(want));
    }
}

TEST_CASE("members of an earlier report are removed if a report does not have them", "[schedule]") {
    Running plan;
    plan.pass(5s);
    plan.submit({.report = {.remaining_seconds = 60, .updated = plan.wall_now()}});
    const api::Json status = plan.status_of(plan.must_take());
    CHECK(!status.contains("progressPercentage"));
    CHECK(!status.contains("metrics"));
    CHECK(status["estimatedRemainingSeconds"] == api::Json(60));
}

TEST_CASE("another TrainJob of the same name starts without the former's state", "[schedule]") {
    Running plan;
    plan.pass(1s);
    plan.submit(2);
    REQUIRE(plan.schedule.pending() == 1);
    plan.stored[job].uid = "other";
    plan.update();
    CHECK(plan.schedule.pending() == 0);
    CHECK(plan.schedule.jobs() == 1);
    plan.pass(1h);
    CHECK(!plan.take());
}

TEST_CASE("during the shutdown pending reports are written at once and faster", "[schedule]") {
    Running plan({.writes_per_second = 10});
    for (int i = 0; i < 100; ++i) {
        plan.update(numbered(i));
        plan.submit(1, numbered(i));
    }
    plan.submit(2);
    plan.write_all();
    plan.schedule.start_drain(5, plan.now());
    std::chrono::milliseconds took{0};
    for (; plan.schedule.pending() > 0 && took < 10s; took += 10ms) {
        plan.write_all();
        plan.pass(10ms);
    }
    CHECK(plan.schedule.pending() == 0);
    CHECK(took > 1900ms);
    CHECK(took < 2200ms);
}
