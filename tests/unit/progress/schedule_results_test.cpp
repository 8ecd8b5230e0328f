#include "scheduling.hpp"

using namespace test;

namespace {

// A job with a write of 2 percent in flight.
struct InFlight : Plan {
    InFlight() {
        update();
        submit({.report = report(1), .is_first_of_pod = true});
        REQUIRE(write_all() == 1);
        pass(5s);
        submit(2);
        write = must_take();
    }
    // Stored by another replica, at this moment.
    void store_by_other(int progress, std::chrono::seconds age = 0s) {
        progress::StoredStatus& object = stored[job];
        object.resource_version = std::to_string(std::stoi(object.resource_version) + 1);
        object.progress = progress::progress_hash({.percentage = progress});
        object.updated = wall - age;
        object.bookmark = wall - age;
    }

    Schedule::Write write = {};
};

}  // namespace

TEST_CASE("a failed write is repeated with growing pauses, always with the latest report", "[schedule]") {
    InFlight plan;
    int progress = 2;
    for (const auto pause : {1s, 2s, 4s, 8s, 16s, 30s, 30s}) {
        CHECK(plan.fail(plan.write, broken) == Outcome::unavailable);
        CHECK(plan.schedule.due() == plan.steady + pause);
        CHECK(plan.submit(++progress) == Reply::failing);
        plan.pass(pause - 1ms);
        CHECK(!plan.take());
        plan.pass(1ms);
        plan.write = plan.must_take();
        CHECK(plan.status_of(plan.write)["progressPercentage"] == api::Json(progress));
    }
    CHECK(plan.store(plan.write) == Outcome::stored);
    plan.pass(5s);
    CHECK(plan.submit(50) == Reply::accepted);
    plan.write = plan.must_take();
    plan.fail(plan.write, broken);
    CHECK(plan.schedule.due() == plan.steady + 1s);
}

TEST_CASE("a report after a failure waits for its write", "[schedule]") {
    InFlight plan;
    plan.fail(plan.write, broken);
    plan.pass(1s);
    CHECK(plan.submit(3) == Reply::wait);
    plan.pass(1s);
    CHECK(plan.write_all() == 1);
    plan.pass(1s);
    CHECK(plan.submit(4) == Reply::accepted);
}

TEST_CASE("a report from before the failure is not lost", "[schedule]") {
    InFlight plan;
    plan.fail(plan.write, broken);
    plan.pass(1s);
    const auto again = plan.must_take();
    CHECK(again.sequence == plan.write.sequence);
    CHECK(again.request.body == plan.write.request.body);
    CHECK(plan.store(again) == Outcome::stored);
    CHECK(plan.schedule.pending() == 0);
}

TEST_CASE("after 429 all writes wait as long as the API server says", "[schedule]") {
    struct Row {
        int status;
        std::optional<std::chrono::seconds> retry_after;
        std::chrono::seconds pause;
    };
    for (const Row& row : {Row{429, 7s, 7s}, Row{429, {}, 1s}, Row{503, 3s, 3s}, Row{429, 3600s, 60s}}) {
        InFlight plan;
        plan.update(numbered(1));
        plan.submit(1, numbered(1));
        api::Error error = error_of(row.status, api::Errc::unavailable);
        error.retry_after = row.retry_after;
        CHECK(plan.fail(plan.write, error) == Outcome::unavailable);
        CHECK(plan.submit(3) == Reply::failing);
        CHECK(plan.schedule.due() == plan.steady + row.pause);
        plan.pass(row.pause - 1ms);
        CHECK(!plan.take());
        plan.pass(1ms);
        CHECK(plan.write_all() == 2);
    }
}

TEST_CASE("a 503 without a time to wait for concerns its job alone", "[schedule]") {
    InFlight plan;
    plan.update(numbered(1));
    plan.submit(1, numbered(1));
    plan.fail(plan.write, error_of(503, api::Errc::unavailable));
    CHECK(plan.must_take().job == numbered(1));
}

TEST_CASE("a refused write is given up, and the next report gets the error", "[schedule]") {
    const std::pair<int, Outcome> rows[] = {{403, Outcome::forbidden}, {422, Outcome::invalid}};
    for (const auto& [status, outcome] : rows) {
        InFlight plan;
        const auto code = status == 403 ? api::Errc::forbidden : api::Errc::invalid;
        CHECK(plan.fail(plan.write, error_of(status, code)) == outcome);
        CHECK(plan.schedule.pending() == 0);
        plan.pass(5s);
        CHECK(!plan.take());
        CHECK(plan.submit(3) == Reply::wait);
        CHECK(plan.write_all() == 1);
        plan.pass(5s);
        CHECK(plan.submit(4) == Reply::accepted);
    }
}

TEST_CASE("a report that was given up is no progress", "[schedule]") {
    InFlight plan;
    plan.fail(plan.write, error_of(422, api::Errc::invalid));
    plan.pass(5s);
    plan.submit(1);
    CHECK(plan.status_of(plan.must_take())["lastProgressTime"].as_string() == api::format_time(Plan::start));
}

