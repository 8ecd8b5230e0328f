#include "lifecycle/measurements.hpp"

#include "concluding.hpp"

namespace lifecycle {
namespace {

// As a reconcile that begins and ends at that time.
Measurements after(const Observed& observed, std::chrono::seconds elapsed, const Outcome& outcome = {},
                   bool status_stored = true) {
    const Decision decision = decide(observed, start + elapsed);
    const Conclusion conclusion = conclude(observed, decision, outcome, start + elapsed);
    return measurements(observed, decision, outcome, conclusion, status_stored, start + elapsed);
}

Outcome written() {
    Outcome outcome;
    outcome.job_set_written = true;
    return outcome;
}

Observed with_ttl(Observed observed, std::int64_t ttl) {
    observed.ttl = ttl;
    return observed;
}

}  // namespace

TEST_CASE("how long the first JobSet took is measured once", "[measurements]") {
    CHECK(after(submitted(), 7s, written()).to_job_set == 7s);
    CHECK(after(submitted(), -7s, written()).to_job_set == 0s);
    CHECK(!after(submitted(), 7s, build_failed()).to_job_set);
    Observed lost = running();
    lost.job_set.reset();
    CHECK(!after(lost, 1h, written()).to_job_set);
    CHECK(!after(suspended(), 1h, written()).to_job_set);
    CHECK(!after(running(), 1h).to_job_set);
}

TEST_CASE("an end counts when the status says it, by what ended the job", "[measurements]") {
    const Measurements complete = after(completed_unseen(), 33s);
    CHECK(complete.end == End::complete);
    CHECK(complete.to_terminal == 3s);
    CHECK(!complete.deadline_late);
    CHECK(!after(completed_unseen(), 33s, {}, false).end);
    CHECK(!after(completed_unseen(), 33s, {}, false).to_terminal);
    CHECK(after(completed_unseen(api::Time()), 33s).end == End::complete);
    CHECK(!after(completed_unseen(api::Time()), 33s).to_terminal);

    Observed broken = completed_unseen();
    broken.job_set->finished->type = "Failed";
    CHECK(after(broken, 31s).end == End::failed);

    const Measurements late = after(with_deadline(running(), 60s), 64s);
    CHECK(late.end == End::deadline);
    CHECK(late.deadline_late == 4s);
    CHECK(!late.to_terminal);

    Observed strange = submitted();
    strange.job->runtime_ref.kind = "Other";
    CHECK(after(strange, 1s).end == End::unsupported_runtime);
    CHECK(!after(completed(), 1h).end);
}

TEST_CASE("how late a TTL was is measured when the TrainJob is deleted", "[measurements]") {
    const Observed expired = with_ttl(completed(), 60);
    CHECK(after(expired, 95s).ttl_late == 5s);
    CHECK(!after(expired, 95s, refused(lost_connection, Write::remove)).ttl_late);
    CHECK(!after(expired, 80s).ttl_late);
}

TEST_CASE("what a TTL that deletes a TrainJob is from is measured", "[measurements]") {
    Observed expired = with_ttl(completed(), 60);
    CHECK(after(expired, 95s).expired == TtlFrom::runtime);
    CHECK(!after(expired, 95s).expires);
    CHECK(after(expired, 80s).expires);
    CHECK(!after(expired, 80s).expired);
    CHECK(!after(expired, 95s, refused(lost_connection, Write::remove)).expired);
    CHECK(!after(completed(), 80s).expires);
    CHECK(!after(running(), 80s).expires);
    expired.job->ttl_seconds_after_finished = 60;
    CHECK(after(expired, 95s).expired == TtlFrom::train_job);
}

TEST_CASE("how long a job waited and ran is measured in the write that says so", "[measurements]") {
    CHECK(after(submitted(), 7s, written()).wait == 0s);
    CHECK(!after(submitted(), 7s, written(), false).wait);
    CHECK(!after(running(), 7s).wait);
    Observed resumed = suspended();
    resumed.job->suspend = false;
    CHECK(after(resumed, 1h).wait == 1h);
    CHECK(after(completed_unseen(), 33s).run == 30s);
    CHECK(!after(completed_unseen(), 33s, {}, false).run);
    CHECK(!after(completed(), 33s).run);
    CHECK(after(with_deadline(running(), 60s), 64s).run == 64s);
}

TEST_CASE("restarts are measured in the write that says so, by whether they count", "[measurements]") {
    Observed observed = running();
    observed.job->restarts = {.all = 1, .counted = 1};
    observed.job_set->restarts = {.all = 4, .counted = 2};
    CHECK(after(observed, 33s).restarted == api::Restarts{.all = 3, .counted = 1});
    CHECK(after(observed, 33s, {}, false).restarted == api::Restarts());
    CHECK(after(running(), 33s).restarted == api::Restarts());
    observed.job->restarts = {.all = 9, .counted = 0};  // forged
    CHECK(after(observed, 33s).restarted == api::Restarts());
    Observed ended = completed_unseen();
    ended.job_set->restarts = {.all = 1};
    CHECK(after(ended, 33s).restarted == api::Restarts{.all = 1});
}

TEST_CASE("a restart is measured by its cause", "[measurements]") {
    const auto cause = [](api::Failure failure) {
        const Decision restart = Restart{};
        const Outcome outcome = {.failure = std::move(failure)};
        return measurements(running(), restart, outcome, {}, true, start).restart_cause;
    };
    CHECK(cause({.pod = "p", .reason = "Error"}) == RestartCause::failure);
    CHECK(cause({.reason = "Error"}) == RestartCause::failure);
    CHECK(cause({.pod = "p", .rule = api::infrastructure_rule}) == RestartCause::infrastructure);
    CHECK(cause({.reason = "NoNodeLeft", .rule = api::infrastructure_rule}) == RestartCause::no_node);
    CHECK(cause({.reason = "ProgressDeadlineExceeded"}) == RestartCause::hang);
    CHECK(measurements(running(), Run{}, {}, {}, true, start).restart_cause == RestartCause::job_set);
}

TEST_CASE("a node that later attempts avoid is measured once the status says so", "[measurements]") {
    const Decision restart = Restart{.judgement = {.excludes_node = true}};
    CHECK(measurements(running(), restart, {}, {}, true, start).excludes_node);
    CHECK_FALSE(measurements(running(), restart, {}, {}, false, start).excludes_node);
    CHECK_FALSE(measurements(running(), Restart{}, {}, {}, true, start).excludes_node);
}

TEST_CASE("a reconcile that writes the status twice measures a start and all restarts once",
          "[measurements]") {
    const Measurements earlier = {.wait = 5s,
                                  .restarted = {.all = 2, .counted = 1},
                                  .restart_cause = RestartCause::hang,
                                  .requeue = RequeueReason::stall};
    const Measurements latest = {.restarted = {.all = 1, .counted = 1}, .end = End::complete};
    const Measurements both = joined(earlier, latest);
    CHECK(both.wait == 5s);
    CHECK(both.restarted == api::Restarts{.all = 3, .counted = 2});
    CHECK(both.restart_cause == RestartCause::job_set);
    CHECK(joined(earlier, {}).restart_cause == RestartCause::hang);
    CHECK(both.end == End::complete);
    CHECK(!both.requeue);
    CHECK(joined(earlier, {.wait = 9s}).wait == 9s);
    CHECK(!joined({}, latest).wait);
}

TEST_CASE("a DELETE that fails is a failure of the clean-up unless there was nothing to do",
          "[measurements]") {
    const auto failed = [](const Observed& observed, api::Error error) {
        return after(observed, 95s, refused(std::move(error), Write::remove)).clean_up_failed;
    };
    const Observed expired = with_ttl(completed(), 60);
    CHECK(failed(failed_by_deadline(), server_error(403, "kept for the audit")));
    CHECK(failed(expired, lost_connection));
    CHECK(!failed(failed_by_deadline(), server_error(404, "gone", api::Errc::not_found)));
    CHECK(!failed(expired, server_error(409, "changed", api::Errc::conflict)));
    CHECK(!failed(submitted(), server_error(403, "no")));
    CHECK(!after(failed_by_deadline(), 95s).clean_up_failed);
}

TEST_CASE("a reconcile that asks for another one says why", "[measurements]") {
    CHECK(after(with_deadline(running()), 1s).requeue == RequeueReason::deadline);
    CHECK(after(with_deadline(running()), 90s).requeue == RequeueReason::clean_up);
    CHECK(after(completed_unseen(), 33s).requeue == std::nullopt);
    CHECK(after(with_ttl(completed(), 60), 40s).requeue == RequeueReason::ttl);
    CHECK(after(submitted(), 1s, build_failed()).requeue == RequeueReason::failure);
    CHECK(after(with_deadline(submitted()), 1s, refused(lost_connection)).requeue == RequeueReason::failure);
    CHECK(after(failed_by_deadline(), 95s, refused(server_error(409, "changed", api::Errc::conflict)))
              .requeue == RequeueReason::clean_up);
    CHECK(!after(running(), 1s).requeue);
}

}  // namespace lifecycle
