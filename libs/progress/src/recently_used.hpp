#pragma once
#include <cstddef>
#include <list>
#include <unordered_map>
#include <utility>

namespace progress {

/// A table of at most `most` entries: a new one replaces the least recently used one.
template <class Key, class Value, class Hash>
class RecentlyUsed {
public:
    explicit RecentlyUsed(std::size_t most) : most_(most) {}

    /// Returns the value; counts as a use. Valid until the next put() or erase().
    Value* find(const Key& key) {
        const auto at = places_.find(key);
        if (at == places_.end()) return nullptr;
        entries_.splice(entries_.end(), entries_, at->second);
        return &at->second->second;
    }
    Value& put(const Key& key, Value value) {
        if (Value* found = find(key)) return *found = std::move(value);
        if (places_.size() >= most_) erase(Key(entries_.front().first));
        entries_.emplace_back(key, std::move(value));
        places_.emplace(key, std::prev(entries_.end()));
        return entries_.back().second;
    }
    void erase(const Key& key) {
        const auto at = places_.find(key);
        if (at == places_.end()) return;
        entries_.erase(at->second);
        places_.erase(at);
    }
    /// Returns the least recently used key and value; nullptr if the table is empty.
    const std::pair<const Key, Value>* oldest() const {
        return entries_.empty() ? nullptr : &entries_.front();
    }
    std::size_t size() const { return places_.size(); }

private:
    using Entries = std::list<std::pair<const Key, Value>>;

    std::size_t most_;
    Entries entries_ = {};  // the least recently used one first
    std::unordered_map<Key, typename Entries::iterator, Hash> places_ = {};
};

}  // namespace progress
