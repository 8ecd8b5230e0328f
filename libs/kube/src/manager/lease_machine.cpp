#include "kube/manager/lease_machine.hpp"

#include <algorithm>
#include <utility>

namespace kube {
namespace {

// Delay after a lost race for the lease. It is short, since the other write may have been a harmless edit.
constexpr std::chrono::milliseconds after_conflict{200};
// Limit of the server's Retry-After for a standby: it must take over in time, and it sends few requests.
constexpr std::chrono::seconds longest_absence{5};

}  // namespace

LeaseMachine::LeaseMachine(api::ObjectKey lease, std::string identity, LeaseTimes times)
    : key_(std::move(lease)), identity_(std::move(identity)), times_(times) {}

LeaseMachine::Step LeaseMachine::next() const {
    Step step = {.at = due_};
    if (renewed_at_) step.give_up = *renewed_at_ + times_.renew_deadline;
    return step;
}

Request LeaseMachine::request(SteadyTime now, MicroTime wall) {
    if (renewed_at_ && !leading(now)) {
        // The process may have been suspended during a change of leaders.
        renewed_at_.reset();
        known_ = false;
    }
    if (!known_ || (!renewed_at_ && !is_free(now))) return read(now);
    sent_at_ = now;
    // If the lease was deleted while this process held it, the write is a create. That also fails if the
    // namespace is gone.
    phase_ = renewed_at_ && !lease_.is_null() ? Phase::renewing : Phase::taking;
    return write(wall, false);
}

Request LeaseMachine::read(SteadyTime now) {
    sent_at_ = now;
    phase_ = Phase::reading;
    return get(resources::leases, key_);
}

void LeaseMachine::answered(SteadyTime now, const api::Result<api::Json>& lease) {
    due_ = std::max(now, sent_at_ + times_.retry_period);
    if (lease) {
        observe(now, *lease);
        // Counted from the time of the request: other processes cannot have seen the renewal before.
        if (phase_ != Phase::reading && holder_ == identity_) renewed_at_ = sent_at_;
        if (holder_ != identity_) renewed_at_.reset();
        if (phase_ == Phase::reading && (renewed_at_ || is_free(now))) due_ = now;
        return;
    }
    const api::Error& error = lease.error();
    if (error.code == api::Errc::not_found && phase_ == Phase::taking) {
        known_ = false;  // deleted in the meantime, or the namespace does not exist
    } else if (error.code == api::Errc::not_found) {
        // For a renewal: the lease was deleted. The process that creates it first leads.
        lease_ = api::Json();
        known_ = true;
        holder_.clear();
        due_ = now;
    } else if (error.code == api::Errc::conflict) {
        known_ = false;
        due_ = now + after_conflict;
    } else if (!renewed_at_ && error.retry_after) {
        due_ = std::max(due_, now + std::min(*error.retry_after, longest_absence));
    }
}

bool LeaseMachine::leading(SteadyTime now) const {
    return renewed_at_ && now < *renewed_at_ + times_.renew_deadline;
}

std::optional<Request> LeaseMachine::release(MicroTime wall) {
    renewed_at_.reset();
    if (!known_ || holder_ != identity_) return std::nullopt;
    return write(wall, true);
}

void LeaseMachine::observe(SteadyTime now, const api::Json& lease) {
    const api::Json& spec = lease["spec"];
    if (std::as_const(lease_)["spec"] != spec) changed_at_ = now;
    known_ = true;
    holder_ = spec["holderIdentity"].as_string();
    lease_ = lease;
}

// Returns whether this process may write its identity, according to the last read.
bool LeaseMachine::is_free(SteadyTime now) const {
    if (holder_.empty() || holder_ == identity_) return true;
    // The holder's own duration, as in client-go: another version may be configured differently.
    const std::int64_t seconds = lease_["spec"]["leaseDurationSeconds"].int_or(0);
    const auto duration = seconds > 0 && seconds < 86'400 ? std::chrono::seconds(seconds) : times_.duration;
    return now >= changed_at_ + duration;
}

// Returns a POST or a PUT with this identity, or with none. A PUT carries the resourceVersion of the last
// read.
Request LeaseMachine::write(MicroTime wall, bool clear) const {
    api::Json lease = lease_;
    const bool exists = !lease.is_null();
    if (!exists) {
        lease = api::Json::object(
            {{"apiVersion", "coordination.k8s.io/v1"},
             {"kind", "Lease"},
             {"metadata", api::Json::object({{"name", key_.name}, {"namespace", key_.ns}})}});
    }
    lease["metadata"].erase("managedFields");
    api::Json& spec = lease["spec"];
    const std::string time = format_micro_time(wall);
    if (holder_ != identity_ || clear) spec["acquireTime"] = time;
    if (holder_ != identity_)
        spec["leaseTransitions"] = exists ? std::as_const(spec)["leaseTransitions"].int_or(0) + 1 : 0;
    spec["renewTime"] = time;
    // 0 is invalid; client-go writes 1 as well.
    spec["leaseDurationSeconds"] = clear ? 1 : times_.duration.count();
    if (clear)
        spec.erase("holderIdentity");
    else
        spec["holderIdentity"] = identity_;
    return exists ? replace(resources::leases, lease) : create(resources::leases, lease);
}

}  // namespace kube
