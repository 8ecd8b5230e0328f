#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "kube/client/clock.hpp"
#include "kube/client/https_api_server.hpp"
#include "kube/client/status.hpp"
#include "net/process/log.hpp"
#include "net/process/metrics.hpp"

namespace kube {

class Reflector;

/// Logs and counts the requests to the API server: signalbox_api_requests_total by verb, resource and code;
/// the state of watches; warnings of the server; and each missing permission, once. Log and metrics must
/// outlive it, and it must outlive its clients. Thread rule: any thread, so that several clients may share
/// one.
class ApiMetrics {
public:
    ApiMetrics(net::Log& log, net::Metrics& metrics) : log_(log), metrics_(metrics) {}

    HttpsApiServerOptions options();

    /// Adds the metrics of a watch. The watch must outlive their last exposition: the thread of expose()
    /// reads it. Call it from that thread, too. Watches of one resource in several namespaces share their
    /// series.
    void follow(const Reflector& watch);

    /// Records a request without a response. For 30 seconds from then on missing permissions are not logged:
    /// an API server that starts refuses every request until it has read its roles. The clients ask for a
    /// permission that is really missing again.
    void unreachable(SteadyTime now);
    /// Logs a missing permission. The same one is logged again only after ten minutes without a refusal,
    /// which is longer than the backoff of any retry.
    void forbidden(const api::Error& error, SteadyTime now);

private:
    void count(std::string_view verb, const std::string& resource, int status);

    net::Log& log_;
    net::Metrics& metrics_;
    using Watches = std::vector<const Reflector*>;

    std::map<std::string, std::shared_ptr<Watches>> watches_;  // by resource
    std::mutex mutex_;
    // A cache for each response: finding a series by its labels takes as long as parsing a small response.
    std::map<std::string, net::Counter> counters_;  // by verb, resource and status
    std::map<Permission, SteadyTime> refused_at_;
    SteadyTime trust_after_ = {};  // of refusals
};

}  // namespace kube
