#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kube/client/namespaces.hpp"
#include "kube/client/resource_version.hpp"
#include "kube/watch/watch_machine.hpp"

namespace kube {

/// The parts of an object that a store keeps beside its index, in one allocation. With hundreds of thousands
/// of objects, many small allocations would cost more than the bytes.
class StoredObject {
public:
    StoredObject() = default;
    StoredObject(std::string_view uid, std::string_view resource_version, std::string_view bytes)
        : uid_size_(static_cast<std::uint32_t>(uid.size())),
          version_size_(static_cast<std::uint32_t>(resource_version.size())),
          bytes_size_(static_cast<std::uint32_t>(bytes.size())),
          text_(std::make_unique_for_overwrite<char[]>(uid.size() + resource_version.size() + bytes.size())) {
        char* at = text_.get();
        for (const std::string_view part : {uid, resource_version, bytes}) at = append(at, part);
    }

    std::string_view uid() const { return {text_.get(), uid_size_}; }
    std::string_view resource_version() const { return {text_.get() + uid_size_, version_size_}; }
    /// Compact JSON without managedFields, as the store's transform left it.
    std::string_view bytes() const { return {text_.get() + uid_size_ + version_size_, bytes_size_}; }

private:
    static char* append(char* at, std::string_view part) {
        if (!part.empty()) std::memcpy(at, part.data(), part.size());
        return at + part.size();
    }

    std::uint32_t uid_size_ = 0;
    std::uint32_t version_size_ = 0;
    std::uint32_t bytes_size_ = 0;
    std::unique_ptr<char[]> text_ = {};
};

/// A part of a collection, named as in Scope::ns and Namespaces, and the sink of its watch.
struct Partition {
    std::string ns;
    Sink& sink;
};

/// The objects of one kind that reflectors have seen, with one reflector for each partition. It stores bytes,
/// not trees, and for each object the `Index` that the program reads without parsing. Partitions are
/// independent: a list of one says nothing about objects of another. Thread rule: one thread.
template <class Index>
class Store {
    class PartitionStore;

public:
    struct Entry {
        StoredObject object = {};
        Index index = {};
        std::uint32_t size = 0;  ///< bytes of the object's text from the API server

    private:
        friend PartitionStore;
        std::uint32_t listing_ = 0;  // number of the last list that contained it
    };

    /// Returns the index of an object. May reduce the object to the parts worth storing; null stores no
    /// bytes. Returns nullopt to skip the object.
    using Transform = std::function<std::optional<Index>(api::Json& object)>;
    /// Called for each change. `before` is nullptr for a new object, `after` for a removed one. Both are set
    /// with different uids if the object was replaced unseen. The pointers are valid during the call, the
    /// key until the call for the removal of its object returns. Must not call the sinks of the partitions.
    using OnChange = std::function<void(const api::ObjectKey& key, const Entry* before, const Entry* after)>;
    /// Called after a complete list of that partition and all of its changes. A list causes no change for an
    /// object that was absent before and is absent now.
    using OnList = std::function<void(const std::string& partition)>;

    Store(
        Transform transform, OnChange on_change, const Namespaces& namespaces = {},
        OnList on_list = [](const std::string&) {})
        : transform_(std::move(transform)), on_change_(std::move(on_change)), on_list_(std::move(on_list)) {
        for (const std::string& partition : namespaces.partitions())
            partition_stores_.emplace_back(*this, partition);
    }
    Store(const Store&) = delete;
    Store& operator=(const Store&) = delete;

    /// Returns the partitions to watch; valid as long as the store.
    std::vector<Partition> partitions() {
        std::vector<Partition> all;
        for (PartitionStore& store : partition_stores_) all.push_back({store.partition, store});
        return all;
    }

