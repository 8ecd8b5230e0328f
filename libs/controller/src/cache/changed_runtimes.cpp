#include "controller/cache/changed_runtimes.hpp"

#include <algorithm>

namespace controller {

void ChangedRuntimes::note(const std::string& ns, std::size_t runtime) {
    Flow& flow = flows_[ns];
    const auto [walk, is_new] = flow.walks.try_emplace(runtime);
    if (is_new) flow.line.push_back(runtime);
    walk->second.again = walk->second.last != nullptr;
}

std::optional<ChangedRuntimes::Turn> ChangedRuntimes::next(kube::SteadyTime now) {
    std::erase_if(flows_, [&](const auto& flow) {
        return flow.second.line.empty() && flow.second.free_at <= now - in_a_row;
    });
    const auto flow = first();
    if (flow == flows_.end() || flow->second.free_at > now) return std::nullopt;
    const std::size_t runtime = flow->second.line.front();
    return Turn{.ns = flow->first, .runtime = runtime, .last = flow->second.walks.at(runtime).last};
}

void ChangedRuntimes::ended(const Turn& turn, std::size_t users, bool at_end, kube::SteadyTime now) {
    Flow& flow = flows_.at(turn.ns);
    flow.free_at = std::max(flow.free_at, now - in_a_row) + static_cast<std::int64_t>(users) * per_user;
    Walk& walk = flow.walks.at(turn.runtime);
    walk.last = turn.last;
    if (!at_end) return;
    flow.line.pop_front();
    if (!walk.again) {
        flow.walks.erase(turn.runtime);
        return;
    }
    walk = {};
    flow.line.push_back(turn.runtime);
}

std::optional<kube::SteadyTime> ChangedRuntimes::next_at() const {
    const auto flow = first();
    return flow == flows_.end() ? std::nullopt : std::optional(flow->second.free_at);
}

// Returns the waiting namespace with the least share.
ChangedRuntimes::Flows::const_iterator ChangedRuntimes::first() const {
    auto found = flows_.end();
    for (auto flow = flows_.begin(); flow != flows_.end(); ++flow)
        if (!flow->second.line.empty() &&
            (found == flows_.end() || flow->second.free_at < found->second.free_at))
            found = flow;
    return found;
}

}  // namespace controller
