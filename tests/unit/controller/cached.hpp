#pragma once
#include <catch2/catch.hpp>

#include "controller/cache/cache.hpp"
#include "support/printers.hpp"

/// A cache without its API server, and objects for it.

using api::Json;

inline Json object(std::string_view text) { return api::parse_json(text).value(); }

inline Json train_job(std::string_view kind, std::string_view runtime) {
    Json job = object(R"({"metadata":{"name":"job","namespace":"ns","uid":"u1","resourceVersion":"5"},
                          "spec":{"runtimeRef":{}}})");
    job["spec"]["runtimeRef"]["kind"] = kind;
    job["spec"]["runtimeRef"]["name"] = runtime;
    return job;
}

inline const Json runtime_object =
    object(R"({"metadata":{"name":"torch","uid":"r1","resourceVersion":"7"},"spec":{}})");

/// Returns the sink of the partition that has the namespace.
template <class Facts>
kube::Sink& sink(kube::Store<Facts>& store, std::string_view ns = "ns") {
    for (const kube::Partition& partition : store.partitions())
        if (kube::covers(partition.ns, ns)) return partition.sink;
    throw std::logic_error("no partition for " + std::string(ns));
}

/// A cache, and the keys that it has enqueued.
struct Enqueued {
    std::vector<std::string> keys = {};
    kube::Namespaces namespaces = {};
    controller::Cache cache{
        [this](const api::ObjectKey& key, const controller::Change&) { keys.push_back(to_string(key)); },
        namespaces};

    /// The PodGroups of the two ways of gang scheduling.
    auto& coscheduling() { return *cache.owned_kinds().at(0).objects; }
    auto& volcano() { return *cache.owned_kinds().at(1).objects; }
    std::vector<std::string> take() { return std::exchange(keys, {}); }
    /// As if each runtime that changed had its turn at once. Those of one runtime have no order.
    std::vector<std::string> take_users() {
        for (kube::SteadyTime now{}; const auto next = cache.enqueue_users(now);) now = std::max(now, *next);
        std::sort(keys.begin(), keys.end());
        return take();
    }
};

/// Completes the lists of runtimes, so that each later runtime is a change.
inline void list_runtimes(Enqueued& enqueued) {
    for (auto* store : {&enqueued.cache.training_runtimes(), &enqueued.cache.cluster_training_runtimes()})
        for (const kube::Partition& partition : store->partitions()) {
            partition.sink.begin_replace();
            partition.sink.end_replace("1");
        }
}
