#include "kube/work_queue.hpp"

#include <algorithm>

namespace kube {

void WorkQueue::add(const api::ObjectKey& key, SteadyTime now) {
    auto& entry = *items_.try_emplace(key).first;
    if (entry.second.running)
        entry.second.again = true;
    else
        want(entry, now);
}

void WorkQueue::add_after(const api::ObjectKey& key, SteadyTime when) {
    auto& entry = *items_.try_emplace(key).first;
    Item& item = entry.second;
    if (item.running)
        item.due = std::min(item.due.value_or(when), when);
    else if (!item.ready)
        schedule(entry, when);
}

std::optional<api::ObjectKey> WorkQueue::next(SteadyTime now) {
    ripen(now);
    if (ready_.empty()) return std::nullopt;
    const api::ObjectKey& key = *ready_.front();
    ready_.pop_front();
    Item& item = items_.at(key);
    item.ready.reset();
    item.running = true;
    ++running_;
    return key;
}

void WorkQueue::done(const api::ObjectKey& key, SteadyTime now) {
    const auto at = items_.find(key);
    if (at == items_.end() || !at->second.running) return;
    at->second.failures = 0;
    at->second.not_before = {};
    finish(at, now);
}

std::chrono::seconds WorkQueue::failed(const api::ObjectKey& key, SteadyTime now,
                                       std::optional<std::chrono::seconds> retry_after) {
    const auto at = items_.find(key);
    if (at == items_.end() || !at->second.running) return {};
    Item& item = at->second;
    // 2^9 s is beyond the longest backoff.
    const auto backoff = std::min(max_backoff, first_backoff * (1 << std::min(item.failures, 9)));
    ++item.failures;
    const auto wait = retry_after ? std::max(*retry_after, first_backoff) : backoff;
    item.not_before = retry_after ? now + wait : SteadyTime();
    item.due = std::min(item.due.value_or(now + wait), now + wait);
    finish(at, now);
    return wait;
}

void WorkQueue::forget(const api::ObjectKey& key) {
    const auto at = items_.find(key);
    if (at == items_.end() || at->second.running || at->second.not_before != SteadyTime()) return;
    unschedule(at->second);
    if (at->second.ready) ready_.erase(*at->second.ready);
    items_.erase(at);
}

void WorkQueue::forgive(const api::ObjectKey& key) {
    if (const auto at = items_.find(key); at != items_.end()) at->second.failures = 0;
}

std::optional<SteadyTime> WorkQueue::next_wakeup() const {
    if (!ready_.empty()) return SteadyTime();
    if (!timers_.empty()) return timers_.begin()->first.first;
    return std::nullopt;
}

int WorkQueue::failures(const api::ObjectKey& key) const {
    const auto at = items_.find(key);
    return at == items_.end() ? 0 : at->second.failures;
}

// At `when` or, if it waits for something earlier already, then.
void WorkQueue::schedule(Items::value_type& entry, SteadyTime when) {
    Item& item = entry.second;
    if (item.timer && (*item.timer)->first.first <= when) return;
    unschedule(item);
    item.timer = timers_.emplace(std::pair(when, timers_made_++), &entry.first).first;
}

void WorkQueue::unschedule(Item& item) {
    if (item.timer) timers_.erase(*item.timer);
    item.timer.reset();
}

void WorkQueue::make_ready(Items::value_type& entry) {
    unschedule(entry.second);
    if (entry.second.ready) return;
    entry.second.ready = ready_.insert(ready_.end(), &entry.first);
}

void WorkQueue::want(Items::value_type& entry, SteadyTime now) {
    if (entry.second.ready) return;
    if (entry.second.not_before > now)
        schedule(entry, entry.second.not_before);
    else
        make_ready(entry);
}

void WorkQueue::finish(Items::iterator at, SteadyTime now) {
    Item& item = at->second;
    item.running = false;
    --running_;
    const bool again = std::exchange(item.again, false);
    const auto due = std::exchange(item.due, std::nullopt);
    if (again) want(*at, now);
    if (due && !item.ready) schedule(*at, *due);
    if (!again && !due) items_.erase(at);
}

void WorkQueue::ripen(SteadyTime now) {
    while (!timers_.empty() && timers_.begin()->first.first <= now)
        make_ready(*items_.find(*timers_.begin()->second));
}

}  // namespace kube
