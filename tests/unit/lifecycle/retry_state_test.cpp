// What a job without a JobSet says of errors that are no verdict on its objects.
#include "story.hpp"

namespace lifecycle {
namespace {

const api::Error webhook_down =
    server_error(500, "failed calling webhook: connection refused", api::Errc::unavailable);
const api::Error no_right =
    server_error(403, "jobsets is forbidden: User \"x\" cannot create resource \"y\"");

Outcome unread(api::Error error) { return {.result = ReadFailed{"ConfigMap default/x", std::move(error)}}; }

Observed submitted_suspended() {
    Observed observed = submitted();
    observed.job->suspend = true;
    return observed;
}

}  // namespace

TEST_CASE("what keeps a JobSet from coming is said after 15 s, in the server's words", "[retry]") {
    struct Row {
        const char* name;
        Observed observed;
        Outcome outcome;
        const char* condition;
        const char* message;
    };
    const Row rows[] = {
        {"JobSet's webhook is down", submitted(), refused(webhook_down),
         "Created=Unknown/JobsCreationRetrying",
         "JobSet default/job: failed calling webhook: connection refused"},
        {"no answer comes", submitted(), refused(lost_connection), "Created=Unknown/JobsCreationRetrying",
         "JobSet default/job: connection reset"},
        {"the server is busy", submitted(),
         refused(server_error(429, "too many requests", api::Errc::unavailable)),
         "Created=Unknown/JobsCreationRetrying", "JobSet default/job: too many requests"},
        {"a webhook denies a deletion", submitted(), refused(server_error(403, "denied"), Write::remove),
         "Created=Unknown/JobsCreationRetrying", "JobSet default/job: denied"},
        {"a read fails", submitted(), unread(lost_connection), "Created=Unknown/JobsBuildRetrying",
         "ConfigMap default/x: connection reset"},
        {"a permission to write is missing", submitted(), refused(no_right), "Created=False/PermissionDenied",
         "JobSet default/job: jobsets is forbidden: User \"x\" cannot create resource \"y\""},
        {"a permission to read is missing", submitted(), unread(no_right), "Created=False/PermissionDenied",
         "ConfigMap default/x: jobsets is forbidden: User \"x\" cannot create resource \"y\""},
        {"a read fails before the job is said to be suspended", submitted_suspended(),
         unread(lost_connection), "Created=Unknown/JobsBuildRetrying",
         "ConfigMap default/x: connection reset"},
        {"others are always faster", submitted(), refused(server_error(409, "modified", api::Errc::conflict)),
         "", ""},
        {"credentials are stale", submitted(), refused(server_error(401, "Unauthorized")), "", ""},
        {"the namespace goes away", submitted(), refused(server_error(403, "because it is being terminated")),
         "", ""},
    };
    for (const Row& row : rows) DYNAMIC_SECTION(row.name) {
            Story story = {.observed = row.observed};
            story.until(14s, row.outcome);
            CHECK(story.says().empty());
            story.until(15s, row.outcome);
            CHECK(story.says() == row.condition);
            CHECK(story.message("Created") == row.message);
            story.until(1h, row.outcome);
            CHECK(story.says() == row.condition);
            CHECK(story.writes == (story.says().empty() ? 0 : 1));
        }
}

TEST_CASE("errors that last are reported at 15 s, at 5 min, and every half an hour", "[retry]") {
    Story story;
    story.until(2h, refused(webhook_down));
    CHECK(story.reported ==
          "15 ReconcileError, 300 ReconcileError, 2100 ReconcileError, 3900 ReconcileError, 5700 "
          "ReconcileError");
    // Also those that are in no condition.
    Story ended = {.observed = completed()};
    ended.observed.ttl = 0;
    ended.until(1min, refused(webhook_down, Write::remove));
    CHECK(ended.reported == "45 ReconcileError");
}

TEST_CASE("a server that asks for a pause gets it although there is something to tell", "[retry]") {
    api::Error busy = server_error(429, "slow down", api::Errc::unavailable);
    busy.retry_after = 40s;
    Story story;
    CHECK(story.reconcile(refused(busy)).requeue_after == 40s);
    story.until(40s, refused(busy));
    CHECK(story.says() == "Created=Unknown/JobsCreationRetrying");
}

TEST_CASE("a success ends what was said of errors", "[retry]") {
    Story story;
    story.until(20s, refused(webhook_down));
    SECTION("Created is True") {
        story.reconcile({.job_set_written = true});
        CHECK(story.says() == "Created=True/JobsCreationSucceeded");
        CHECK(story.observed.retry_state.failures == 0);
        CHECK_FALSE(story.observed.retry_state.errors_since);
    }
    SECTION("or not there, if it is for failures only") {
        story.reconcile({.job_set_written = true}, {CreatedCondition::on_failure});
        CHECK(story.says().empty());
    }
    SECTION("also where the JobSet turns out to be there") {
        story.observed.job_set = job_set_of(*story.observed.job);
        story.reconcile({});
        CHECK(story.says() == "Created=True/JobsCreationSucceeded");
    }
    SECTION("also where it has ended, or the job has") {
        story.observed.job_set = job_set_of(*story.observed.job);
        story.observed.job->active_deadline_seconds = 10;
        story.reconcile({});
        CHECK(story.says() == "Failed=True/DeadlineExceeded");
    }
}

TEST_CASE("a verdict ends what was said of errors, and begins the 15 s anew", "[retry]") {
    Story story;
    story.until(20s, refused(webhook_down));
    story.reconcile(build_failed());
    CHECK(story.says() == "Created=False/JobsBuildFailed");
    story.now += 1s;
    story.reconcile(refused(webhook_down));
    story.now += 14s;
    story.reconcile(refused(webhook_down));
    CHECK(story.says() == "Created=False/JobsBuildFailed");
    story.now += 1s;
    story.reconcile(refused(webhook_down));
    CHECK(story.says() == "Created=Unknown/JobsCreationRetrying");
}

TEST_CASE("after a restart what was said stays, and the 15 s begin anew", "[retry]") {
    Story story;
    story.until(20s, refused(webhook_down));
    story.observed.retry_state = {};
    story.reported.clear();
    story.reconcile(refused(lost_connection));
    CHECK(story.message("Created") == "JobSet default/job: failed calling webhook: connection refused");
    story.now += 15s;
    story.reconcile(refused(lost_connection));
    CHECK(story.message("Created") == "JobSet default/job: connection reset");
    CHECK(story.reported == "35 ReconcileError");
}

TEST_CASE("texts that alternate are written once a minute, another reason at once", "[retry]") {
    Story story;
    for (; story.now < start + 10min; story.now += 5s)
        story.reconcile(refused(server_error(500, "attempt " + std::to_string((story.now - start).count()))));
    CHECK(story.writes == 10);
    CHECK(story.message("Created") == "JobSet default/job: attempt 555");
    story.reconcile(refused(no_right));
    CHECK(story.says() == "Created=False/PermissionDenied");
}

TEST_CASE("Created does not forget that there was a JobSet over errors that are no verdict", "[retry]") {
    Story story = {.observed = running()};
    story.observed.job_set.reset();
    SECTION("where nothing else remembers") {
        story.observed.job->jobs_status.clear();
        story.until(20s, refused(webhook_down));
        CHECK(story.says() == "Created=True/JobsCreationSucceeded");
    }
    SECTION("but says so where the counts do") {
        story.until(20s, refused(webhook_down));
        CHECK(story.says() == "Created=Unknown/JobsCreationRetrying");
        CHECK(runtime_source(story.observed) == RuntimeSource::snapshot);
    }
    SECTION("and leaves it to Stalled where it is there") {
        story.observed.job_set = job_set_of(*story.observed.job);
        story.observed.job->start_time.reset();
        story.until(20s, refused(webhook_down, Write::suspend));
        CHECK(story.says() == "Created=True/JobsCreationSucceeded Stalled=True/APIServerError");
        CHECK(story.observed.job->start_time == story.observed.job->meta.creation);
    }
}

TEST_CASE("a cause that takes turns with another one is written every 15 s at most", "[retry]") {
    Story story;
    for (; story.now < start + 2min; story.now += 1s)
        story.reconcile(refused(story.now.time_since_epoch().count() % 2 == 0 ? no_right : webhook_down));
    CHECK(story.writes <= 8);
    CHECK(story.writes >= 6);
}

TEST_CASE("errors that pass by themselves do not count towards the 15 s of others", "[retry]") {
    const api::Error ending = server_error(403, "because it is being terminated");
    Story story;
    story.until(20s, refused(ending));
    story.reconcile(refused(webhook_down));
    CHECK(story.says().empty());
    SECTION("which begin with the first of those") {
        story.until(34s, refused(webhook_down));
        CHECK(story.says().empty());
        story.until(35s, refused(webhook_down));
        CHECK(story.says() == "Created=Unknown/JobsCreationRetrying");
    }
    SECTION("and are not said in their place") {
        story.now += 16s;
        story.reconcile(refused(ending));
        CHECK(story.says().empty());
    }
    SECTION("and break a series") {
        story.now += 10s;
        story.reconcile(refused(ending));
        story.now += 10s;
        story.reconcile(refused(webhook_down));
        CHECK(story.says().empty());
    }
}

TEST_CASE("a status that could not be written does not begin the 15 s anew", "[retry]") {
    const Observed before = submitted();
    const Conclusion first = conclude_after(before, 0s, refused(webhook_down));
    Observed later = before;
    later.retry_state =
        after_failed_status_write(first, before, server_error(409, "modified"), start).retry_state;
    const Conclusion second = conclude_after(later, 15s, refused(webhook_down));
    CHECK(text(second.conditions) == "Created=Unknown/JobsCreationRetrying");
}

TEST_CASE("errors have lasted since the reconcile began that met the first of them", "[retry]") {
    Story story;
    story.observed.retry_state.began = start;
    story.now = start + 10s;
    story.reconcile(refused(webhook_down));
    CHECK(story.says().empty());
    story.observed.retry_state.began = start + 11s;
    story.now = start + 21s;
    story.reconcile(refused(webhook_down));
    CHECK(story.says() == "Created=Unknown/JobsCreationRetrying");
    // A single one may have come after something else that was slow.
    Story hung;
    hung.observed.retry_state.began = start;
    hung.now = start + 30s;
    CHECK(hung.reconcile(refused(lost_connection)).requeue_after == 1s);
    CHECK(hung.says().empty());
    hung.now += 1s;
    hung.reconcile(refused(lost_connection));
    CHECK(hung.says() == "Created=Unknown/JobsCreationRetrying");
}

TEST_CASE("errors are over once the job waits for something else", "[retry]") {
    Story story = {.observed = running()};
    story.observed.job_set.reset();
    story.until(20s, refused(webhook_down));
    REQUIRE(story.says() == "Created=Unknown/JobsCreationRetrying");
    story.reconcile({.result = WaitingForDeletion{{"PersistentVolumeClaim default/data"}}});
    CHECK(story.says().empty());
    CHECK(runtime_source(story.observed) == RuntimeSource::snapshot);
}

TEST_CASE("a job that is being deleted says nothing of what it is not made of", "[retry]") {
    Story story;
    story.observed.job->meta.deletion = start;
    story.until(20s, unread(lost_connection));
    CHECK(story.says().empty());
}

}  // namespace lifecycle
