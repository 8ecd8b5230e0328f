#include "lifecycle/reconcile_machine.hpp"

#include "objects.hpp"
#include "text.hpp"

namespace lifecycle {
namespace {

using Machine = ReconcileMachine;

std::string depth(Live what) {
    return what == Live::all ? "all" : what == Live::job_and_runtime ? "job and runtime" : "nothing";
}

std::string purpose(LookFor reason) {
    return reason == LookFor::resume ? ", for a resume" : reason == LookFor::change ? ", for a change" : "";
}

struct Name {
    std::string operator()(const Machine::LookAtLease&) const { return "look at the Lease"; }
    std::string operator()(const Machine::Act& act) const { return "act: " + text(act.decision); }
    std::string operator()(const Machine::LookAtWarnings&) const { return "look at the Warnings"; }
    std::string operator()(const Machine::Look& look) const {
        return "look: " + depth(look.what) + purpose(look.reason);
    }
    std::string operator()(const Machine::LookAtService&) const { return "look at the Service"; }
    std::string operator()(const Machine::LookAtPlacement&) const { return "look at the placement"; }
    std::string operator()(const Machine::LookAtFailure& look) const {
        return std::string(look.pods ? "look at the failed Pods" : "look") +
               (look.policy ? ", and at the policy" : "");
    }
    std::string operator()(const Machine::WriteStatus& write) const {
        return "status: " + text(write.conclusion.conditions);
    }
    std::string operator()(const Machine::Report& report) const {
        return "report: " + text(report.conclusion.events) +
               (report.job_set_written ? " (JobSet written)" : "");
    }
};

// A reconcile, of which a test tells what comes of each action.
struct AReconcile {
    Observed observed;
    Machine machine{observed, std::nullopt, {}};
    api::Time now = start + 10s;
    bool is_certain = true;

    explicit AReconcile(Observed by_caches) : observed(std::move(by_caches)) {}

