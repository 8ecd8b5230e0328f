#pragma once
#include <optional>
#include <string>

#include "kube/client/clock.hpp"
#include "kube/client/request.hpp"

namespace kube {

struct LeaseTimes {
    std::chrono::seconds duration{15};        ///< other processes wait this long after the last renewal
    std::chrono::seconds retry_period{2};     ///< between renewals, or reads of the lease of another process
    std::chrono::seconds renew_deadline{10};  ///< without a renewal for this long a process no longer leads
};

/// Leader election with a coordination.k8s.io/v1 Lease in the format of client-go, so that candidates of both
/// kinds respect each other. It never trusts the holder's wall clock: a lease has expired if this process has
/// seen it unchanged for its duration. A lease does not fence off writes: a late write must be harmless by
/// itself.
///
/// Usage: send request() at the time that next() returns, and pass the response to answered().
class LeaseMachine {
public:
    /// `identity` must be unique among all processes, also of one host at different times.
    LeaseMachine(api::ObjectKey lease, std::string identity, LeaseTimes times = {});

    struct Step {
        SteadyTime at = {};                      ///< when to send the request
        std::optional<SteadyTime> give_up = {};  ///< if this process leads: when to cancel the request
    };
    /// Returns when the next request is due.
    Step next() const;
    /// Returns the next request. Call it when the request is sent.
    Request request(SteadyTime now, MicroTime wall);
    /// Takes the response: the Lease that the server has stored, or the error.
    void answered(SteadyTime now, const api::Result<api::Json>& lease);

    /// Returns whether this process leads. Call it before every reconcile: a process that was suspended may
    /// have lost the lease.
    bool leading(SteadyTime now) const;
    /// The holder's identity, for log lines; empty if there is none or it is not known yet.
    const std::string& holder() const { return holder_; }

    /// Returns the write that clears the holder, so that another process need not wait; nullopt if this
    /// process does not hold the lease. On `conflict`: send read(), call answered(), and call it again.
    std::optional<Request> release(MicroTime wall);
    Request read(SteadyTime now);

private:
    enum class Phase { reading, taking, renewing };

    void observe(SteadyTime now, const api::Json& lease);
    bool is_free(SteadyTime now) const;
    Request write(MicroTime wall, bool clear) const;

    api::ObjectKey key_;
    std::string identity_;
    LeaseTimes times_;
    Phase phase_ = Phase::reading;
    api::Json lease_ = {};  // as last seen; null: does not exist
    bool known_ = false;    // `lease_` is up to date
    std::string holder_;
    SteadyTime changed_at_ = {};  // when the spec of the lease last changed
    SteadyTime sent_at_ = {};
    SteadyTime due_ = {};
    std::optional<SteadyTime> renewed_at_;  // when the request was sent by which this process holds the lease
};

}  // namespace kube
