#include <random>

#include "lifecycle/deadline.hpp"
#include "lifecycle/judge.hpp"
#include "lifecycle/run_policy.hpp"
#include "objects.hpp"
#include "text.hpp"

namespace lifecycle {
namespace {

constexpr int rounds = 10'000;

/// Any state that a cluster could show, sensible or not. Each number has a statement of its own: arguments of
/// a call are evaluated in another order on other architectures.
class Chaos {
public:
    explicit Chaos(std::uint32_t seed) : random_(seed) {}

    bool maybe(int percent = 50) { return below(100) < percent; }
    int below(int limit) { return std::uniform_int_distribution<int>(0, limit - 1)(random_); }
    api::Time time() { return start + std::chrono::seconds(below(400) - 200); }

    Observed observed() {
        Observed observed = submitted();
        api::TrainJob& job = *observed.job;
        job.suspend = maybe();
        job.meta.generation = 1 + below(3);
        if (maybe(20)) job.meta.deletion = time();
        if (maybe(5)) job.managed_by = "kueue.x-k8s.io/multikueue";
        if (maybe(5)) job.runtime_ref.kind = "Other";
        if (maybe()) job.active_deadline_seconds = deadlines_[below(std::size(deadlines_))];
        for (const char* type : {"Created", "Suspended", "Complete", "Failed", "Plugin"})
            if (maybe(30)) job.conditions.push_back(any_condition(type));
        if (maybe(30) && !api::terminal_condition(job))
            job.conditions.push_back(condition("Restarting", "True", "BackingOff", time()));
        if (maybe()) job.restarts = restarts();
        if (maybe(30)) job.attempt.began = time();
        if (maybe(30)) job.attempt.next = time();
        if (maybe(30)) job.failures = {failure()};
        if (maybe(60)) report(job, observed);
        if (maybe()) job.jobs_status = counts();
        if (maybe(20)) job.ttl_seconds_after_finished = ttls_[below(2)];
        if (maybe()) job.run_policy = policy();
        if (maybe()) job.runtime_digest = "sha256:1";
        if (maybe()) job.start_time = time();
        if (maybe()) job.completion_time = time();
        if (maybe()) observed.live_policy = policy();
        if (maybe() && wants_snapshot_policy(observed)) observed.snapshot_policy = policy();
        if (maybe(70)) observed.job_set = job_set(job);
        if (maybe()) observed.ttl = ttls_[below(std::size(ttls_))];
        observed.retry_state = {.failures = below(12)};
        if (maybe()) observed.retry_state.errors_since = time();
        if (maybe(10)) let_hang(observed);
        return observed;
    }

    Outcome outcome() {
        const api::Error errors[] = {server_error(403, "exceeded quota"),
                                     server_error(409, "changed", api::Errc::conflict),
                                     server_error(404, "gone", api::Errc::not_found),
                                     {.code = api::Errc::unavailable, .message = "reset"}};
        const api::Error& error = errors[below(std::size(errors))];
        switch (below(8)) {
            case 0: return {.result = ReadFailed{"ConfigMap a/b", error}};
            case 1: return {.result = BuildFailed{error}};
            case 2: return {.result = WriteFailed{"JobSet a/b", error, static_cast<Write>(below(3))}};
            case 3: return {.result = ForeignObject{"Secret a/b"}};
            case 4: return {.result = JobSetRemoved{"why"}};
            default:
                return {.runtime_digest = "sha256:2",
                        .job_set_written = maybe(),
                        .plugin_conditions = {any_condition("Complete")}};
        }
    }

