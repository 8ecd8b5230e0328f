#include "pass.hpp"

#include "api/names.hpp"

namespace reconciler {
namespace {

const api::Error* trouble_of(const lifecycle::Outcome& outcome) {
    if (const auto* failed = std::get_if<lifecycle::ReadFailed>(&outcome.result)) return &failed->error;
    if (const auto* failed = std::get_if<lifecycle::WriteFailed>(&outcome.result)) return &failed->error;
    if (const auto* failed = std::get_if<lifecycle::BuildFailed>(&outcome.result)) return &failed->error;
    return nullptr;
}

}  // namespace

kube::Task<PassReport> Pass::run(api::ObjectKey key, lifecycle::Episode episode) {
    Written written;
    api::Result<View> view = co_await observe_cached(server_, caches_, key);
    // A decision may ask for a live view, and a stored transition for another decision; each happens once.
    for (bool again = true; again;) {
        again = false;
        if (!view) {
            // What is in the caches is enough to conclude with; the decision itself is put off.
            View blind;
            blind.observed.job = caches_.train_job(key);
            blind.observed.job_set = caches_.job_set(key);
            blind.observed.episode = episode;
            lifecycle::Outcome outcome;
            outcome.result = lifecycle::ReadFailed{"TrainJob " + to_string(key), view.error()};
            co_return co_await conclude(blind, lifecycle::Run{.build = false}, std::move(outcome), written,
                                        again);
        }
        view->observed.episode = episode;
        if (!view->observed.job) co_return PassReport{.gone = true, .written = written};

        const lifecycle::Decision decision = lifecycle::decide(view->observed, now_());
        if (lifecycle::needs_live_view(decision) && !view->live) {
            view = co_await observe_live(server_, key);
            again = true;
            continue;
        }
        Writer writer(server_, *view, written);
        lifecycle::Outcome outcome = co_await writer.act(decision);
        PassReport report = co_await conclude(*view, decision, std::move(outcome), written, again);
        if (!again) co_return report;
        written = report.written;
    }
    co_return PassReport();
}

kube::Task<PassReport> Pass::conclude(View& view, const lifecycle::Decision& decision,
                                      lifecycle::Outcome outcome, Written written, bool& again) {
    PassReport report;
    if (!view.observed.job) {
        report.gone = true;
        co_return report;
    }
    api::TrainJob& job = *view.observed.job;
    if (const api::Error* trouble = trouble_of(outcome)) report.trouble = *trouble;

    lifecycle::Conclusion conclusion =
        lifecycle::conclude(view.observed, decision, outcome, now_(), options_);
    bool stored = true;
    std::optional<api::TrainJob> answer;
    if (conclusion.status_changed) {
        api::Json patch = lifecycle::status_patch(job, conclusion);
        const kube::Preconditions as_seen = {.uid = job.meta.uid,
                                             .resource_version = job.meta.resource_version};
        kube::Request request =
            kube::merge_patch_status(kube::resources::train_jobs, job.meta.key(), std::move(patch), as_seen);
        const auto patched = co_await kube::fetch(server_, std::move(request));
        if (patched) {
            answer = api::parse_train_job(*patched);
            written.train_job = answer->meta.resource_version;
        } else {
            stored = false;
            report.trouble = patched.error();
            conclusion = lifecycle::after_failed_status_write(std::move(conclusion), view.observed,
                                                              patched.error(), now_());
        }
    }
    tell(job, conclusion);
    again = conclusion.decide_again && stored;
    if (again && answer) job = std::move(*answer);
    report.requeue_after = conclusion.requeue_after;
    report.episode = conclusion.episode;
    report.written = std::move(written);
    co_return report;
}

void Pass::tell(const api::TrainJob& job, const lifecycle::Conclusion& conclusion) {
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

}  // namespace reconciler
