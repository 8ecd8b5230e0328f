#pragma once
#include <functional>
#include <memory>

#include "kube/api_server.hpp"
#include "kube/clock.hpp"
#include "kube/lease_machine.hpp"

namespace kube {

class TroubleNews;

/// The loop around a LeaseMachine. Thread rule: everything happens on the executor of run(). Server and clock
/// must outlive it.
class LeaderElector {
public:
    struct Callbacks {
        std::function<void()> started = {};  ///< we lead from now on
        /// We lost it; stop all passes. Also told, just before `started`, when the loss is over already. Not
        /// called by release().
        std::function<void()> stopped = {};
        /// Somebody else leads, or nobody (empty).
        std::function<void(const std::string& holder)> observed = {};
        /// Why the lease cannot be read or written, once per reason; nullptr when it is over.
        std::function<void(const api::Error* trouble)> trouble = {};
    };

    LeaderElector(ApiServer& server, Clock& clock, api::ObjectKey lease, std::string identity,
                  Callbacks callbacks, LeaseTimes times = {});
    ~LeaderElector();

    /// Stands for election for good, also again after a loss. Ends by cancellation only.
    Task<> run();
    /// After run() has been cancelled and the last pass has ended: gives the lease back, so that a successor
    /// takes over at once. Best effort, within `renew_deadline`.
    Task<> release();

    /// Cheap, and judged now: ask before every write.
    bool leading() const { return machine_.leading(clock_.now()); }

private:
    Async<api::Json> exchange(Request request, SteadyTime give_up);
    void report();
    void report_trouble(const api::Result<api::Json>& answer, bool is_read);

    ApiServer& server_;
    Clock& clock_;
    Callbacks callbacks_;
    LeaseTimes times_;
    LeaseMachine machine_;
    bool was_leading_ = false;
    std::string reported_holder_;
    std::unique_ptr<TroubleNews> news_;
};

}  // namespace kube