    /// Returns the object; nullptr if there is none. Valid until the next change of that object.
    const Entry* find(const api::ObjectKey& key) const {
        const PartitionStore* store = store_of(key.ns);
        return store ? store->find(key) : nullptr;
    }
    template <class Function>
    void for_each(Function function) const {
        for (const PartitionStore& store : partition_stores_) store.for_each(function);
    }
    template <class Function>
    void for_each_in(std::string_view partition, Function function) const {
        for (const PartitionStore& store : partition_stores_)
            if (store.partition == partition) store.for_each(function);
    }
    std::size_t size() const {
        std::size_t sum = 0;
        for (const PartitionStore& store : partition_stores_) sum += store.entries.size();
        return sum;
    }
    /// Returns whether the partition of that namespace has had one complete list. Before, an absent object
    /// may exist.
    bool is_synced(std::string_view ns) const { return lists(ns) > 0; }
    /// Returns how many complete lists that partition has had. A later list supersedes the version that a
    /// write waits for.
    std::uint32_t lists(std::string_view ns) const {
        const PartitionStore* store = store_of(ns);
        return store ? store->lists : 0;
    }
    /// Returns whether the store has all changes in that namespace up to this resource version, for example
    /// that of an own write.
    bool has_seen(std::string_view ns, std::string_view resource_version) const {
        const PartitionStore* store = store_of(ns);
        const auto order = store ? compare_versions(store->seen, resource_version) : VersionOrder::unknown;
        return order == VersionOrder::same || order == VersionOrder::newer;
    }

private:
    const PartitionStore* store_of(std::string_view ns) const {
        for (const PartitionStore& store : partition_stores_)
            if (covers(store.partition, ns)) return &store;
        return nullptr;
    }

    Transform transform_;
    OnChange on_change_;
    OnList on_list_;
    std::deque<PartitionStore> partition_stores_;  // a deque: pointers to its elements stay valid
};

/// The objects of one partition.
template <class Index>
class Store<Index>::PartitionStore final : public Sink {
public:
    PartitionStore(const Store& the_store, std::string the_partition)
        : partition(std::move(the_partition)), store_(the_store) {}

    const std::string partition;
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

    void begin_replace() override {
        ++listing_;
        in_list_ = true;
    }

    void upsert(const api::ObjectKey& key, const std::string& resource_version, api::Json object,
                std::size_t size) override {
        const auto at = entries.find(key);
        const std::string_view uid = std::as_const(object)["metadata"]["uid"].as_string();
        if (at != entries.end() && at->second.object.uid() == uid) {
            at->second.listing_ = listing_;
            // In a list an older version is valid, too: the server was restored from a backup.
            const auto order = compare_versions(resource_version, at->second.object.resource_version());
            if (order == VersionOrder::same || (order == VersionOrder::older && !in_list_)) return;
        }
        if (!in_list_) note(resource_version);
        put(key, at, std::string(uid), resource_version, std::move(object), size);
    }

    void remove(const api::ObjectKey& key, const std::string& resource_version) override {
        if (!in_list_) note(resource_version);
        const auto at = entries.find(key);
        if (at != entries.end()) drop(at);
    }

    void end_replace(const std::string& resource_version) override {
        in_list_ = false;
        ++lists;
        seen = resource_version;
        std::vector<api::ObjectKey> gone;
        for (const auto& [key, entry] : entries)
            if (entry.listing_ != listing_) gone.push_back(key);
        for (const auto& key : gone) drop(entries.find(key));
        store_.on_list_(partition);
    }

    void bookmark(const std::string& resource_version) override { note(resource_version); }

private:
    using Entries = std::unordered_map<api::ObjectKey, Entry>;

    void put(const api::ObjectKey& key, typename Entries::iterator at, std::string uid,
             const std::string& resource_version, api::Json object, std::size_t size) {
        if (api::Json* metadata = object.find("metadata")) metadata->erase("managedFields");
        std::optional<Index> index = store_.transform_(object);
        if (!index) {
            if (at != entries.end()) drop(at);
            return;
        }
        Entry entry;
        const std::string bytes = object.is_null() ? std::string() : api::to_json(object);
        entry.object = StoredObject(uid, resource_version, bytes);
        entry.index = std::move(*index);
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
