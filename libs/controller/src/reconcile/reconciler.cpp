#include "controller/reconcile/reconciler.hpp"

#include <utility>

#include "api/names.hpp"
#include "api/train_job.hpp"
#include "controller/reconcile/observe.hpp"
#include "kube/client/api_server.hpp"
#include "lifecycle/progress_deadline.hpp"
#include "lifecycle/stall.hpp"
#include "reconcile/metered_reads.hpp"
#include "runtime/conditions.hpp"

namespace controller {
namespace {

const api::Error* error_of(const lifecycle::Outcome& outcome) {
    if (const auto* failed = std::get_if<lifecycle::ReadFailed>(&outcome.result)) return &failed->error;
    if (const auto* failed = std::get_if<lifecycle::WriteFailed>(&outcome.result)) return &failed->error;
    if (const auto* failed = std::get_if<lifecycle::BuildFailed>(&outcome.result)) return &failed->error;
    if (outcome.policy_unread) return &outcome.policy_unread->error;
    if (outcome.availability_unread) return &outcome.availability_unread->error;
    return nullptr;
}

// Returns whether plugins may have new conditions: the job is at work or has just ended. The status of other
// jobs is final.
bool has_conditions(const lifecycle::Decision& decision) {
    return std::holds_alternative<lifecycle::Run>(decision) ||
           std::holds_alternative<lifecycle::Finish>(decision);
}

std::vector<api::Condition> plugin_conditions(const View& view, const lifecycle::Decision& decision,
                                              const runtime::Pipeline& pipeline) {
    static const api::Json unknown;
    const bool ends = std::holds_alternative<lifecycle::Finish>(decision);
    return runtime::conditions_of_plugins(*view.observed.job,
                                          ends ? nullptr : lifecycle::own_job_set(view.observed),
                                          view.runtime ? *view.runtime : unknown, pipeline);
}

bool may_change_job_set(const lifecycle::Decision& decision) {
    const auto* run = std::get_if<lifecycle::Run>(&decision);
    return run && (run->job_set == lifecycle::JobSetAction::update ||
                   run->job_set == lifecycle::JobSetAction::resume || run->verifies || run->resizes);
}

}  // namespace

// Stores the Lease of the server of reports in the view. Concurrent reconciles share its reads. Returns the
// failed read, which affects only progress deadlines.
kube::Task<std::optional<lifecycle::ReadFailed>> Reconciler::look_up_availability(View& view) {
    const auto lease = co_await reads_.read(server_, kube::resources::leases, progress_.lease);
    if (!lease) co_return lifecycle::ReadFailed{"Lease " + to_string(progress_.lease), lease.error()};
    view.observed.availability = *lease ? lifecycle::availability_of(**lease) : lifecycle::Availability();
    co_return std::nullopt;
}

// Returns what the Warnings of the namespace say of the JobSet; nullopt if they are not there yet.
kube::Task<std::optional<std::string>> Reconciler::look_for_explanation(const View& view) {
    const auto warnings = co_await warnings_->read(view.observed.job->meta.ns, now_().now);
    if (!warnings) co_return std::nullopt;
    co_return lifecycle::explanation(view.observed, *warnings, now_().now);
}

kube::Task<ReconcileResult> Reconciler::reconcile(api::ObjectKey key, lifecycle::RetryState retry_state,
                                                  std::size_t allowed) {
    MeteredReads server(server_, allowed, now_);
    const auto now = [&server] { return server.time(); };
    Reconciler metered(server, cache_, events_, log_, now, options_, build_context_, progress_);
    metered.reads_ = reads_;
    metered.warnings_ = warnings_;
    warnings_->forget_old(now_().now);
    WrittenVersions written;
    ReconcileResult report;
    try {
        report = co_await metered.reconcile_to_end(std::move(key), std::move(retry_state), written);
    } catch (const MeteredReads::Exceeded&) {
        report = {.written = written, .wants_more = true};
    }
    report.weight = server.weight();
    co_return report;
}

namespace {

// Keeps a TrainJob that has expired by the caches alone. The caches may never have had the runtime that keeps
// it, and then do not show its deletion, so it is requeued.
void hold(const api::TrainJob& job, ReconcileResult& report) {
    constexpr std::chrono::minutes recheck{5};
    report.measurements.held =
        job.is_multikueue_copy ? lifecycle::TtlHeld::multikueue : lifecycle::TtlHeld::live;
    if (!job.is_multikueue_copy)
        report.requeue_after =
            std::min<std::chrono::seconds>(report.requeue_after.value_or(recheck), recheck);
}

}  // namespace

kube::Task<ReconcileResult> Reconciler::reconcile_to_end(api::ObjectKey key,
                                                         lifecycle::RetryState retry_state,
                                                         WrittenVersions& written) {
    View view = cached_view(cache_, key);
    retry_state.began = now_().now;
    view.observed.retry_state = retry_state;
    view.observed.progress_watch = progress_.watch;
    std::optional<lifecycle::ReadFailed> availability_unread;
    auto unreadable = co_await look_up_policy(server_, view);
    bool expires_by_caches = false;
    lifecycle::Measurements measured;  // with the earlier status writes of this reconcile
    // Each round after the first has more of the live view, or a stored transition, so the loop ends.
    for (;;) {
        if (!view.observed.job) co_return ReconcileResult{.gone = true, .written = written};
        const bool wants_lease = !view.observed.availability && !availability_unread &&
                                 lifecycle::wants_availability(view.observed, now_().now);
        if (wants_lease) availability_unread = co_await look_up_availability(view);
        const kube::ServerTime now = now_();
        view.observed.clock_is_uncertain = !now.is_certain;
        const lifecycle::Decision decision = lifecycle::decide(view.observed, now.now);
        lifecycle::Outcome outcome;
        lifecycle::Live needed = lifecycle::needs_live(decision, view.observed);
        if (lifecycle::exceeds_progress_deadline(view.observed, now.now)) needed = lifecycle::Live::all;
        bool look_live = needed > view.live;
        if (!look_live) {
            Writer writer(server_, view, build_context_, written);
            outcome = co_await writer.act(decision);
            look_live = writer.wants_live_view();
            if (look_live) needed = lifecycle::Live::all;
        }
        const bool expires = std::holds_alternative<lifecycle::Expire>(decision);
        expires_by_caches = expires_by_caches || (expires && view.live == lifecycle::Live::nothing);
        // An unknown TTL delays only the deletion: cleaning up must not wait for it.
        if (!look_live) outcome.policy_unread = unreadable;
        outcome.availability_unread = availability_unread;
        if (!look_live && has_conditions(decision))
            outcome.plugin_conditions = plugin_conditions(view, decision, build_context_.pipeline);
        if (!look_live && lifecycle::wants_warnings(view.observed, decision, outcome, now_().now))
            outcome.explanation = co_await look_for_explanation(view);
        if (!look_live && lifecycle::wants_live_view(view.observed, decision, outcome, now_().now)) {
            look_live = true;
            needed = lifecycle::Live::all;
        }
        if (look_live) {
            const auto failed = co_await read_live_view(view, key, needed, may_change_job_set(decision));
            if (!failed) {
                unreadable = co_await look_up_policy(server_, view);
                continue;
            }
            outcome.result = lifecycle::ReadFailed{"TrainJob " + to_string(key), *failed};
        }
        ReconcileResult report;
        const bool again = co_await conclude(view, decision, outcome, written, report);
        report.measurements = lifecycle::joined(measured, report.measurements);
        measured = report.measurements;
        if (again) continue;
        if (expires_by_caches && !expires) hold(*view.observed.job, report);
        co_return report;
    }
}

// Reads the view again, that much of it from the API server. Returns the failed read; then the view stays.
kube::Task<std::optional<api::Error>> Reconciler::read_live_view(View& view, const api::ObjectKey& key,
                                                                 lifecycle::Live needed, bool for_change) {
    auto live = co_await live_view(server_, reads_, key, needed, now_().now, for_change);
    if (!live) co_return live.error();
    live->observed.retry_state = view.observed.retry_state;
    live->observed.progress_watch = view.observed.progress_watch;
    live->observed.availability = view.observed.availability;
    view = std::move(*live);
    co_return std::nullopt;
}

// Concludes and writes the status. Returns whether to decide again, which a stored transition asks for; then
// the answer of the API server is the TrainJob in `view`.
kube::Task<bool> Reconciler::conclude(View& view, const lifecycle::Decision& decision,
                                      const lifecycle::Outcome& outcome, WrittenVersions& written,
                                      ReconcileResult& report) {
    api::TrainJob& job = *view.observed.job;
    if (const api::Error* error = error_of(outcome)) report.error = *error;

    report.concluded = now_().now;
    lifecycle::Conclusion conclusion =
        lifecycle::conclude(view.observed, decision, outcome, report.concluded, options_);
    std::optional<api::TrainJob> answer;
    bool is_stored = false;
    if (conclusion.status_changed) {
        auto stored = co_await write_status(job, conclusion);
        is_stored = stored.has_value();
        if (stored) {
            answer = std::move(stored->job);
            written.train_job_before = std::exchange(written.train_job, std::move(stored->version));
        } else {
            report.error = stored.error();
            conclusion = lifecycle::after_failed_status_write(std::move(conclusion), view.observed,
                                                              stored.error(), now_().now);
        }
    }
    report.measurements =
        lifecycle::measurements(view.observed, decision, outcome, conclusion, is_stored, now_().now);
    if (outcome.job_set_written) log_job_set_write(job, decision);
    report_events(job, conclusion);
    report.requeue_after = conclusion.requeue_after;
    report.retry_state = conclusion.retry_state;
    report.written = written;
    report.own_writes_need_no_reconcile = conclusion.own_writes_need_no_reconcile;
    if (!conclusion.decide_again || !answer) co_return false;
    // The CRD of another release may have no field for the restarts; to store them again would not help.
    answer->restarts = conclusion.restarts;
    job = std::move(*answer);
    co_return true;
}

kube::Async<Reconciler::Stored> Reconciler::write_status(const api::TrainJob& job,
                                                         const lifecycle::Conclusion& conclusion) {
    api::Json patch = lifecycle::status_patch(job, conclusion);
    const kube::SameVersion as_seen(job.meta);
    kube::Request request =
        kube::merge_patch_status(kube::resources::train_jobs, job.meta.key(), std::move(patch), as_seen);
    Stored stored;
    if (conclusion.decide_again) {
        auto answer = co_await kube::fetch(server_, std::move(request), managed_fields);
        if (!answer) co_return answer.error();
        stored.job = api::parse_train_job(std::move(*answer));
        stored.version = stored.job->meta.resource_version;
    } else {
        request = kube::without_object(std::move(request));
        const auto answer = co_await server_.send(std::move(request));
        if (!answer) co_return answer.error();
        stored.version = kube::version_of(*answer);
    }
    co_return stored;
}

// Logs the write of the JobSet. Conditions do not show every write, and may be for failures only.
void Reconciler::log_job_set_write(const api::TrainJob& job, const lifecycle::Decision& decision) {
    const auto* run = std::get_if<lifecycle::Run>(&decision);
    if (!run) return;
    const bool created = run->job_set == lifecycle::JobSetAction::create;
    const bool resumed = run->job_set == lifecycle::JobSetAction::resume;
    const std::string_view what = created ? "JobSet created" : resumed ? "JobSet resumed" : "JobSet changed";
    log_.info(what, {{"trainjob", job.meta.key()}, {"uid", job.meta.uid}});
}

void Reconciler::report_events(const api::TrainJob& job, const lifecycle::Conclusion& conclusion) {
    const kube::Regarding regarding = {.api_version = std::string(api::trainer_api_version),
                                       .kind = std::string(api::train_job_kind),
                                       .key = job.meta.key(),
                                       .uid = job.meta.uid,
                                       .resource_version = job.meta.resource_version};
    for (const lifecycle::Event& event : conclusion.events) {
        const bool warning = event.type == lifecycle::EventType::warning;
        const kube::EventText text = {.warning = warning, .reason = event.reason, .note = event.note};
        events_.record(regarding, text);
        log_.write(warning ? net::LogLevel::warn : net::LogLevel::info, event.reason,
                   {{"trainjob", job.meta.key()}, {"uid", job.meta.uid}, {"note", event.note}});
    }
}

}  // namespace controller
