#include "leadership.hpp"

namespace model {

void Leadership::granted(int reconciler, kube::SteadyTime sent) {
    granted_[reconciler] = sent;
    holder_ = reconciler;
}

std::string Leadership::fault_of(int reconciler, bool writes, kube::SteadyTime now) const {
    const auto at = granted_.find(reconciler);
    if (at == granted_.end()) return "a replica that never had the lease reconciled";
    // A running reconcile may continue to read.
    if (!writes) return "";
    if (now >= at->second + kube::LeaseTimes().renew_deadline)
        return "a write was sent after the lease had lapsed";
    if (holder_ != reconciler && !deleted_) return "a write was sent while another replica had the lease";
    return "";
}

}  // namespace model
