#pragma once
#include <optional>
#include <string>

#include "kube/clock.hpp"
#include "kube/request.hpp"

namespace kube {

struct LeaseTimes {
    std::chrono::seconds duration{15};        ///< others wait this long after our last sign of life
    std::chrono::seconds retry_period{2};     ///< renewals, and looks at somebody else's lease
    std::chrono::seconds renew_deadline{10};  ///< without a renewal for this long, we no longer lead
};

/// Who leads, by a coordination.k8s.io/v1 Lease in the format of client-go's leader election, so that
/// candidates of either kind respect each other. The holder's wall clock is never trusted: a lease has
/// expired when this process has seen it unchanged for its duration. A lease is no fence: a late write must
/// be harmless by itself.
///
/// Usage: send what next() says at its time, and give the answer to answered().
class LeaseMachine {
public:
    /// `identity` must differ between any two processes, also of the same host at different times.
    LeaseMachine(api::ObjectKey lease, std::string identity, LeaseTimes times = {});

    struct Step {
        SteadyTime at = {};                      ///< when to send it
        std::optional<SteadyTime> give_up = {};  ///< leader: the answer is of no use after this
    };
    /// When the next request is due.
    Step next() const;
    /// That request, made when it is sent.
    Request request(SteadyTime now, MicroTime wall);
    /// Its answer: the Lease as the server has it, or why not.
    void answered(SteadyTime now, const api::Result<api::Json>& lease);

    /// Judge this before every pass: a process that was stopped wakes up as a former leader.
    bool leading(SteadyTime now) const;
    /// For people; empty = nobody, or not known yet.
    const std::string& holder() const { return holder_; }

    /// The write that clears the holder, so that a successor need not wait; nullopt if we do not hold it. On
    /// `conflict`: read(), answered(), and ask again.
    std::optional<Request> release(MicroTime wall);
    Request read(SteadyTime now);

private:
    enum class Doing { reading, taking, renewing };

    void observe(SteadyTime now, const api::Json& lease);
    bool is_free(SteadyTime now) const;
    Request write(MicroTime wall, bool clear) const;

    api::ObjectKey key_;
    std::string identity_;
    LeaseTimes times_;
    Doing doing_ = Doing::reading;
    api::Json lease_ = {};  // as last seen; null = does not exist
    bool known_ = false;    // lease_ is worth something
    std::string holder_;
    SteadyTime changed_at_ = {};  // when the lease's spec last looked different
    SteadyTime sent_at_ = {};
    SteadyTime due_ = {};
    std::optional<SteadyTime> renewed_at_;  // we hold it since a request sent then
};

}  // namespace kube
