#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "api/object_key.hpp"
#include "kube/client/clock.hpp"
#include "net/process/log.hpp"
#include "progress/wire.hpp"

namespace progress {

/// Logs the first refusal of each job and outcome, up to a number of lines per minute. Never logs tokens,
/// bodies and metrics. Thread rule: one thread.
class RefusalLog {
public:
    static constexpr int lines_per_minute = 60;
    static constexpr std::size_t most_remembered = 4'096;

    explicit RefusalLog(net::Log& log);
    ~RefusalLog();

    void note(const api::ObjectKey& train_job, Outcome outcome, const std::string& pod,
              const std::string& address, kube::SteadyTime now);

private:
    struct Noted;

    net::Log& log_;
    std::unique_ptr<Noted> noted_;
    kube::SteadyTime minute_ = {};
    int lines_ = 0;
    std::int64_t omitted_ = 0;
};

}  // namespace progress
