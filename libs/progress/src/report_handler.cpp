#include "progress/report_handler.hpp"

#include <utility>

#include "progress/report.hpp"
#include "progress/token.hpp"
#include "progress/wire.hpp"

namespace progress {

using kube::SteadyTime;

ReportHandler::ReportHandler(PodAuthenticator& authenticator, Schedule& schedule, StatusWriter& writer,
                             kube::Clock& clock, Metrics& metrics, net::Log& log, kube::Namespaces namespaces)
    : authenticator_(authenticator),
      schedule_(schedule),
      writer_(writer),
      clock_(clock),
      metrics_(metrics),
      refusals_(log),
      namespaces_(std::move(namespaces)) {}

net::Answer ReportHandler::answer(net::HttpRequest& request) {
    const SteadyTime came = clock_.now();
    auto train_job = request.method == "POST" ? train_job_of(request.target) : std::nullopt;
    if (!train_job) return finish(request, {}, {}, refused(Outcome::not_found), came);
    const std::string_view token = bearer_token(net::header(request.headers, "Authorization"));
    if (token.empty() || token.size() > max_token_bytes || !namespaces_.contains(train_job->ns))
        return finish(request, *train_job, {}, refused(Outcome::forbidden), came);
    const net::Digest digest = PodAuthenticator::digest_of(token, *train_job);
    if (const auto sender = authenticator_.from_cache(*train_job, digest)) {
        Taken taken = take(*train_job, *sender, request.body);
        if (auto* verdict = std::get_if<Verdict>(&taken))
            return finish(request, *train_job, sender->pod.name, std::move(*verdict), came);
        return wait_and_finish(request, std::move(*train_job), sender->pod.name,
                               std::move(std::get<Waiting>(taken)), came);
    }
    const auto wall = std::chrono::floor<std::chrono::seconds>(clock_.wall());
    auto claims = read_claims(token, *train_job, wall);
    if (!claims) return finish(request, *train_job, {}, refused(Outcome::forbidden), came);
    return ask_and_take(request,
                        {.train_job = std::move(*train_job),
                         .token = std::string(token),
                         .digest = digest,
                         .claims = std::move(*claims),
                         .address = request.peer},
                        came);
}

net::Task<net::HttpResponse> ReportHandler::ask_and_take(net::HttpRequest& request,
                                                         PodAuthenticator::TokenReviewCall call,
                                                         SteadyTime came) {
    const api::ObjectKey train_job = call.train_job;
    const Sender sender = co_await authenticator_.ask(std::move(call));
    Taken taken = take(train_job, sender, request.body);
    if (auto* verdict = std::get_if<Verdict>(&taken))
        co_return finish(request, train_job, sender.pod.name, std::move(*verdict), came);
    Waiting waiting = std::move(std::get<Waiting>(taken));
    Verdict verdict = co_await wait_for_write(train_job, std::move(waiting));
    co_return finish(request, train_job, sender.pod.name, std::move(verdict), came);
}

ReportHandler::Verdict ReportHandler::refused(Outcome outcome) {
    return {.outcome = outcome, .response = refusal(outcome)};
}

// The checks of the sender and of the body, in the order in which clients get errors.
ReportHandler::Taken ReportHandler::take(const api::ObjectKey& train_job, const Sender& sender,
                                         std::string_view body) {
    switch (sender.result) {
        case AuthResult::unknown: return refused(Outcome::failed);
        case AuthResult::limited: return refused(Outcome::limited);
        case AuthResult::forbidden: return refused(Outcome::forbidden);
        case AuthResult::no_train_job:
        case AuthResult::pod: break;
    }
    auto read = decode_report(body);
    if (!read) return refused(Outcome::unreadable);
    if (!*read) return Verdict{.outcome = Outcome::empty, .response = acceptance(*read)};
    if (sender.result == AuthResult::no_train_job) return refused(Outcome::no_train_job);
    const auto errors = report_errors(**read);
    if (!errors.empty())
        return Verdict{.outcome = Outcome::invalid, .response = invalid_report(train_job.name, errors)};

    PodEntry* const pod = authenticator_.pod(sender.pod.uid);
    // Removed in the meantime: the next report reads it again.
    if (!pod || !schedule_.knows(train_job)) return refused(Outcome::failed);
    net::HttpResponse accepted = acceptance(*read);
    const Report shown = {.percentage = (*read)->percentage, .remaining_seconds = (*read)->remaining_seconds};
    Schedule::Arrival arrival = {
        .report = std::move(**read), .pod_created = pod->created, .is_first_of_pod = !pod->has_reported};
    const auto submitted = schedule_.submit(train_job, std::move(arrival), moment_of(clock_));
    if (submitted.reply == Schedule::Reply::no_room) {
        metrics_.count(Limit::memory);
        return refused(Outcome::limited);
    }
    pod->has_reported = true;
    if (submitted.reply != Schedule::Reply::late)
        metrics_.of_jobs().record(train_job, shown, moment_of(clock_));
    writer_.notify();
    switch (submitted.reply) {
        case Schedule::Reply::wait:
            return Waiting{.sequence = submitted.sequence, .acceptance = std::move(accepted)};
        case Schedule::Reply::failing: return refused(Outcome::failed);
        case Schedule::Reply::late: return Verdict{.outcome = Outcome::late, .response = std::move(accepted)};
        default: return Verdict{.outcome = Outcome::accepted, .response = std::move(accepted)};
    }
}

net::Task<ReportHandler::Verdict> ReportHandler::wait_for_write(api::ObjectKey train_job, Waiting waiting) {
    const auto result = co_await writer_.wait(train_job, waiting.sequence);
    Verdict accepted = {.outcome = Outcome::accepted, .response = std::move(waiting.acceptance)};
    if (!result) {
        // It waits. A write that was sent and has no answer yet may never be stored, nor a write after a
        // failure.
        if (schedule_.is_sent(train_job, waiting.sequence) || schedule_.is_failing(train_job))
            co_return refused(Outcome::failed);
        co_return accepted;
    }
    switch (result->outcome) {
        case Schedule::Outcome::stored:
        case Schedule::Outcome::late: co_return accepted;
        case Schedule::Outcome::not_found: co_return refused(Outcome::no_train_job);
        case Schedule::Outcome::replaced: co_return refused(Outcome::forbidden);
        case Schedule::Outcome::invalid:
            accepted.outcome = Outcome::invalid;
            accepted.response = invalid_report(result->message);
            co_return accepted;
        default: co_return refused(Outcome::failed);
    }
}

net::Task<net::HttpResponse> ReportHandler::wait_and_finish(net::HttpRequest& request,
                                                            api::ObjectKey train_job, std::string pod,
                                                            Waiting waiting, SteadyTime came) {
    Verdict verdict = co_await wait_for_write(train_job, std::move(waiting));
    co_return finish(request, train_job, pod, std::move(verdict), came);
}

net::HttpResponse ReportHandler::finish(const net::HttpRequest& request, const api::ObjectKey& train_job,
                                        const std::string& pod, Verdict verdict, SteadyTime came) {
    const SteadyTime now = clock_.now();
    metrics_.count(verdict.outcome, now - came);
    const bool is_noted = verdict.response.status != 200 && verdict.outcome != Outcome::not_found;
    if (is_noted) refusals_.note(train_job, verdict.outcome, pod, request.peer, now);
    return std::move(verdict.response);
}

}  // namespace progress
