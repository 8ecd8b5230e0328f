#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace net {

/// A token bucket: it gains permits at a steady rate, and saves up `burst` of them, at least one. It starts
/// full. Thread rule: one thread.
class TokenBucket {
public:
    using Time = std::chrono::steady_clock::time_point;

    /// `per_second` is more than 0.
    TokenBucket(double per_second, int burst);

    /// Returns when the next permit is valid: `now` or later.
    Time next(Time now) const { return next_of(full_at_, now); }
    /// Takes the next permit, also in advance. Returns when it is valid. Later calls get later ones.
    Time reserve(Time now);
    /// Takes a permit if one is valid now.
    bool take(Time now) { return next(now) <= now && reserve(now) <= now; }

private:
    friend class KeyedRate;
    Time next_of(Time full_at, Time now) const;
    Time full_after_one(Time full_at, Time now) const;

    std::chrono::steady_clock::duration period_;  // of one permit
    std::chrono::steady_clock::duration saved_;   // of all that are saved up
    Time full_at_ = {};
};

/// A token bucket for each key. It remembers only keys whose buckets are not full, `most_keys` at a time;
/// the bucket of a further key is `beyond`. For keys that are not numbers, pass a hash: so no key takes more
/// memory than another. Thread rule: one thread.
class KeyedRate {
public:
    using Time = TokenBucket::Time;
    enum class Beyond : bool { empty, full };

    KeyedRate(double per_second, int burst, std::size_t most_keys, Beyond beyond);

    /// As those of the key's bucket. Without a permit ever, the time is Time::max().
    Time next(std::uint64_t key, Time now);
    Time reserve(std::uint64_t key, Time now);
    bool take(std::uint64_t key, Time now) { return next(key, now) <= now && reserve(key, now) <= now; }
    /// Returns the number of keys that it remembers.
    std::size_t size() const { return full_at_.size(); }

private:
    bool has_room(Time now);

    TokenBucket bucket_;
    std::size_t most_keys_;
    Beyond beyond_;
    std::unordered_map<std::uint64_t, Time> full_at_ = {};  // when the key's bucket is full again
    Time looked_at_ = {};
};

}  // namespace net
