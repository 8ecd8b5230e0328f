#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "kube/clock.hpp"
#include "kube/https_api_server.hpp"
#include "kube/status.hpp"
#include "net/log.hpp"
#include "net/metrics.hpp"

namespace kube {

class Reflector;

/// Tells log and metrics how we get on with the API server: signalbox_api_requests_total by verb, resource
/// and code; how watches fare; its warnings; and each permission that is missing, once. Thread rule: any
/// thread, so that several clients can share one. Log and metrics must outlive it, and it must outlive its
/// clients.
class ApiReporter {
public:
    ApiReporter(net::Log& log, net::Metrics& metrics) : log_(log), metrics_(metrics) {}

    HttpsApiServerOptions options();

    /// Tells the metrics about a watch, which must outlive their use, and is read by the thread of expose(),
    /// which calls this as well. Several of one resource, each of another namespace, are told as one.
    void follow(const Reflector& watch);

    /// Nobody answered. For half a minute from then on, refusals are not told: an API server that starts
    /// refuses everything until it has read its roles. A permission that is missing will be asked for again.
    void unreachable(SteadyTime now);
    /// Is told again only after ten minutes without a refusal: longer than any of our retries waits.
    void forbidden(const api::Error& error, SteadyTime now);

private:
    void count(std::string_view verb, const std::string& resource, int status);

    net::Log& log_;
    net::Metrics& metrics_;
    using Watches = std::vector<const Reflector*>;

    std::map<std::string, std::shared_ptr<Watches>> watches_;  // by resource
    std::mutex mutex_;
    // Asked for with every answer: finding a series by its labels takes as long as parsing a small answer.
    std::map<std::string, net::Counter> counters_;  // by verb, resource and status
    std::map<Permission, SteadyTime> refused_at_;
    SteadyTime trust_after_ = {};  // refusals
};

}  // namespace kube
