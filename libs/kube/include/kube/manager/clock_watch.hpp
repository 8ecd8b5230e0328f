#pragma once
#include "kube/client/clock_skew.hpp"
#include "net/process/log.hpp"
#include "net/process/metrics.hpp"

namespace kube {

/// Exports the difference between the wall clock of this process and the API server's, and logs it once: this
/// process compares times that the API server writes with its clock. Log and metrics must outlive it, and it
/// the last exposition. Thread rule: one thread.
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
