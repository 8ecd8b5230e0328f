#include "controller/reconcile/reconciler.hpp"

#include <utility>

#include "api/names.hpp"
#include "api/train_job.hpp"
#include "controller/reconcile/observe.hpp"
#include "kube/client/api_server.hpp"
#include "lifecycle/progress_deadline.hpp"
#include "reconcile/failed_pods_look.hpp"
#include "reconcile/metered_reads.hpp"
#include "reconcile/runtime_snapshot.hpp"
#include "reconcile/service_look.hpp"
#include "runtime/conditions.hpp"

namespace controller {
namespace {

using lifecycle::ReconcileMachine;

// Returns the conditions of plugins. They may have new ones while the job is at work, or as it ends; the
// status of other jobs is final.
std::vector<api::Condition> plugin_conditions(const View& view, const lifecycle::Decision& decision,
                                              const runtime::Pipeline& pipeline) {
    static const api::Json unknown;
    const bool ends = std::holds_alternative<lifecycle::Finish>(decision);
    if (!ends && !std::holds_alternative<lifecycle::Run>(decision)) return {};
    return runtime::conditions_of_plugins(*view.observed.job,
                                          ends ? nullptr : lifecycle::own_job_set(view.observed),
                                          view.runtime ? *view.runtime : unknown, pipeline);
}

}  // namespace

// Carries out the actions of one machine.
class Reconcile {
public:
    Reconcile(Reconciler& reconciler, MeteredReads& server, api::ObjectKey key)
        : own_(reconciler), server_(server), key_(std::move(key)), view_(cached_view(own_.cache_, key_)) {}

    kube::Task<ReconcileResult> run(lifecycle::RetryState retry_state) {
        retry_state.began = server_.time().now;
        view_.observed.retry_state = std::move(retry_state);
        view_.observed.progress_watch = own_.progress_.watch;
        auto policy_unread = co_await look_up_policy(server_, view_);
        machine_.emplace(view_.observed, std::move(policy_unread), own_.options_);
        ReconcileResult result;
        while (!server_.is_exceeded()) {
            const kube::ServerTime now = server_.time();
            const auto action = machine_->next(now.now, now.is_certain);
            if (!action) {
                static_cast<lifecycle::Reconciled&>(result) = machine_->result();
                break;
            }
            co_await std::visit([this](const auto& each) { return carry_out(each); }, *action);
        }
        result.written = written_;
        result.weight = server_.weight();
        result.wants_more = server_.is_exceeded();
        co_return result;
    }

private:
    // Concurrent reconciles share the reads of the Lease. One that fails affects only progress deadlines.
    kube::Task<> carry_out(const ReconcileMachine::LookAtLease&) {
        const auto lease = co_await own_.reads_.read(server_, kube::resources::leases, own_.progress_.lease);
        if (!lease)
            machine_->lease_unread({"Lease " + to_string(own_.progress_.lease), lease.error()});
        else
            machine_->found_lease(*lease ? lifecycle::availability_of(**lease) : lifecycle::Availability());
    }

    kube::Task<> carry_out(const ReconcileMachine::Act& act) {
        Writer writer(server_, view_, own_.build_context_, written_, server_.time().now);
        lifecycle::Outcome outcome = co_await writer.act(act.decision);
        outcome.plugin_conditions = plugin_conditions(view_, act.decision, own_.build_context_.pipeline);
        machine_->acted(std::move(outcome), writer.wants_live_view());
    }

    kube::Task<> carry_out(const ReconcileMachine::LookAtWarnings&) {
        const api::Time now = server_.time().now;
        const auto warnings = co_await own_.warnings_.read(key_.ns, now);
        std::optional<std::string> explanation;
        if (warnings) explanation = lifecycle::explanation(view_.observed, *warnings, now);
        machine_->explained(std::move(explanation));
    }

    kube::Task<> carry_out(const ReconcileMachine::LookAtService&) {
        machine_->found_service(co_await look_at_service(server_, view_, server_.time().now, written_));
    }

    kube::Task<> carry_out(const ReconcileMachine::LookAtFailure& look) {
        std::optional<lifecycle::FailedPod> first;
        if (look.pods) {
            auto found = co_await look_at_failed_pods(server_, *view_.observed.job_set);
            if (!found && machine_->failed_pods_unread(found.error(), server_.time().now)) co_return;
            if (found) first = std::move(*found);
        }
        std::optional<api::FailurePolicy> policy;
        if (look.policy) {
            auto choice = co_await choose_runtime(server_, view_, lifecycle::runtime_source(view_.observed));
            if (auto* failure = std::get_if<StepFailure>(&choice)) {
                if (auto* unread = std::get_if<lifecycle::ReadFailed>(failure))
                    co_return machine_->failure_policy_unread(std::move(*unread));
            } else {
                policy =
                    api::failure_policy(*std::get<ChosenRuntime>(choice).runtime, view_.observed.job->spec);
            }
        }
        machine_->found_failure(std::move(first), policy);
    }

