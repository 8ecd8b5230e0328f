#include "progress/lease_keeper.hpp"

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <utility>

namespace progress {
namespace {

using namespace std::chrono_literals;

// Of a read and a write together.
constexpr auto longest_round = 5s;

}  // namespace

LeaseKeeper::LeaseKeeper(kube::ApiServer& server, kube::Clock& clock, net::Log& log, api::ObjectKey lease,
                         std::function<State()> state)
    : server_(server), clock_(clock), log_(log), lease_(std::move(lease)), state_(std::move(state)) {}

net::Task<> LeaseKeeper::run() {
    using namespace boost::asio::experimental::awaitable_operators;
    for (;;) {
        const auto began = clock_.now();
        const auto renewed = co_await (renew() || clock_.sleep_until(began + longest_round));
        (void)renewed;
        co_await clock_.sleep_until(began + availability_renewed_every);
    }
}

net::Async<> LeaseKeeper::renew() {
    kube::Request read =
        lease_.ns.empty() ? kube::Request{.target = "/version"} : kube::get(kube::resources::leases, lease_);
    const auto found = co_await kube::fetch(server_, std::move(read));
    const bool missing = !found && found.error().code == api::Errc::not_found;
    const State state = state_();
    if ((!found && !missing) || lease_.ns.empty() || !state.available) co_return api::Result<>();
    auto write = renewal(lease_, missing ? api::Json() : *found, state.reports_wait, clock_.wall());
    if (!write) co_return api::Result<>();
    const auto written = co_await server_.send(std::move(*write));
    // Another replica may have written it first.
    if (!written && log_.enabled(net::LogLevel::debug))
        log_.debug("the Lease was not renewed", {{"error", written.error()}});
    co_return api::Result<>();
}

}  // namespace progress
