#include "kube/manager/event_limit.hpp"

#include <algorithm>

namespace kube {

void EventLimit::spend(const api::ObjectKey& key, std::int64_t cost, SteadyTime now) {
    SteadyTime& empty_at = empty_at_[key];
    empty_at = std::max(empty_at, now) + std::max(usual, cost * per_cost);
    if (empty_at_.size() >= clean_at_) forget_old(now);
}

void EventLimit::forget_old(SteadyTime now) {
    std::erase_if(empty_at_, [now](const auto& each) { return each.second <= now; });
    if (empty_at_.empty()) empty_at_ = {};  // its table as well
    clean_at_ = std::max(few, 2 * empty_at_.size());
}

SteadyTime EventLimit::next(const api::ObjectKey& key) const {
    const auto at = empty_at_.find(key);
    return at == empty_at_.end() ? SteadyTime() : at->second - in_a_row;
}

}  // namespace kube
