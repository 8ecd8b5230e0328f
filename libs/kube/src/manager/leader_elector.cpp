#include "kube/manager/leader_elector.hpp"

#include <boost/asio/experimental/awaitable_operators.hpp>

#include "watch/error_transitions.hpp"

namespace kube {

using namespace boost::asio::experimental::awaitable_operators;

LeaderElector::LeaderElector(ApiServer& server, Clock& clock, api::ObjectKey lease, std::string identity,
                             Callbacks callbacks, LeaseTimes times)
    : server_(server),
      clock_(clock),
      callbacks_(std::move(callbacks)),
      times_(times),
      identity_(identity),
      machine_(std::move(lease), std::move(identity), times),
      transitions_(std::make_unique<ErrorTransitions>(false)) {}

LeaderElector::~LeaderElector() = default;

Task<> LeaderElector::run() {
    while (true) {
        const LeaseMachine::Step step = machine_.next();
        if (step.at > clock_.now()) co_await clock_.sleep_until(step.at);
        const SteadyTime now = clock_.now();
        // A former leader that was suspended must report the loss before it sends a request.
        report();
        Request request = machine_.request(now, clock_.wall());
        const bool is_read = request.method == "GET";
        const SteadyTime patience = now + times_.renew_deadline;
        const SteadyTime give_up = leading() ? step.give_up.value_or(patience) : patience;
        const auto answer = co_await exchange(std::move(request), give_up);
        // A late response to a renewal may hide that the lease had expired for a while.
        report();
        machine_.answered(clock_.now(), answer);
        if (answer && !is_read) report_stored(*answer, now);
        // First report the leadership: a loss must stop the reconciles.
        report();
        report_error(answer, is_read);
    }
}

Task<> LeaderElector::release() {
    const SteadyTime give_up = clock_.now() + times_.renew_deadline;
    was_leading_ = false;
    // A renewal may have been cancelled in flight: only the server knows the state of the lease.
    for (int attempt = 0; attempt < 3; ++attempt) {
        Request read = machine_.read(clock_.now());
        const auto lease = co_await exchange(std::move(read), give_up);
        machine_.answered(clock_.now(), lease);
        if (!lease) co_return;
        std::optional<Request> clear = machine_.release(clock_.wall());
        if (!clear) co_return;
        const auto cleared = co_await exchange(std::move(*clear), give_up);
        if (cleared || cleared.error().code != api::Errc::conflict) co_return;
    }
}

Async<api::Json> LeaderElector::exchange(Request request, SteadyTime give_up) {
    auto outcome = co_await (fetch(server_, std::move(request)) || clock_.sleep_until(give_up));
    if (outcome.index() == 0) co_return std::move(std::get<0>(outcome));
    co_return api::Error{.code = api::Errc::unavailable,
                         .message = "the API server did not answer about the lease in time"};
}

void LeaderElector::report() {
    const bool is_leading = leading();
    if (is_leading != was_leading_) {
        was_leading_ = is_leading;
        const auto& callback = is_leading ? callbacks_.started : callbacks_.stopped;
        if (callback) callback();
    }
    if (machine_.holder() != reported_holder_) {
        reported_holder_ = machine_.holder();
        // `started` reports this process's own leadership.
        if (callbacks_.observed && reported_holder_ != identity_) callbacks_.observed(reported_holder_);
    }
}

void LeaderElector::report_stored(const api::Json& lease, SteadyTime sent) {
    if (!callbacks_.stored) return;
    // The entry of the manager that renews it. Others may have written a label at any time.
    for (const api::Json& entry : lease["metadata"]["managedFields"].items()) {
        if (!entry["fieldsV1"]["f:spec"].contains("f:renewTime")) continue;
        const auto time = api::as_time(entry["time"].as_string());
        if (time) callbacks_.stored({.date = *time, .sent = sent, .came = clock_.now()});
    }
}

void LeaderElector::report_error(const api::Result<api::Json>& answer, bool is_read) {
    // A missing lease is no error yet; failing to create it is one, for example without the namespace.
    if (is_read && !answer && answer.error().code == api::Errc::not_found) return;
    // Conflicts are normal in an election.
    const bool fine = answer || answer.error().code == api::Errc::conflict;
    const api::Error failure = fine ? api::Error() : answer.error();
    const api::Error* error = fine ? nullptr : &failure;
    if (transitions_->note(error) != ErrorTransitions::Transition::none && callbacks_.error)
        callbacks_.error(error);
}

}  // namespace kube
