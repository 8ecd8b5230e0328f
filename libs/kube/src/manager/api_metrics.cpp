#include "kube/manager/api_metrics.hpp"

#include <algorithm>

#include "kube/watch/reflector.hpp"

namespace kube {
namespace {

constexpr std::chrono::minutes quiet_time{10};
constexpr std::chrono::seconds warm_up_time{30};

}  // namespace

HttpsApiServerOptions ApiMetrics::options() {
    HttpsApiServerOptions options;
    options.on_warning = [this](const std::string& text) {
        log_.warn("the API server warns", {{"warning", text}});
    };
    options.on_problem = [this](const std::string& text) { log_.warn("credentials", {{"problem", text}}); };
    options.on_answer = [this](std::string_view verb, const std::string& resource, int status) {
        count(verb, resource, status);
        if (status == 0) unreachable(std::chrono::steady_clock::now());
    };
    options.on_forbidden = [this](const api::Error& error) {
        forbidden(error, std::chrono::steady_clock::now());
    };
    return options;
}

void ApiMetrics::count(std::string_view verb, const std::string& resource, int status) {
    std::string series(verb);
    series.append(" ").append(resource).append(" ").append(std::to_string(status));
    const std::lock_guard lock(mutex_);
    const auto [known, is_new] = counters_.try_emplace(std::move(series));
    if (is_new)
        known->second = metrics_.counter(
            "signalbox_api_requests_total",
            "Requests to the API server, by verb, resource and status; 0 = no answer.",
            {{"verb", std::string(verb)}, {"resource", resource}, {"code", std::to_string(status)}});
    known->second.add();
}

void ApiMetrics::follow(const Reflector& watch) {
    const std::string resource = to_string(watch.scope().resource);
    const auto [known, is_new] = watches_.try_emplace(resource, std::make_shared<Watches>());
    const std::shared_ptr<Watches> watches = known->second;
    watches->push_back(&watch);
    if (!is_new) return;
    metrics_.read_gauge("signalbox_watch_working",
                        "1 while the cache of that resource is complete and followed.",
                        [watches] {
                            const auto healthy = [](const Reflector* each) { return each->healthy(); };
                            return std::all_of(watches->begin(), watches->end(), healthy) ? 1 : 0;
                        },
                        {{"resource", resource}});
    const auto restarts = [&](const char* reason, std::uint64_t Reflector::Restarts::*count) {
        metrics_.read_counter("signalbox_watch_restarts_total",
                              "Watches that had to be opened anew: ended by the server in order, or broken.",
                              [watches, count] {
                                  std::uint64_t sum = 0;
                                  for (const Reflector* each : *watches) sum += each->restarts().*count;
                                  return static_cast<double>(sum);
                              },
                              {{"resource", resource}, {"reason", reason}});
    };
    restarts("ended", &Reflector::Restarts::ended);
    restarts("broken", &Reflector::Restarts::broken);
}

void ApiMetrics::unreachable(SteadyTime now) {
    const std::lock_guard lock(mutex_);
    trust_after_ = now + warm_up_time;
}

void ApiMetrics::forbidden(const api::Error& error, SteadyTime now) {
    const auto missing = missing_permission(error);
    if (!missing) return;
    {
        const std::lock_guard lock(mutex_);
        if (now < trust_after_) return;
        const auto [at, is_new] = refused_at_.try_emplace(*missing, now);
        const bool reported_lately = !is_new && now - at->second < quiet_time;
        at->second = now;
        if (reported_lately) return;
    }
    log_.warn(
        "a permission is missing; grant it to this program's service account (RBAC), as in "
        "manifests/base/rbac",
        {{"verb", missing->verb}, {"resource", missing->resource}, {"error", error}});
}

}  // namespace kube
