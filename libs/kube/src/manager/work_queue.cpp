#include "kube/manager/work_queue.hpp"

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
    std::int64_t cost = 0;
    const api::ObjectKey* key = take_next(cost);
    full_ = !key && !ready_.empty();
    if (!key) return std::nullopt;
    Item& item = items_.at(*key);
    item.ready.reset();
    item.running = true;
    item.cost = cost;
    ++running_;
    if (cost >= expensive) expensive_running_ += cost;
    ready_.charge(key->ns, cost);
    return *key;
}

const api::ObjectKey* WorkQueue::take_next(std::int64_t& cost) {
    if (running_ >= slots_) return nullptr;
    const bool last_slots = running_ >= slots_ - slots_ / 8;
    bool expensive_waits = false;
    return ready_.pop([&](const api::ObjectKey& key, std::size_t running) {
        if (last_slots && running > 0) return false;
        cost = cost_(key);
        if (cost < expensive) return true;
        // Without this, a very expensive one would wait for ever behind cheaper ones.
        const bool fits =
            !expensive_waits && (expensive_running_ == 0 || expensive_running_ + cost <= most_of_expensive);
        expensive_waits = !fits;
        return fits;
    });
}

void WorkQueue::postpone(const api::ObjectKey& key, SteadyTime when) {
    const auto at = items_.find(key);
    if (at == items_.end() || !at->second.running) return;
    Item& item = at->second;
    ready_.charge(key.ns, -item.cost);
    stop(*at);
    item.again = false;
    schedule(*at, std::min(item.due.value_or(when), when));
    item.due.reset();
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
    // 2^9 s is longer than the longest backoff.
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
    full_ = full_ && !ready_.empty();
    items_.erase(at);
}

void WorkQueue::forgive(const api::ObjectKey& key) {
    if (const auto at = items_.find(key); at != items_.end()) at->second.failures = 0;
}

std::optional<SteadyTime> WorkQueue::next_wakeup() const {
    if (!ready_.empty() && !full_) return SteadyTime();
    if (!timers_.empty()) return timers_.begin()->first.first;
    return std::nullopt;
}

int WorkQueue::failures(const api::ObjectKey& key) const {
    const auto at = items_.find(key);
    return at == items_.end() ? 0 : at->second.failures;
}

// Sets the timer of a key to `when`, unless it is earlier already.
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
    entry.second.ready = ready_.push(entry.first);
    full_ = false;
}

void WorkQueue::want(Items::value_type& entry, SteadyTime now) {
    if (entry.second.ready) return;
    const SteadyTime from = std::max(entry.second.not_before, events_.next(entry.first));
    if (from > now)
        schedule(entry, from);
    else
        make_ready(entry);
}

void WorkQueue::stop(Items::value_type& entry) {
    Item& item = entry.second;
    item.running = false;
    --running_;
    full_ = false;
    if (item.cost >= expensive) expensive_running_ -= item.cost;
    ready_.give_back(entry.first.ns);
}

void WorkQueue::finish(Items::iterator at, SteadyTime now) {
    Item& item = at->second;
    stop(*at);
    events_.spend(at->first, item.cost, now);
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
