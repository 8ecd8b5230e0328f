#pragma once
#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kube/namespaces.hpp"
#include "kube/resource_version.hpp"
#include "kube/stored_object.hpp"
#include "kube/watch_machine.hpp"

namespace kube {

/// A section of a collection, as Scope::ns and Namespaces name it, and where what a watch brings of it goes.
struct Section {
    std::string ns;
    Sink& sink;
};

/// What reflectors have seen of one kind, one reflector for each section: bytes, not trees, and for each
/// object the `Facts` that the application looks up without parsing. Sections have nothing to do with each
/// other: a list of one says nothing about what is in another. Thread rule: one thread.
template <class Facts>
class Store {
    class Part;

public:
    struct Entry {
        StoredObject object = {};
        Facts facts = {};
        std::uint32_t size = 0;  ///< bytes of the object's text as the API server sent it

    private:
        friend Part;
        std::uint32_t listing_ = 0;  // the last list that named it
    };

    /// Reads the facts. May cut the object down to what is worth keeping; null keeps no bytes. nullopt: this
    /// object is none of ours.
    using Digest = std::function<std::optional<Facts>(api::Json& object)>;
    /// What changed: before is nullptr for a new object, after for one that is gone. Both are set with
    /// different uids when it was replaced unseen. Pointers are valid during the call only, the key until the
    /// call that tells of its object's end returns. Must not call the sections' sinks.
    using OnChange = std::function<void(const api::ObjectKey& key, const Entry* before, const Entry* after)>;
    /// A list of that section is complete, and all that it changed has been told. A list tells nothing of
    /// what was absent before and is absent now.
    using OnList = std::function<void(const std::string& section)>;

    Store(
        Digest digest, OnChange on_change, const Namespaces& namespaces = {},
        OnList on_list = [](const std::string&) {})
        : digest_(std::move(digest)), on_change_(std::move(on_change)), on_list_(std::move(on_list)) {
        for (const std::string& section : namespaces.sections()) parts_.emplace_back(*this, section);
    }
    Store(const Store&) = delete;
    Store& operator=(const Store&) = delete;

    /// What to watch, and for whom; as long-lived as the store.
    std::vector<Section> sections() {
        std::vector<Section> all;
        for (Part& part : parts_) all.push_back({part.section, part});
        return all;
    }

    /// nullptr if there is none; valid until the next change of that object.
    const Entry* find(const api::ObjectKey& key) const {
        const Part* part = part_of(key.ns);
        return part ? part->find(key) : nullptr;
    }
    template <class Function>
    void for_each(Function function) const {
        for (const Part& part : parts_) part.for_each(function);
    }
    template <class Function>
    void for_each_in(std::string_view section, Function function) const {
        for (const Part& part : parts_)
            if (part.section == section) part.for_each(function);
    }
    std::size_t size() const {
        std::size_t sum = 0;
        for (const Part& part : parts_) sum += part.entries.size();
        return sum;
    }
    /// What is in that namespace has had one complete list: only then it is the truth.
    bool is_synced(std::string_view ns) const { return lists(ns) > 0; }
    /// How many complete lists it has had; a later one supersedes what a write waited for.
    std::uint32_t lists(std::string_view ns) const {
        const Part* part = part_of(ns);
        return part ? part->lists : 0;
    }
    /// Whether everything in that namespace up to this resource version, such as our own write, is in here.
    bool has_seen(std::string_view ns, std::string_view resource_version) const {
        const Part* part = part_of(ns);
        const auto order = part ? compare_versions(part->seen, resource_version) : VersionOrder::unknown;
        return order == VersionOrder::same || order == VersionOrder::newer;
    }

private:
    const Part* part_of(std::string_view ns) const {
        for (const Part& part : parts_)
            if (covers(part.section, ns)) return &part;
        return nullptr;
    }

    Digest digest_;
    OnChange on_change_;
    OnList on_list_;
    std::deque<Part> parts_;  // they stay where they are
};

/// One section.
template <class Facts>
class Store<Facts>::Part final : public Sink {
public:
    Part(const Store& the_store, std::string the_section)
        : section(std::move(the_section)), store_(the_store) {}

    const std::string section;
    std::unordered_map<api::ObjectKey, Entry> entries = {};
    std::string seen = {};
    std::uint32_t lists = 0;

    const Entry* find(const api::ObjectKey& key) const {
        const auto at = entries.find(key);
        return at == entries.end() ? nullptr : &at->second;
    }
    template <class Function>
    void for_each(Function& function) const {
        for (const auto& [key, entry] : entries) function(key, entry);
    }

    void listing() override {
        ++listing_;
        in_list_ = true;
    }

    void upsert(const api::ObjectKey& key, const std::string& resource_version, api::Json object,
                std::size_t size) override {
        const auto at = entries.find(key);
        const std::string_view uid = std::as_const(object)["metadata"]["uid"].as_string();
        if (at != entries.end() && at->second.object.uid() == uid) {
            at->second.listing_ = listing_;
            // Within a list, an older version is the truth as well: the server came back from a backup.
            const auto order = compare_versions(resource_version, at->second.object.resource_version());
            if (order == VersionOrder::same || (order == VersionOrder::older && !in_list_)) return;
        }
        if (!in_list_) note(resource_version);
        put(key, at, std::string(uid), resource_version, std::move(object), size);
    }

    void removed(const api::ObjectKey& key, const std::string& resource_version) override {
        if (!in_list_) note(resource_version);
        const auto at = entries.find(key);
        if (at != entries.end()) drop(at);
    }

    void synced(const std::string& resource_version) override {
        in_list_ = false;
        ++lists;
        seen = resource_version;
        std::vector<api::ObjectKey> gone;
        for (const auto& [key, entry] : entries)
            if (entry.listing_ != listing_) gone.push_back(key);
        for (const auto& key : gone) drop(entries.find(key));
        store_.on_list_(section);
    }

    void progressed(const std::string& resource_version) override { note(resource_version); }

private:
    using Entries = std::unordered_map<api::ObjectKey, Entry>;

    void put(const api::ObjectKey& key, typename Entries::iterator at, std::string uid,
             const std::string& resource_version, api::Json object, std::size_t size) {
        if (api::Json* metadata = object.find("metadata")) metadata->erase("managedFields");
        std::optional<Facts> facts = store_.digest_(object);
        if (!facts) {
            if (at != entries.end()) drop(at);
            return;
        }
        Entry entry;
        const std::string bytes = object.is_null() ? std::string() : api::to_json(object);
        entry.object = StoredObject(uid, resource_version, bytes);
        entry.facts = std::move(*facts);
        entry.size = static_cast<std::uint32_t>(size);
        entry.listing_ = listing_;
        if (at == entries.end()) {
            at = entries.emplace(key, std::move(entry)).first;
            store_.on_change_(at->first, nullptr, &at->second);
        } else {
            std::swap(at->second, entry);
            store_.on_change_(at->first, &entry, &at->second);
        }
    }

    void drop(typename Entries::iterator at) {
        const auto node = entries.extract(at);
        store_.on_change_(node.key(), &node.mapped(), nullptr);
    }

    void note(const std::string& resource_version) {
        if (compare_versions(resource_version, seen) != VersionOrder::older) seen = resource_version;
    }

    const Store& store_;
    std::uint32_t listing_ = 0;
    bool in_list_ = false;
};

}  // namespace kube
