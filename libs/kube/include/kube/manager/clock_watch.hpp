#pragma once
#include "kube/client/clock_skew.hpp"
#include "net/process/log.hpp"
#include "net/process/metrics.hpp"

namespace kube {

/// Tells metrics, and once in the log, how far our wall clock is from the API server's: times that the API
/// server writes are compared with it. Log and metrics must outlive it, and it the last exposition. Thread
/// rule: one thread.
class ClockWatch {
public:
    ClockWatch(net::Log& log, net::Metrics& metrics);
    ClockWatch(const ClockWatch&) = delete;
    ClockWatch& operator=(const ClockWatch&) = delete;

    void note(const kube::DatedAnswer& answer);

private:
    net::Log& log_;
    kube::ClockSkew skew_ = {};
};

}  // namespace kube
