#pragma once
#include <functional>

#include "kube/client/api_server.hpp"
#include "kube/client/clock.hpp"
#include "net/process/log.hpp"
#include "progress/availability.hpp"

namespace progress {

/// Renews the Lease of progress/availability.hpp while this replica is available. Each round reads the Lease,
/// which shows whether the API server answers. All arguments must outlive it. Thread rule: one thread.
class LeaseKeeper {
public:
    struct State {
        bool available = false;     ///< reports are accepted, and can be stored
        bool reports_wait = false;  ///< for longer than `longest_available_wait`
    };

    /// `lease` without a namespace: there is none, and the API server's version is read.
    LeaseKeeper(kube::ApiServer& server, kube::Clock& clock, net::Log& log, api::ObjectKey lease,
                std::function<State()> state);

    /// Ends only by cancellation.
    net::Task<> run();

private:
    net::Async<> renew();

    kube::ApiServer& server_;
    kube::Clock& clock_;
    net::Log& log_;
    api::ObjectKey lease_;
    std::function<State()> state_;
};

}  // namespace progress