    Judgement judgement() {
        return {.decision = maybe() ? api::FailureDecision::restart : api::FailureDecision::restart_uncounted,
                .delay = std::chrono::seconds(below(3) * 43'200),
                .failures = 1,
                .uncounted_failures = below(2)};
    }

private:
    api::Restarts restarts() {
        const int all = below(3);
        return {.all = all, .counted = below(all + 1)};
    }

    api::Failure failure() {
        return {.attempt = below(3),
                .time = time(),
                .reason = "ProgressDeadlineExceeded",
                .decision = static_cast<api::FailureDecision>(below(4))};
    }

    // What else there is stays as it is.
    void let_hang(Observed& observed) {
        api::TrainJob& job = *observed.job;
        job.suspend = false;
        std::erase_if(job.conditions, [](const auto& each) { return each.type != "Created"; });
        job.active_deadline_seconds.reset();
        job.run_policy.reset();
        report(job, observed);
        job.progress_annotations = {"60", "Restart", {}};
        job.trainer_status.last_progress = start + std::chrono::seconds(below(60));
        if (!observed.job_set) observed.job_set = job_set_of(job);
        observed.job_set->suspend = false;
        observed.job_set->is_attempt = true;
        observed.job_set->finished.reset();
        observed.job_set->restarts_before = observed.job_set->restarts = job.restarts;
    }

    // Deadlines of a minute, with the grace, may be over.
    void report(api::TrainJob& job, Observed& observed) {
        constexpr const char* actions[] = {"Warn", "Fail", "Restart"};
        job.progress_annotations.action = actions[below(3)];
        if (maybe(70)) job.progress_annotations.seconds = "60";
        if (maybe(70)) job.progress_annotations.start_seconds = "60";
        if (maybe()) job.trainer_status.last_progress = time();
        observed.progress_watch = ProgressWatch::deadlines;
        observed.availability = {.since = start - 1h, .renewed = start + 150s};
        observed.is_live = maybe();
        observed.clock_is_uncertain = maybe(10);
    }

    api::RunPolicy policy() {
        api::RunPolicy policy;
        if (maybe(30)) policy.ttl_seconds_after_finished = ttls_[below(3)];
        if (maybe(30)) policy.active_deadline_seconds = deadlines_[below(3)];
        if (maybe(30)) policy.max_active_deadline_seconds = deadlines_[below(3)];
        return policy;
    }

    api::Condition any_condition(const char* type) {
        const char* statuses[] = {"True", "False", "Unknown"};
        const char* status = statuses[below(maybe(90) ? 2 : 3)];
        return condition(type, status, "Any", time());
    }

    std::vector<api::JobStatus> counts() {
        return {{.name = "node",
                 .ready = below(2),
                 .succeeded = below(2),
                 .active = below(2),
                 .suspended = below(2)}};
    }

    api::JobSet job_set(const api::TrainJob& job) {
        api::JobSet job_set = job_set_of(job);
        job_set.suspend = maybe();
        if (maybe()) job_set.built_for_nodes = maybe() ? api::nodes_of_runtime : 3;
        job_set.replicated_jobs = maybe(80) ? counts() : std::vector<api::JobStatus>();
        if (maybe(20)) job_set.meta.controller_uid = maybe() ? "" : "uid-of-another-owner";
        if (maybe(20)) job_set.meta.deletion = time();
        if (maybe(30)) {
            const char* type = maybe() ? "Completed" : "Failed";
            job_set.finished = condition(type, "True", "Any", time());
        }
        job_set.is_attempt = maybe();
        job_set.all_started = maybe();
        if (maybe()) job_set.restarts_before = restarts();
        job_set.restarts = job_set.restarts_before;
        if (!job_set.is_attempt && maybe()) job_set.restarts = job_set.restarts + restarts();
        return job_set;
    }

    static constexpr std::int64_t deadlines_[] = {1, 60, 150,
                                                  0, -1, std::numeric_limits<std::int64_t>::max()};
    static constexpr std::int64_t ttls_[] = {0, 60, 150, -1, std::numeric_limits<std::int64_t>::max()};
    std::mt19937 random_;
};

bool goes_back(const std::vector<api::Condition>& before, const std::vector<api::Condition>& after) {
    for (const auto& old : before) {
        const api::Condition* now = api::find_condition(after, old.type);
        if (!now) continue;
        if (now->last_transition < old.last_transition) return true;
        if (now->status == old.status && now->last_transition != old.last_transition) return true;
    }
    return false;
}

}  // namespace

TEST_CASE("whatever is observed, decisions keep their promises", "[property]") {
    Chaos chaos(20260115);
    int hangs = 0;
    for (int round = 0; round < rounds; ++round) {
        const Observed observed = chaos.observed();
        const api::Time now = chaos.time();
        const Decision decision = decide(observed, now);
        INFO("round " << round << ": " << text(decision) << " | " << text(observed.job->conditions));
        REQUIRE(decide(observed, now) == decision);

        const bool ended = api::terminal_condition(*observed.job) != nullptr;
        const bool own = own_job_set(observed) != nullptr;
        const bool deleting = observed.job->meta.deletion.has_value();
        if (observed.job->managed_by != api::managed_by_this_controller &&
            !observed.job->ttl_seconds_after_finished)
            REQUIRE(std::holds_alternative<Ignore>(decision));
        if (observed.job->managed_by != api::managed_by_this_controller)
            REQUIRE((std::holds_alternative<Ignore>(decision) || std::holds_alternative<Expire>(decision)));
        if (std::holds_alternative<Expire>(decision)) REQUIRE((ended && !deleting && observed.ttl));
        if (const auto* clean_up = std::get_if<CleanUp>(&decision)) {
            REQUIRE(ended);
            if (clean_up->job_set != EndOfJobSet::leave)
                REQUIRE((own && !observed.job_set->finished && !observed.job_set->meta.deletion));
        }
        if (const auto* finish = std::get_if<Finish>(&decision)) {
            REQUIRE(!ended);
            if (finish->condition.reason == "DeadlineExceeded") {
                REQUIRE(deadline(observed).value_or(api::Time::max()) <= now);
                REQUIRE((!observed.job->suspend &&
                         (!(own && observed.job_set->finished) || is_judged(observed))));
            }
        }
        if (const auto* finish = std::get_if<Finish>(&decision);
            finish && finish->judges != Judged::nothing) {
            REQUIRE((own && observed.job_set->is_attempt && !deleting));
            REQUIRE(observed.job_set->finished.has_value() == (finish->judges == Judged::failure));
            REQUIRE(finish->condition.type == "Failed");
            REQUIRE(observed.job->restarts.all <= observed.job_set->restarts.all);
            REQUIRE(needs_live(decision, observed) >= Live::all);
            if (finish->judges == Judged::hang) {
                ++hangs;
                REQUIRE((!observed.job->suspend && !observed.job_set->suspend));
                REQUIRE((!observed.job_set->meta.deletion && !observed.clock_is_uncertain));
                REQUIRE(observed.job->progress_annotations.action == "Restart");
            }
        }
        REQUIRE(!std::holds_alternative<Restart>(decision));
        if (const auto* run = std::get_if<Run>(&decision)) {
            REQUIRE(!ended);
            if (run->job_set == JobSetAction::retire) {
                // Never a JobSet whose failure is not stored, nor one that runs without an entry of its own.
                REQUIRE((own && observed.job_set->is_attempt && !deleting));
                REQUIRE(observed.job->restarts.all > observed.job_set->restarts.all);
                REQUIRE(!observed.job_set->meta.deletion);
                if (observed.job_set->finished) {
                    REQUIRE(observed.job_set->finished->type == "Failed");
                    REQUIRE(!observed.job->suspend);
                    REQUIRE(observed.job->attempt.next.value_or(now) <= now);
                } else {
                    REQUIRE(is_said_to_restart(*observed.job, *observed.job_set));
                }
                REQUIRE(needs_live(decision, observed) >= Live::all);
                REQUIRE(!run->build);
            }
            const bool creates = run->job_set == JobSetAction::create;
            const bool changes = run->job_set == JobSetAction::update || run->job_set == JobSetAction::resume;
            if (creates) REQUIRE((!observed.job_set && !deleting));
            if (changes) REQUIRE((own && observed.job_set->suspend && !deleting));
            if (run->suspend_job_set) {
                REQUIRE((own && !observed.job_set->suspend));
                // Or an attempt that hangs, while a finalizer holds the TrainJob.
                REQUIRE((observed.job->suspend ||
                         (deleting && is_judged(observed) && !observed.job_set->finished)));
            }
            if (run->resizes)
                REQUIRE((own && !observed.job_set->suspend && !observed.job->suspend && !deleting));
            if (run->job_set == JobSetAction::resume) REQUIRE(!observed.job->suspend);
            if (deleting) REQUIRE(!run->build);
            // A transition is stored before the JobSet is touched.
            if (run->suspend_job_set && observed.job->suspend)
                REQUIRE(api::is_true(observed.job->conditions, "Suspended"));
            if (run->job_set == JobSetAction::resume)
                REQUIRE(!api::is_true(observed.job->conditions, "Suspended"));
        }
    }
    CHECK(hangs > 0);
}

TEST_CASE("whatever happens, conclusions keep their promises", "[property]") {
    Chaos chaos(4711);
    for (int round = 0; round < rounds; ++round) {
        const Observed observed = chaos.observed();
        const Outcome any_outcome = chaos.outcome();
        const api::Time now = chaos.time();
        const Options options = {chaos.maybe() ? CreatedCondition::always : CreatedCondition::on_failure};
        Decision decision = decide(observed, now);
        Outcome outcome = any_outcome;
        const auto* judged = std::get_if<Finish>(&decision);
        const bool restarts = judged && judged->judges != Judged::nothing && chaos.maybe() &&
                              !std::holds_alternative<ReadFailed>(outcome.result);
        if (restarts) {
            const Judgement judgement = chaos.judgement();
            outcome.failure = api::Failure{.time = now, .decision = judgement.decision};
            decision = Restart{judgement};
        }
        const Conclusion conclusion = conclude(observed, decision, outcome, now, options);
        INFO("round " << round << ": " << text(decision) << " | " << text(observed.job->conditions) << " -> "
                      << text(conclusion.conditions));

        for (const char* type : {"Complete", "Failed"})
            if (api::is_true(observed.job->conditions, type))
                REQUIRE(api::is_true(conclusion.conditions, type));
        const bool both =
            api::is_true(conclusion.conditions, "Complete") && api::is_true(conclusion.conditions, "Failed");
        const bool both_before = api::is_true(observed.job->conditions, "Complete") &&
                                 api::is_true(observed.job->conditions, "Failed");
        REQUIRE(both == both_before);
        REQUIRE(!goes_back(observed.job->conditions, conclusion.conditions));
        REQUIRE(conclusion.conditions.size() <= max_conditions);
        if (conclusion.requeue_after) {
            REQUIRE(*conclusion.requeue_after >= 1s);
            REQUIRE(*conclusion.requeue_after <= 24h);
        }
        REQUIRE(conclusion.status_changed == (conclusion.conditions != observed.job->conditions ||
                                              conclusion.jobs_status != observed.job->jobs_status ||
                                              conclusion.run_policy != observed.job->run_policy ||
                                              conclusion.runtime_digest != observed.job->runtime_digest ||
                                              conclusion.start_time != observed.job->start_time ||
                                              conclusion.completion_time != observed.job->completion_time ||
                                              conclusion.restarts != observed.job->restarts ||
                                              conclusion.failures != observed.job->failures ||
                                              conclusion.attempt != observed.job->attempt));
        if (conclusion.completion_time && conclusion.completion_time != observed.job->completion_time)
            REQUIRE((api::is_true(conclusion.conditions, "Complete") ||
                     api::is_true(conclusion.conditions, "Failed")));
        if (!observed.job->jobs_status.empty()) REQUIRE(!conclusion.jobs_status.empty());
        if (!observed.job->runtime_digest.empty())
            REQUIRE(conclusion.runtime_digest == observed.job->runtime_digest);
        const bool unread = std::holds_alternative<ReadFailed>(outcome.result);
        if (unread)
            for (const api::Condition& condition : conclusion.conditions) {
                const api::Condition* old = api::find_condition(observed.job->conditions, condition.type);
                const bool of_live_reports =
                    observed.is_live && condition.reason == api::reason::progress_deadline_exceeded;
                REQUIRE(((old && condition == *old) || is_open(condition) || of_live_reports));
            }
        if (std::holds_alternative<Ignore>(decision) || (std::holds_alternative<Expire>(decision) && !unread))
            REQUIRE(!conclusion.status_changed);
        if (std::holds_alternative<CleanUp>(decision))
            REQUIRE(text(conclusion.conditions) == text(observed.job->conditions));

        if (restarts) {
            REQUIRE(conclusion.restarts.all == observed.job_set->restarts.all + 1);
            REQUIRE(conclusion.failures.size() == observed.job->failures.size() + 1);
            REQUIRE(api::is_true(conclusion.conditions, "Restarting"));
            REQUIRE(!api::is_true(conclusion.conditions, "Failed"));
        }
        if (std::holds_alternative<Finish>(decision) && !unread) {
            REQUIRE(!api::find_condition(conclusion.conditions, "Restarting"));
            REQUIRE(!conclusion.attempt.next);
        }

        // Once written, the same reconcile has nothing to write, unless it goes on with another decision.
        Observed written = observed;
        written.job->conditions = conclusion.conditions;
        written.job->jobs_status = conclusion.jobs_status;
        written.job->run_policy = conclusion.run_policy;
        written.job->runtime_digest = conclusion.runtime_digest;
        written.job->start_time = conclusion.start_time;
        written.job->completion_time = conclusion.completion_time;
        written.job->restarts = conclusion.restarts;
        written.job->failures = conclusion.failures;
        written.job->attempt = conclusion.attempt;
        if (restarts) {
            REQUIRE(is_judged(written));
            const Decision next = decide(written, now);
            REQUIRE((!std::get_if<Finish>(&next) || std::get<Finish>(next).judges == Judged::nothing));
        }
        if (decide(written, now) == decision)
            REQUIRE(!conclude(written, decision, outcome, now, options).status_changed);
        if (conclusion.decide_again) REQUIRE(!std::holds_alternative<StoreTransition>(decide(written, now)));
    }
}

}  // namespace lifecycle
