#pragma once
#include <unordered_map>

#include "api/object_key.hpp"
#include "kube/client/clock.hpp"

namespace admission {

/// How often the API server is asked about one runtime without need: reviews, which any client may send, must
/// not load it without bound. Thread rule: one thread.
class Rereads {
public:
    explicit Rereads(int per_second) : per_second_(per_second) {}

    /// Takes one of those of the current second; false: there is none left.
    bool take(const api::ObjectKey& runtime, kube::SteadyTime now) {
        if (seconds_.size() >= max_seconds)
            std::erase_if(seconds_, [now](const auto& entry) { return is_over(entry.second, now); });
        Second& second = seconds_[runtime];
        if (is_over(second, now)) second = {.began = now, .taken = 0};
        return second.taken < per_second_ && ++second.taken > 0;
    }

private:
    static constexpr std::size_t max_seconds = 256;
    struct Second {
        kube::SteadyTime began = {};
        int taken = 0;
    };
    static bool is_over(const Second& second, kube::SteadyTime now) {
        return second.taken == 0 || now - second.began >= std::chrono::seconds(1);
    }

    const int per_second_;
    std::unordered_map<api::ObjectKey, Second> seconds_ = {};
};

}  // namespace admission
