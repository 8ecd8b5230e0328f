#include "kube/manager/fair_queue.hpp"

#include <algorithm>

namespace kube {

bool FairQueue::Before::operator()(const std::pair<std::int64_t, Flows::iterator>& a,
                                   const std::pair<std::int64_t, Flows::iterator>& b) const {
    return a.first != b.first ? a.first < b.first : a.second->first < b.second->first;
}

FairQueue::Place FairQueue::push(const api::ObjectKey& key) {
    const auto [flow, is_new] = flows_.try_emplace(key.ns);
    if (is_new) order_.emplace(flow->second.share, flow);
    auto& line = flow->second.line;
    if (line.empty()) set_share(flow, std::max(flow->second.share, now_));
    ++size_;
    return {flow, line.insert(line.end(), &key)};
}

void FairQueue::erase(const Place& place) {
    place.flow->second.line.erase(place.at);
    --size_;
    forget_if_idle(place.flow);
    begin_anew_if_empty();
}

void FairQueue::charge(const std::string& ns, std::int64_t cost) {
    if (const auto flow = flows_.find(ns); flow != flows_.end()) set_share(flow, flow->second.share + cost);
}

void FairQueue::give_back(const std::string& ns) {
    const auto flow = flows_.find(ns);
    if (flow == flows_.end() || flow->second.running == 0) return;
    --flow->second.running;
    --running_;
    forget_if_idle(flow);
    begin_anew_if_empty();
}

const api::ObjectKey* FairQueue::take_first(Flows::iterator flow) {
    const api::ObjectKey* key = flow->second.line.front();
    flow->second.line.pop_front();
    --size_;
    ++flow->second.running;
    ++running_;
    now_ = std::max(now_, flow->second.share);
    return key;
}

void FairQueue::set_share(Flows::iterator flow, std::int64_t share) {
    order_.erase({flow->second.share, flow});
    flow->second.share = share;
    order_.emplace(share, flow);
}

void FairQueue::forget_if_idle(Flows::iterator flow) {
    if (!flow->second.line.empty() || flow->second.running > 0 || flow->second.share > now_) return;
    order_.erase({flow->second.share, flow});
    flows_.erase(flow);
}

// Shares only compare namespaces that have keys at the same time, so reset them.
void FairQueue::begin_anew_if_empty() {
    if (size_ > 0 || running_ > 0) return;
    order_.clear();
    flows_.clear();
    now_ = 0;
}

}  // namespace kube