    kube::Task<> carry_out(const ReconcileMachine::LookAtPlacement&) {
        const auto since = co_await waits_for_node_since(server_, *view_.observed.job_set);
        machine_->found_placement(since ? *since : std::nullopt, server_.time().now);
    }

    kube::Task<> carry_out(const ReconcileMachine::Look& look) {
        auto live = co_await live_view(server_, own_.reads_, *view_.observed.job, look.what,
                                       server_.time().now, look.reason);
        if (!live) co_return machine_->look_failed(live.error());
        auto policy_unread = co_await look_up_policy(server_, *live);
        // The machine still has the earlier observation in view_.observed, until looked() replaces it.
        lifecycle::Observed observed = std::exchange(live->observed, std::move(view_.observed));
        view_ = std::move(*live);
        machine_->looked(std::move(observed), std::move(policy_unread));
    }

    kube::Task<> carry_out(const ReconcileMachine::WriteStatus& write) {
        const api::TrainJob& job = *view_.observed.job;
        const kube::SameVersion as_seen(job.meta);
        kube::Request request =
            kube::merge_patch_status(kube::resources::train_jobs, job.meta.key(),
                                     lifecycle::status_patch(job, write.conclusion), as_seen);
        std::optional<api::TrainJob> stored;
        std::string version;
        if (write.conclusion.decide_again) {
            auto answer = co_await kube::fetch(server_, std::move(request), managed_fields);
            if (!answer) co_return machine_->not_stored(answer.error(), server_.time().now);
            stored = api::parse_train_job(std::move(*answer));
            version = stored->meta.resource_version;
        } else {
            request = kube::without_object(std::move(request));
            const auto answer = co_await server_.send(std::move(request));
            if (!answer) co_return machine_->not_stored(answer.error(), server_.time().now);
            version = kube::version_of(*answer);
        }
        written_.train_job_before = std::exchange(written_.train_job, std::move(version));
        machine_->stored(std::move(stored));
    }

    kube::Task<> carry_out(const ReconcileMachine::Report& report) {
        const api::TrainJob& job = *view_.observed.job;
        if (report.job_set_written) log_job_set_write(job, report.job_set_written->job_set);
        record_events(job, report.conclusion.events);
        co_return;
    }

    // Logs the write of the JobSet. Conditions do not show every write, and may be for failures only.
    void log_job_set_write(const api::TrainJob& job, lifecycle::JobSetAction action) {
        const bool created = action == lifecycle::JobSetAction::create;
        const bool resumed = action == lifecycle::JobSetAction::resume;
        const std::string_view what = created   ? "JobSet created"
                                      : resumed ? "JobSet resumed"
                                                : "JobSet changed";
        own_.log_.info(what, {{"trainjob", job.meta.key()}, {"uid", job.meta.uid}});
    }

    void record_events(const api::TrainJob& job, const std::vector<lifecycle::Event>& events) {
        const kube::Regarding regarding = {.api_version = std::string(api::trainer_api_version),
                                           .kind = std::string(api::train_job_kind),
                                           .key = job.meta.key(),
                                           .uid = job.meta.uid,
                                           .resource_version = job.meta.resource_version};
        for (const lifecycle::Event& event : events) {
            const bool warning = event.type == lifecycle::EventType::warning;
            const kube::EventText text = {.warning = warning, .reason = event.reason, .note = event.note};
            own_.events_.record(regarding, text);
            own_.log_.write(warning ? net::LogLevel::warn : net::LogLevel::info, event.reason,
                            {{"trainjob", job.meta.key()}, {"uid", job.meta.uid}, {"note", event.note}});
        }
    }

    Reconciler& own_;
    MeteredReads& server_;
    const api::ObjectKey key_;
    View view_;
    WrittenVersions written_ = {};
    std::optional<ReconcileMachine> machine_ = {};
};

kube::Task<ReconcileResult> Reconciler::reconcile(api::ObjectKey key, lifecycle::RetryState retry_state,
                                                  std::size_t allowed) {
    MeteredReads server(server_, allowed, now_);
    warnings_.forget_old(now_().now);
    Reconcile reconcile(*this, server, std::move(key));
    co_return co_await reconcile.run(std::move(retry_state));
}

}  // namespace controller
