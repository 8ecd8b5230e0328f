#include "progress/status_writer.hpp"

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <string_view>
#include <utility>

#include "kube/client/request.hpp"

namespace progress {
namespace {

namespace asio = boost::asio;
using namespace asio::experimental::awaitable_operators;
using kube::SteadyTime;
using namespace std::chrono_literals;

// A write that takes longer counts as unanswered.
constexpr auto longest_request = 10s;

constexpr std::string_view managed_fields[] = {"metadata", "managedFields"};
constexpr std::string_view spec[] = {"spec"};
constexpr api::JsonPath omit[] = {managed_fields, spec};

// Outcomes for all waiting reports of the job, also later ones.
bool concerns_all(Schedule::Outcome outcome) {
    using enum Schedule::Outcome;
    return outcome == conflict || outcome == unavailable || outcome == not_found || outcome == replaced;
}

}  // namespace

struct StatusWriter::Waiter {
    Waiter(const asio::any_io_executor& executor, std::uint64_t of) : sequence(of), ended(executor) {}

    std::uint64_t sequence;
    net::Wakeup ended;
    std::optional<Result> result = {};
};

StatusWriter::StatusWriter(asio::any_io_executor executor, kube::ApiServer& server, kube::Clock& clock,
                           Schedule& schedule, Metrics& metrics, net::Log& log)
    : executor_(executor),
      server_(server),
      clock_(clock),
      schedule_(schedule),
      metrics_(metrics),
      log_(log),
      sending_(executor),
      wakeup_(executor),
      settled_(executor) {}

StatusWriter::~StatusWriter() = default;

void StatusWriter::notify() {
    if (schedule_.due() < sleeps_until_) wakeup_.notify();
}

net::Task<> StatusWriter::run() {
    for (;;) {
        while (auto write = schedule_.next(moment_of(clock_)))
            sending_.start(send(std::move(*write)), [this](const std::exception_ptr& thrown) {
                if (thrown) log_.error("sending a write failed", {{"error", net::what_of(thrown)}});
            });
        sleeps_until_ = schedule_.due();
        if (sleeps_until_ > clock_.now()) co_await (wakeup_.wait() || clock_.sleep_until(sleeps_until_));
        sleeps_until_ = SteadyTime::min();
    }
}

net::Task<> StatusWriter::send(Schedule::Write write) {
    auto stored = co_await exchange(std::move(write.request));
    const Moment now = moment_of(clock_);
    Result result;
    api::Error error;
    if (stored) {
        result.outcome = schedule_.written(write.job, write.sequence, std::move(*stored), now);
    } else {
        error = stored.error();
        result.outcome = schedule_.failed(write.job, write.sequence, error, now);
    }
    if (result.outcome == Schedule::Outcome::changed) {
        kube::Request request = kube::get(kube::resources::train_jobs, write.job);
        const auto read = co_await exchange(std::move(request));
        result.outcome = schedule_.read_again(write.job, write.sequence, read, moment_of(clock_));
    }
    metrics_.count(result.outcome);
    note(write.job, error, result.outcome);
    if (result.outcome == Schedule::Outcome::invalid) result.message = error.message;
    settle(write.job, write.sequence, std::move(result));
    wakeup_.notify();
}

net::Async<StoredStatus> StatusWriter::exchange(kube::Request request) {
    auto outcome =
        co_await (server_.send(std::move(request)) || clock_.sleep_until(clock_.now() + longest_request));
    if (outcome.index() == 1)
        co_return api::Error{.code = api::Errc::unavailable,
                             .message = "the API server did not answer in time"};
    const auto& response = std::get<0>(outcome);
    if (!response) co_return response.error();
    const auto object = api::parse_json_without(response->body, omit);
    if (!object)
        co_return api::Error{.code = api::Errc::internal,
                             .message = "the API server's answer is " + object.error().message};
    co_return stored_status(*object, response->body.size());
}

void StatusWriter::settle(const api::ObjectKey& job, std::uint64_t sequence, Result result) {
    settled_.notify();
    const auto at = waiters_.find(job);
    if (at == waiters_.end() || result.outcome == Schedule::Outcome::retried) return;
    std::erase_if(at->second, [&](const std::shared_ptr<Waiter>& waiter) {
        if (waiter->sequence > sequence && !concerns_all(result.outcome)) return false;
        waiter->result = result;
        waiter->ended.notify();
        return true;
    });
    if (at->second.empty()) waiters_.erase(at);
}

net::Task<std::optional<StatusWriter::Result>> StatusWriter::wait(api::ObjectKey job,
                                                                  std::uint64_t sequence) {
    const auto waiter = std::make_shared<Waiter>(executor_, sequence);
    waiters_[job].push_back(waiter);
    co_await (waiter->ended.wait() || clock_.sleep_until(clock_.now() + longest_wait));
    if (!waiter->result) {
        const auto at = waiters_.find(job);
        at->second.remove(waiter);
        if (at->second.empty()) waiters_.erase(at);
    }
    co_return waiter->result;
}

net::Task<std::size_t> StatusWriter::drain(double factor, std::chrono::milliseconds longest) {
    const SteadyTime deadline = clock_.now() + longest;
    schedule_.start_drain(factor, moment_of(clock_));
    wakeup_.notify();
    while (schedule_.pending() > 0 && clock_.now() < deadline)
        co_await (settled_.wait() || clock_.sleep_until(deadline));
    const std::size_t lost = schedule_.pending();
    if (lost > 0) {
        metrics_.count(Loss::shutdown, lost);
        log_.warn("reports of progress are lost: the API server did not take them in time",
                  {{"trainjobs", lost}});
    }
    co_return lost;
}

net::Task<> StatusWriter::stop() { return sending_.join(); }

void StatusWriter::note(const api::ObjectKey& job, const api::Error& error, Schedule::Outcome outcome) {
    using enum Schedule::Outcome;
    // A refusal of one TrainJob's status says nothing about others, if theirs is stored.
    const bool is_failure = outcome == unavailable || outcome == forbidden || outcome == invalid;
    const bool works = !is_failure || schedule_.fails_alone(job);
    // A change is logged once a minute at most: writes of some jobs may succeed and of others fail.
    if (works != works_logged_ && clock_.now() >= log_after_) {
        works_logged_ = works;
        log_after_ = clock_.now() + 1min;
        if (works)
            log_.info("writes of progress work again");
        else
            log_.warn("cannot write progress; trying again", {{"trainjob", job}, {"error", error}});
    }
    failed_at_ = works ? std::nullopt : std::optional(clock_.now());
    if (schedule_.leaves_out_progress_time() && !std::exchange(noted_progress_time_, true))
        log_.warn(
            "the CRD of TrainJobs lacks status.trainerStatus.lastProgressTime, it is left out from now on: "
            "install this release's CRDs and restart, otherwise no progress deadline is watched",
            {{"error", error}});
    switch (outcome) {
        case forbidden: metrics_.count(Loss::forbidden); break;
        case invalid: metrics_.count(Loss::invalid); break;
        case not_found:
        case replaced: metrics_.count(Loss::train_job_gone); break;
        default: break;
    }
    if (outcome != stored && log_.enabled(net::LogLevel::debug))
        log_.debug("a write of progress failed", {{"trainjob", job}, {"error", error}});
}

}  // namespace progress