    std::string next() {
        const auto action = machine.next(now, is_certain);
        return action ? std::visit(Name(), *action) : "end";
    }
    /// Carries out a decision of which only the status is written, and returns the TrainJob with that.
    api::TrainJob store_transition() {
        CHECK(next() == "act: store transition");
        act();
        api::TrainJob stored = *observed.job;
        const auto action = machine.next(now, is_certain);
        const auto* write = action ? std::get_if<Machine::WriteStatus>(&*action) : nullptr;
        REQUIRE(write);
        stored.conditions = write->conclusion.conditions;
        stored.jobs_status = write->conclusion.jobs_status;
        stored.start_time = write->conclusion.start_time;
        machine.stored(stored);
        return stored;
    }
    void look(Observed live) { machine.looked(std::move(live), std::nullopt); }
    void act(Outcome outcome = {}, bool wants_live_view = false) {
        machine.acted(std::move(outcome), wants_live_view);
    }
};

Outcome written() {
    Outcome outcome;
    outcome.job_set_written = true;
    return outcome;
}

}  // namespace

TEST_CASE("a TrainJob that is gone ends its reconcile at once", "[machine]") {
    AReconcile run{Observed()};
    CHECK(run.next() == "end");
    CHECK(run.machine.result().gone);

    AReconcile deleted{submitted()};
    CHECK(deleted.next() == "look: job and runtime");
    deleted.look(Observed());
    CHECK(deleted.next() == "end");
    CHECK(deleted.machine.result().gone);
}

TEST_CASE("a JobSet is created on a live view, and the status is written last", "[machine]") {
    AReconcile run{submitted()};
    CHECK(run.next() == "look: job and runtime");
    run.look(submitted());
    CHECK(run.next() == "act: run: create");
    run.act(written());
    CHECK(run.next() == "status: Created=True/JobsCreationSucceeded");
    run.machine.stored(std::nullopt);
    CHECK(run.next() == "report: Normal JobsCreationSucceeded (JobSet written)");
    CHECK(run.next() == "end");
    CHECK(run.next() == "end");
    CHECK(run.machine.result().own_writes_need_no_reconcile);
    CHECK_FALSE(run.machine.result().error);
    CHECK(run.machine.result().concluded == run.now);
}

namespace {

Observed failed_unseen() {
    Observed observed = running();
    observed.job_set->finished = condition("Failed", "True", "FailedJobs");
    return observed;
}

}  // namespace

TEST_CASE("the failed Pods of a JobSet are looked at before the end is stored", "[machine]") {
    AReconcile run{failed_unseen()};
    CHECK(run.next() == "act: finish Failed/FailedJobs");
    run.act();
    CHECK(run.next() == "look at the failed Pods");
    run.machine.found_failure(FailedPod{.failure = {.pod = "job-node-0-1", .reason = "Evicted"}}, {});
    const auto action = run.machine.next(run.now, true);
    const auto* write = action ? std::get_if<Machine::WriteStatus>(&*action) : nullptr;
    REQUIRE(write);
    CHECK(write->conclusion.failures.front().pod == "job-node-0-1");
    run.machine.stored(std::nullopt);
    CHECK(run.next() == "report: Warning FailedJobs");
    CHECK(run.next() == "end");
}

TEST_CASE("failed Pods that cannot be read delay the end for a minute", "[machine]") {
    AReconcile first{failed_unseen()};
    first.next();
    first.act();
    CHECK(first.next() == "look at the failed Pods");
    CHECK(first.machine.failed_pods_unread(server_error(503, "busy", api::Errc::unavailable), first.now));
    CHECK(first.next() == "report: ");
    CHECK(first.next() == "end");
    CHECK(first.machine.result().error->message == "busy");

    AReconcile last{failed_unseen()};
    last.observed.retry_state.errors_since = last.now - 60s;
    last.next();
    last.act();
    CHECK(last.next() == "look at the failed Pods");
    CHECK_FALSE(last.machine.failed_pods_unread(server_error(503, "busy", api::Errc::unavailable), last.now));
    last.machine.found_failure({}, {});
    CHECK(last.next() == "status: Failed=True/FailedJobs");
}

namespace {

// An attempt that has failed, as far as to the look at its Pods.
struct AFailure : AReconcile {
    explicit AFailure(const Observed& failed = failed_attempt()) : AReconcile(failed) {
        now = start + 61s;
        CHECK(next() == "look: all");
        look(failed);
        CHECK(next() == "act: finish Failed/ReachedMaxRestarts, judges");
        act();
        CHECK(next() == "look at the failed Pods, and at the policy");
    }
    Conclusion status() {
        const auto action = machine.next(now, is_certain);
        const auto* write = action ? std::get_if<Machine::WriteStatus>(&*action) : nullptr;
        REQUIRE(write);
        return write->conclusion;
    }
};

FailedPod lacking_memory() {
    return {.failure = {.time = start + 50s, .pod = "job-node-0-1", .node = "gpu-1", .reason = "OOMKilled"},
            .exits = {{"node", 137, "OOMKilled"}},
            .has_container_status = true};
}

api::FailurePolicy policy_with(std::int64_t max_restarts) {
    return {
        .max_restarts = max_restarts,
        .rules = {
            {.decision = api::FailureDecision::fail, .reasons = {"Evicted"}},
            {.decision = api::FailureDecision::restart, .reasons = {"OOMKilled"}, .excludes_node = true}}};
}

}  // namespace

TEST_CASE("an attempt that has failed is judged on a live view, and the job goes on", "[machine]") {
    AFailure run;
    run.machine.found_failure(lacking_memory(), policy_with(3));
    const Conclusion conclusion = run.status();
    CHECK(text(conclusion.conditions) == "Created=True/JobsCreationSucceeded Restarting=True/BackingOff");
    CHECK(conclusion.restarts == api::Restarts{.all = 1, .counted = 1});
    REQUIRE(conclusion.failures.size() == 1);
    CHECK(conclusion.failures[0].decision == api::FailureDecision::restart);
    CHECK(conclusion.failures[0].rule == 1);
    CHECK(conclusion.failures[0].excludes_node);
    CHECK(conclusion.failures[0].pod == "job-node-0-1");
    run.machine.stored(std::nullopt);
    CHECK(run.next() == "report: Warning TrainJobRestarted");
    CHECK(run.next() == "end");
    CHECK(run.machine.result().requeue_after == 10s);
    CHECK(run.machine.result().measurements.restarted == api::Restarts{.all = 1, .counted = 1});
    CHECK_FALSE(run.machine.result().measurements.end);
    CHECK_FALSE(run.machine.result().error);
}

TEST_CASE("an attempt of which no Pod is left is judged all the same", "[machine]") {
    AFailure run;
    run.machine.found_failure({}, policy_with(3));
    const Conclusion conclusion = run.status();
    CHECK(text(conclusion.conditions) == "Created=True/JobsCreationSucceeded Restarting=True/BackingOff");
    REQUIRE(conclusion.failures.size() == 1);
    CHECK(conclusion.failures[0].message == "jobset failed");
    CHECK(conclusion.failures[0].rule == api::default_rule);
}

TEST_CASE("a judgement may end the job", "[machine]") {
    struct Row {
        const char* name;
        std::int64_t max_restarts;
        const char* reason;
        const char* want;
        const char* message;
        std::int64_t rule;
    };
    const Row rows[] = {
        {"by a rule", 3, "Evicted", "FailJobSetFailurePolicyAction",
         "rule 0 of the failure policy ends the TrainJob. The first to fail: Pod job-node-0-1 on node gpu-1: "
         "Evicted",
         0},
        {"without restarts that are left", 0, "OOMKilled", "ReachedMaxRestarts",
         "the TrainJob has used the restarts of its failure policy: 0. The first to fail: Pod job-node-0-1 "
         "on "
         "node gpu-1: OOMKilled",
         1},
    };
    for (const Row& row : rows) DYNAMIC_SECTION(row.name) {
            AFailure run;
            FailedPod pod = lacking_memory();
            pod.exits.clear();
            pod.failure.reason = row.reason;
            run.machine.found_failure(pod, policy_with(row.max_restarts));
            const Conclusion conclusion = run.status();
            const api::Condition* failed = api::find_condition(conclusion.conditions, "Failed");
            REQUIRE(failed);
            CHECK(failed->reason == row.want);
            CHECK(failed->message == row.message);
            CHECK(failed->last_transition == start + 60s);
            CHECK(conclusion.failures.at(0).decision == api::FailureDecision::fail);
            CHECK(conclusion.failures.at(0).rule == row.rule);
            CHECK_FALSE(conclusion.failures.at(0).excludes_node);
            CHECK(conclusion.restarts == api::Restarts());
            run.machine.stored(std::nullopt);
            CHECK(run.next() == "report: Warning " + std::string(row.want));
        }
}

TEST_CASE("without a policy that can be read the job ends as its JobSet has", "[machine]") {
    AFailure run;
    run.machine.found_failure(lacking_memory(), std::nullopt);
    const Conclusion conclusion = run.status();
    CHECK(text(conclusion.conditions) == "Failed=True/ReachedMaxRestarts");
    CHECK(conclusion.failures.at(0).decision == api::FailureDecision::none);
    CHECK(api::find_condition(conclusion.conditions, "Failed")->message ==
          "jobset failed. The first to fail: Pod job-node-0-1 on node gpu-1: OOMKilled");
}

TEST_CASE("a JobSet that is no attempt is not judged, whatever the policy is", "[machine]") {
    AReconcile run{failed_unseen()};
    run.next();
    run.act();
    CHECK(run.next() == "look at the failed Pods");
    run.machine.found_failure(lacking_memory(), policy_with(3));
    CHECK(run.next() == "status: Failed=True/FailedJobs");
}

TEST_CASE("a judgement waits for the Pods for a minute, and is made without them then", "[machine]") {
    const api::Error busy = server_error(503, "busy", api::Errc::unavailable);
    AFailure first;
    CHECK(first.machine.failed_pods_unread(busy, first.now));
    CHECK(first.next() == "report: ");
    CHECK(first.next() == "end");
    CHECK(first.machine.result().error->message == "busy");
    CHECK(first.machine.result().retry_state.failures == 1);
    CHECK(first.machine.result().measurements.restarted == api::Restarts());

    Observed tried = failed_attempt();
    tried.retry_state.errors_since = start + 10s;
    AFailure last{tried};
    CHECK_FALSE(last.machine.failed_pods_unread(busy, start + 70s));
    last.machine.found_failure({}, policy_with(3));
    CHECK(text(last.status().conditions) == "Created=True/JobsCreationSucceeded Restarting=True/BackingOff");
}

TEST_CASE("a policy that cannot be read at the moment delays the judgement, however often", "[machine]") {
    Observed tried = failed_attempt();
    tried.retry_state.failures = 30;
    AFailure run{tried};
    run.machine.failure_policy_unread(
        {"ConfigMap default/job-runtime-snapshot", server_error(503, "busy", api::Errc::unavailable)});
    CHECK(run.next().find("status") == std::string::npos);
    CHECK(run.next() == "end");
    CHECK(run.machine.result().error->message == "busy");
    CHECK(run.machine.result().requeue_after);
}

TEST_CASE("the live view may show that the attempt was judged meanwhile", "[machine]") {
    AReconcile run{failed_attempt()};
    run.now = start + 61s;
    CHECK(run.next() == "look: all");
    run.look(judged_attempt());
    CHECK(run.next() == "act: run: back off, no build");
    run.act();
    CHECK(run.next() == "report: ");
    CHECK(run.next() == "end");
    CHECK(run.machine.result().requeue_after == 9s);
}

TEST_CASE("the JobSet of an attempt goes on a live view, and the next one is created", "[machine]") {
    AReconcile run{judged_attempt()};
    run.now = start + 70s;
    CHECK(run.next() == "look: all");
    run.look(judged_attempt());
    CHECK(run.next() == "act: run: retire, no build");
    run.act();
    CHECK(run.next() == "report: ");
    CHECK(run.next() == "end");
    CHECK_FALSE(run.machine.result().requeue_after);

    Observed gone = judged_attempt();
    gone.job_set.reset();
    AReconcile next{gone};
    next.now = start + 75s;
    CHECK(next.next() == "look: all");
    next.look(gone);
    CHECK(next.next() == "act: run: create");
}

TEST_CASE("an obstacle that the caches may have caused is looked at live before it counts", "[machine]") {
    AReconcile run{suspended()};
    CHECK(run.next() == "act: run: update");
    Outcome failed;
    failed.result = WriteFailed{"JobSet default/job", server_error(422, "no", api::Errc::invalid)};
    run.act(failed, true);
    CHECK(run.next() == "look: all, for a change");
    run.look(suspended());
    CHECK(run.next() == "act: run: update");
    run.act(failed);
    CHECK(run.next() == "status: Suspended=True/Suspended Created=False/JobsCreationFailed");
    run.machine.stored(std::nullopt);
    CHECK(run.next() == "report: Warning JobsCreationFailed");
    CHECK(run.next() == "end");
    CHECK(run.machine.result().error->message == "no");
}

TEST_CASE("a live view that cannot be had fails the reconcile, which is tried again", "[machine]") {
    AReconcile run{submitted()};
    run.next();
    run.machine.look_failed(server_error(503, "down", api::Errc::unavailable));
    CHECK(run.next() == "report: ");
    CHECK(run.next() == "end");
    CHECK(run.machine.result().error->message == "down");
    CHECK(run.machine.result().retry_state.failures == 1);
    CHECK(run.machine.result().requeue_after);
}

TEST_CASE("a stored transition is decided on again, as the API server has stored it", "[machine]") {
    Observed resumed = suspended();
    resumed.job->suspend = false;
    AReconcile run{resumed};
    CHECK(run.next() == "act: store transition");
    run.act();
    CHECK(run.next() == "status: Suspended=False/Resumed Created=True/JobsCreationSucceeded");
    api::TrainJob stored = *resumed.job;
    for (api::Condition& each : stored.conditions)
        if (each.type == "Suspended") each.status = "False", each.reason = "Resumed";
    stored.meta.resource_version = "101";
    run.machine.stored(stored);
    CHECK(run.next() == "report: Normal Resumed");
    CHECK(run.next() == "look: all, for a resume");
    CHECK(run.observed.job->meta.resource_version == "101");
    Observed live = resumed;
    live.job = stored;
    live.stopping.emplace();
    run.look(live);
    CHECK(run.next() == "act: run: resume");
    run.act(written());
    CHECK(run.next().starts_with("status: "));
    run.machine.stored(std::nullopt);
    CHECK(run.next() == "report:  (JobSet written)");
    CHECK(run.next() == "end");
}

TEST_CASE("a suspension needs no look at a TrainJob that the API server has just answered with",
          "[machine]") {
    Observed stops = running();
    stops.job->suspend = true;
    AReconcile run{stops};
    const api::TrainJob stored = run.store_transition();
    CHECK(run.next() == "report: Normal Suspended");
    CHECK(run.next() == "act: run: suspend, leave");

    SECTION("it is written") {
        run.act();
        CHECK(run.next() == "report: ");
        CHECK(run.next() == "end");
    }
    SECTION("the JobSet has changed since the caches saw it") {
        run.act({}, true);
        CHECK(run.next() == "look: all");
        Observed live = stops;
        live.job = stored;
        run.look(live);
        CHECK(run.next() == "act: run: suspend, leave");
    }
}

TEST_CASE("a job is resumed once the Pods of before have ended", "[machine]") {
    Observed resumed = suspended();
    resumed.job->suspend = false;
    AReconcile before{resumed};
    resumed.job = before.store_transition();
    AReconcile run{resumed};
    CHECK(run.next() == "look: all, for a resume");
    Observed stops = resumed;
    stops.stopping = Stopping{.jobs = 1, .pods = 2, .first = "Job default/job-node-0"};
    run.look(stops);
    CHECK(run.next() == "act: run: wait until stopped");
    run.act();
    CHECK(run.next() == "report: Normal WaitingForPods");
    CHECK(run.next() == "end");
    CHECK(run.machine.result().requeue_after == 1s);
    CHECK_FALSE(run.machine.result().error);

    AReconcile later{resumed};
    later.next();
    stops.stopping.emplace();
    later.look(stops);
    CHECK(later.next() == "act: run: resume");
}

TEST_CASE("a JobSet that has been suspended since it was made is resumed without a look at its Jobs",
          "[machine]") {
    Observed resumed = suspended();
    resumed.job->suspend = false;
    resumed.job_set->meta.generation = 1;
    AReconcile before{resumed};
    resumed.job = before.store_transition();
    AReconcile run{resumed};
    CHECK(run.next() == "look: all, for a change");

    SECTION("it has not changed") {
        run.look(resumed);
        CHECK(run.next() == "act: run: resume");
    }
    SECTION("it has run meanwhile") {
        resumed.job_set->meta.generation = 3;
        run.look(resumed);
        CHECK(run.next() == "look: all, for a resume");
    }
}

TEST_CASE("a status that is not stored ends the reconcile without its events", "[machine]") {
    AReconcile run{completed_unseen()};
    CHECK(run.next() == "act: finish Complete/AllJobsCompleted");
    run.act();
    CHECK(run.next().starts_with("status: "));
    run.machine.not_stored(server_error(409, "changed", api::Errc::conflict), run.now);
    CHECK(run.next() == "report: ");
    CHECK(run.next() == "end");
    CHECK(run.machine.result().error->message == "changed");
    CHECK_FALSE(run.machine.result().measurements.end);
}

TEST_CASE("a job that expires by the caches alone is kept, and looked at again", "[machine]") {
    Observed expired = completed();
    expired.ttl = 60;
    Observed kept = completed();
    AReconcile run{expired};
    run.now = start + 10min;
    CHECK(run.next() == "look: all");
    run.look(kept);
    CHECK(run.next() == "act: clean up");
    run.act();
    CHECK(run.next() == "report: ");
    CHECK(run.next() == "end");
    CHECK(run.machine.result().measurements.held == TtlHeld::live);
    CHECK(run.machine.result().requeue_after == 300s);
}

TEST_CASE("the Service of a JobSet is looked at once it should be there, before the status is written",
          "[machine]") {
    Observed served = running();
    served.job_set->service = "job";
    AReconcile run{served};
    run.now = start + 30s;
    CHECK(run.next() == "act: run: leave");
    run.act();
    CHECK(run.next() == "look at the Service");
    run.machine.found_service(ServiceLook::taken);
    CHECK(run.next() == "status: Created=True/JobsCreationSucceeded Stalled=True/ServiceTaken");
}

TEST_CASE("nothing is ended by a clock that is not certain", "[machine]") {
    AReconcile run{with_deadline(running())};
    run.now = start + 1h;
    run.is_certain = false;
    CHECK(run.next() == "act: run: leave");
    CHECK(run.observed.clock_is_uncertain);
}

}  // namespace lifecycle
