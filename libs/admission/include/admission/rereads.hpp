#pragma once
#include <chrono>
#include <cstdint>
#include <unordered_map>

#include "api/object_key.hpp"
#include "kube/client/clock.hpp"

namespace admission {

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
