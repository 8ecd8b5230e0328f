#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "kube/client/clock.hpp"
#include "progress/lease_keeper.hpp"

namespace progress {

/// The time of the API server's last answer. Any thread.
class LastAnswer {
public:
    void note(kube::SteadyTime now) { at_ = now.time_since_epoch().count(); }
    /// Returns for how long there has been no answer at `now`.
    kube::SteadyTime::duration silence(kube::SteadyTime now) const {
        return now.time_since_epoch() - kube::SteadyTime::duration(at_);
    }

private:
    std::atomic<std::int64_t> at_ = 0;
};

/// Whether a replica can take reports from Pods. A value.
struct Health {
    /// A replica without an answer of the API server for longer cannot write.
    static constexpr std::chrono::seconds answers_last{30};

    bool certificate_is_stored = false;  ///< Pods can trust it
    bool certificate_is_valid = false;   ///< it has not expired

    /// Returns why clients should use another replica; empty if there is no reason. `silence`: that of the
    /// API server.
    std::vector<std::string> not_ready(kube::SteadyTime::duration silence) const;

    struct Reports {
        bool are_accepted = false;                  ///< false from the beginning of the shutdown on
        bool writes_work = false;                   ///< as of StatusWriter
        std::chrono::milliseconds longest_wait{0};  ///< of a report for its write
    };
    /// Returns whether the replica is available: while it accepts reports and can store them.
    LeaseKeeper::State lease_state(const Reports& reports) const;
};

}  // namespace progress
