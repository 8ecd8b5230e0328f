#pragma once
#include <functional>
#include <memory>

#include "kube/client/api_server.hpp"
#include "kube/client/server_clock.hpp"
#include "kube/manager/lease_machine.hpp"

namespace kube {

class ErrorTransitions;

/// Runs a LeaseMachine. Server and clock must outlive it. Thread rule: the executor of run().
class LeaderElector {
public:
    struct Callbacks {
        std::function<void()> started = {};  ///< this process leads from now on
        /// This process no longer leads: stop all reconciles. Also called just before `started` if the
        /// process leads again already. release() does not call it.
        std::function<void()> stopped = {};
        /// Another process holds the lease from now on; empty if none does.
        std::function<void(const std::string& holder)> observed = {};
        /// Called with the error when the lease cannot be read or written, once per reason; with nullptr when
        /// it can again.
        std::function<void(const api::Error* error)> error = {};
        /// Called with the time at which the API server says to have stored a write of the lease
        /// (`managedFields`): a proxy may replace the `Date` of an answer, but not that.
        std::function<void(const DatedAnswer& answer)> stored = {};
    };

    LeaderElector(ApiServer& server, Clock& clock, api::ObjectKey lease, std::string identity,
                  Callbacks callbacks, LeaseTimes times = {});
    ~LeaderElector();

    /// Tries to hold the lease, again after each loss. Ends only by cancellation.
    Task<> run();
    /// Releases the lease, so that another process takes over at once. Call it after run() was cancelled and
    /// the last reconcile has ended. Best effort, within `renew_deadline`.
    Task<> release();

    /// Returns whether this process leads now. Cheap: call it before every write.
    bool leading() const { return machine_.leading(clock_.now()); }

private:
    Async<api::Json> exchange(Request request, SteadyTime give_up);
    void report();
    void report_stored(const api::Json& lease, SteadyTime sent);
    void report_error(const api::Result<api::Json>& answer, bool is_read);

    ApiServer& server_;
    Clock& clock_;
    Callbacks callbacks_;
    LeaseTimes times_;
    const std::string identity_;
    LeaseMachine machine_;
    bool was_leading_ = false;
    std::string reported_holder_;
    std::unique_ptr<ErrorTransitions> transitions_;
};

}  // namespace kube
