#include "net/process/keyed_rate.hpp"

#include <algorithm>

namespace net {
namespace {

using Duration = std::chrono::steady_clock::duration;

// Neither one permit nor all that are saved up take longer: their sum with a time must not overflow.
constexpr Duration longest = std::chrono::hours(24 * 365);
// The pause between two walks over all keys, so that a flood of them does not cost a walk each.
constexpr std::chrono::seconds between_looks{1};

Duration period_of(double per_second) {
    const std::chrono::duration<double> period(1 / per_second);
    return period < longest ? std::max(std::chrono::ceil<Duration>(period), Duration(1)) : longest;
}

}  // namespace

TokenBucket::TokenBucket(double per_second, int burst)
    : period_(period_of(per_second)),
      saved_(period_ * std::clamp<Duration::rep>(burst, 1, longest / period_)) {}

TokenBucket::Time TokenBucket::reserve(Time now) {
    const Time when = next(now);
    full_at_ = full_after_one(full_at_, now);
    return when;
}

TokenBucket::Time TokenBucket::next_of(Time full_at, Time now) const {
    return std::max(now, full_at - saved_ + period_);
}

TokenBucket::Time TokenBucket::full_after_one(Time full_at, Time now) const {
    return std::max(full_at, now) + period_;
}

KeyedRate::KeyedRate(double per_second, int burst, std::size_t most_keys, Beyond beyond)
    : bucket_(per_second, burst), most_keys_(most_keys), beyond_(beyond) {}

KeyedRate::Time KeyedRate::next(std::uint64_t key, Time now) {
    if (const auto at = full_at_.find(key); at != full_at_.end()) return bucket_.next_of(at->second, now);
    return beyond_ == Beyond::full || has_room(now) ? now : Time::max();
}

KeyedRate::Time KeyedRate::reserve(std::uint64_t key, Time now) {
    const Time when = next(key, now);
    if (!full_at_.contains(key) && !has_room(now)) return when;
    Time& full_at = full_at_[key];
    full_at = bucket_.full_after_one(full_at, now);
    return when;
}

bool KeyedRate::has_room(Time now) {
    if (full_at_.size() >= most_keys_ && now >= looked_at_ + between_looks) {
        looked_at_ = now;
        std::erase_if(full_at_, [now](const auto& key) { return key.second <= now; });
    }
    return full_at_.size() < most_keys_;
}

}  // namespace net
