#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <unordered_map>

#include "api/json.hpp"
#include "api/object_key.hpp"
#include "kube/client/clock.hpp"

/// The limits of what any client can cause by its reviews.
namespace admission {

/// The maximum number of values (a member counts twice) of a review. Two objects of etcd's limit of 1.5 MiB
/// have fewer. A tree can take forty times the bytes of a body that is made for it, so this limits its
/// memory.
inline constexpr std::size_t max_review_values = 500'000;

using api::count_tree_values;
using api::count_values;

/// Returns how many requests of a server with `connections` may wait for a lookup. The other connections are
/// for reviews without lookups, however slow the API server is: those that wait cannot be closed to make
/// room. At least one.
inline std::size_t lookup_permits(std::size_t connections) {
    return std::max<std::size_t>(connections / 2, 1);
}

/// Returns how many may wait for the review of their token; see AuthenticatedHandler. At least one.
inline std::size_t token_review_permits(std::size_t connections) {
    return std::max<std::size_t>(connections / 3, 1);
}

/// Limits how often a runtime that is in the cache is read from the API server, since any client may send
/// reviews. Stores hashes of names, which may be long, and those of at most `most_runtimes`, until the second
/// is over. Thread rule: one thread.
class Rereads {
public:
    static constexpr std::size_t most_runtimes = 1024;

    explicit Rereads(int per_second) : per_second_(per_second) {}

    /// Takes one of the reads of the current second. Returns false if there is none left, or too many
    /// runtimes have taken some.
    bool take(const api::ObjectKey& runtime, kube::SteadyTime now) {
        if (now - began_ >= std::chrono::seconds(1)) {
            began_ = now;
            taken_.clear();
        }
        const std::uint64_t id = std::hash<api::ObjectKey>()(runtime);
        if (taken_.size() >= most_runtimes && !taken_.contains(id)) return false;
        int& taken = taken_[id];
        if (taken >= per_second_) return false;
        ++taken;
        return true;
    }
    /// Returns the number of stored runtimes.
    std::size_t size() const { return taken_.size(); }

private:
    const int per_second_;
    kube::SteadyTime began_ = {};
    std::unordered_map<std::uint64_t, int> taken_ = {};
};

}  // namespace admission
