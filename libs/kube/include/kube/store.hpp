#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kube/resource_version.hpp"
#include "kube/stored_object.hpp"
#include "kube/watch_machine.hpp"

namespace kube {

/// What one reflector has seen: bytes, not trees, and for each object the `Facts` that the application looks
/// up without parsing. Thread rule: one thread.
template <class Facts>
class Store : public Sink {
public:
    struct Entry {
        StoredObject object = {};
        Facts facts = {};

    private:
        friend Store;
        std::uint32_t listing_ = 0;  // the last list that named it
    };

    /// Reads the facts. May cut the object down to what is worth keeping; null keeps no bytes. nullopt: this
    /// object is none of ours.
    using Digest = std::function<std::optional<Facts>(api::Json& object)>;
    /// What changed: before is nullptr for a new object, after for one that is gone. Both are set with
    /// different uids when it was replaced unseen. Pointers are valid during the call only. Must not call the
    /// store's Sink functions.
    using OnChange = std::function<void(const api::ObjectKey& key, const Entry* before, const Entry* after)>;

    Store(Digest digest, OnChange on_change) : digest_(std::move(digest)), on_change_(std::move(on_change)) {}

    /// nullptr if there is none; valid until the next change of that object.
    const Entry* find(const api::ObjectKey& key) const {
        const auto at = entries_.find(key);
        return at == entries_.end() ? nullptr : &at->second;
    }
    template <class Function>
    void for_each(Function function) const {
        for (const auto& [key, entry] : entries_) function(key, entry);
    }
    std::size_t size() const { return entries_.size(); }
    /// Has had one complete list: only then its contents are the truth.
    bool is_synced() const { return synced_; }
    /// How many complete lists it has had; a later one supersedes what a write waited for.
    std::uint32_t lists() const { return lists_; }
    /// Whether everything up to this resource version, such as our own write, is in here.
    bool has_seen(std::string_view resource_version) const {
        const auto order = compare_versions(seen_, resource_version);
        return order == VersionOrder::same || order == VersionOrder::newer;
    }

    void listing() override {
        ++listing_;
        in_list_ = true;
    }

    void upsert(const api::ObjectKey& key, const std::string& resource_version, api::Json object) override {
        const auto at = entries_.find(key);
        const std::string_view uid = std::as_const(object)["metadata"]["uid"].as_string();
        if (at != entries_.end() && at->second.object.uid() == uid) {
            at->second.listing_ = listing_;
            // Within a list, an older version is the truth as well: the server came back from a backup.
            const auto order = compare_versions(resource_version, at->second.object.resource_version());
            if (order == VersionOrder::same || (order == VersionOrder::older && !in_list_)) return;
        }
        if (!in_list_) note(resource_version);
        put(key, at, std::string(uid), resource_version, std::move(object));
    }

    void removed(const api::ObjectKey& key, const std::string& resource_version) override {
        if (!in_list_) note(resource_version);
        const auto at = entries_.find(key);
        if (at != entries_.end()) drop(at);
    }

    void synced(const std::string& resource_version) override {
        in_list_ = false;
        synced_ = true;
        ++lists_;
        seen_ = resource_version;
        std::vector<api::ObjectKey> gone;
        for (const auto& [key, entry] : entries_)
            if (entry.listing_ != listing_) gone.push_back(key);
        for (const auto& key : gone) drop(entries_.find(key));
    }

    void progressed(const std::string& resource_version) override { note(resource_version); }

private:
    using Entries = std::unordered_map<api::ObjectKey, Entry>;

    void put(const api::ObjectKey& key, typename Entries::iterator at, std::string uid,
             const std::string& resource_version, api::Json object) {
        if (api::Json* metadata = object.find("metadata")) metadata->erase("managedFields");
        std::optional<Facts> facts = digest_(object);
        if (!facts) {
            if (at != entries_.end()) drop(at);
            return;
        }
        Entry entry;
        const std::string bytes = object.is_null() ? std::string() : api::to_json(object);
        entry.object = StoredObject(uid, resource_version, bytes);
        entry.facts = std::move(*facts);
        entry.listing_ = listing_;
        if (at == entries_.end()) {
            at = entries_.emplace(key, std::move(entry)).first;
            on_change_(key, nullptr, &at->second);
        } else {
            std::swap(at->second, entry);
            on_change_(key, &entry, &at->second);
        }
    }

    void drop(typename Entries::iterator at) {
        const auto node = entries_.extract(at);
        on_change_(node.key(), &node.mapped(), nullptr);
    }

    void note(const std::string& resource_version) {
        if (compare_versions(resource_version, seen_) != VersionOrder::older) seen_ = resource_version;
    }

    Digest digest_;
    OnChange on_change_;
    Entries entries_;
    std::string seen_;
    std::uint32_t listing_ = 0;
    std::uint32_t lists_ = 0;
    bool in_list_ = false;
    bool synced_ = false;
};

}  // namespace kube