TEST_CASE("after a conflict the report is compared with the stored one again", "[schedule]") {
    InFlight plan;
    plan.store_by_other(1, 1s);
    plan.stored[job].updated = Plan::start;
    CHECK(plan.fail(plan.write, conflict) == Outcome::changed);
    CHECK(!plan.take());  // still one write at a time
    CHECK(plan.read_again(plan.write) == Outcome::retried);
    const auto again = plan.must_take();
    CHECK(again.sequence == plan.write.sequence);
    CHECK(plan.version_of(again) == "3");
    CHECK(plan.status_of(again)["progressPercentage"] == api::Json(2));
    CHECK(plan.store(again) == Outcome::stored);
}

TEST_CASE("a report is dropped if another replica stored a newer one", "[schedule]") {
    InFlight plan;
    plan.pass(2s);
    plan.store_by_other(3);
    CHECK(plan.fail(plan.write, conflict) == Outcome::changed);
    CHECK(plan.read_again(plan.write) == Outcome::late);
    CHECK(plan.schedule.pending() == 0);
    // The next one is compared with what the other replica stored.
    plan.pass(5s);
    const std::string stored = api::format_time(*plan.stored[job].bookmark);
    plan.submit(3);
    CHECK(plan.status_of(plan.must_take())["lastProgressTime"].as_string() == stored);
}

TEST_CASE("a report with the progress that another replica stored is no progress", "[schedule]") {
    InFlight plan;
    const api::Time arrived = plan.wall_now();
    plan.pass(30s);
    plan.store_by_other(2);
    plan.stored[job].updated = Plan::start;
    plan.fail(plan.write, conflict);
    CHECK(plan.read_again(plan.write) == Outcome::retried);
    CHECK(plan.status_of(plan.must_take())["lastProgressTime"].as_string() ==
          api::format_time(arrived + 30s));
}

TEST_CASE("a conflict is retried three times, then with the next interval", "[schedule]") {
    InFlight plan;
    for (int i = 0; i < 3; ++i) {
        plan.store_by_other(1, 1s);
        plan.stored[job].updated = Plan::start;
        CHECK(plan.fail(plan.write, conflict) == Outcome::changed);
        CHECK(plan.read_again(plan.write) == Outcome::retried);
        plan.write = plan.must_take();
    }
    CHECK(plan.fail(plan.write, conflict) == Outcome::conflict);
    CHECK(plan.submit(5) == Reply::failing);
    CHECK(plan.schedule.due() == plan.steady + 5s);
    plan.pass(5s);
    plan.write = plan.must_take();
    CHECK(plan.fail(plan.write, conflict) == Outcome::changed);
    CHECK(plan.read_again(plan.write) == Outcome::retried);
    CHECK(plan.write_all() == 1);
}

TEST_CASE("a TrainJob that was deleted or replaced is forgotten", "[schedule]") {
    SECTION("the write finds none") {
        InFlight plan;
        plan.submit(3);
        CHECK(plan.fail(plan.write, error_of(404, api::Errc::not_found)) == Outcome::not_found);
        CHECK(!plan.schedule.knows(job));
        CHECK(plan.schedule.pending() == 0);
    }
    SECTION("the read after a conflict finds none") {
        InFlight plan;
        plan.fail(plan.write, conflict);
        CHECK(plan.schedule.read_again(job, plan.write.sequence, error_of(404, api::Errc::not_found),
                                       plan.now()) == Outcome::not_found);
        CHECK(!plan.schedule.knows(job));
    }
    SECTION("the read after a conflict finds a successor") {
        InFlight plan;
        plan.fail(plan.write, conflict);
        plan.stored[job].uid = "successor";
        CHECK(plan.read_again(plan.write) == Outcome::replaced);
        CHECK(!plan.schedule.knows(job));
    }
    SECTION("the read after a conflict fails") {
        InFlight plan;
        plan.fail(plan.write, conflict);
        CHECK(plan.schedule.read_again(job, plan.write.sequence, broken, plan.now()) == Outcome::unavailable);
        CHECK(plan.schedule.due() == plan.steady + 1s);
    }
}

TEST_CASE("an answer to a write of a forgotten job changes nothing", "[schedule]") {
    InFlight plan;
    const auto old = plan.write;
    plan.stored[job].uid = "successor";
    plan.update();
    plan.submit({.report = plan.report(1), .is_first_of_pod = true});
    const auto write = plan.must_take();
    CHECK(plan.fail(old, error_of(404, api::Errc::not_found)) == Outcome::not_found);
    CHECK(plan.schedule.knows(job));
    CHECK(plan.store(write) == Outcome::stored);
}

TEST_CASE("a CRD without the time of progress gets reports without it", "[schedule]") {
    InFlight plan;
    api::Error error = broken;
    error.message =
        "failed to create typed patch object (ns/job; trainer.kubeflow.org/v1alpha1, Kind=TrainJob): "
        ".status.trainerStatus.lastProgressTime: field not declared in schema";
    CHECK(plan.fail(plan.write, error) == Outcome::retried);
    CHECK(plan.schedule.leaves_out_progress_time());
    const auto again = plan.must_take();
    CHECK(!plan.status_of(again).contains("lastProgressTime"));
    CHECK(plan.status_of(again)["progressPercentage"] == api::Json(2));
    // The same error for a write without the field is an error like any other.
    CHECK(plan.fail(again, error) == Outcome::unavailable);
}
