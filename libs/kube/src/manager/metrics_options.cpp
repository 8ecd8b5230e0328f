#include "kube/manager/metrics_options.hpp"

namespace kube {

void add_metrics_options(net::Options& options, MetricsSettings& settings) {
    options.add(
        "metrics-secure", settings.secure,
        "serve /metrics with TLS at --metrics-listen, for clients with a bearer token whose user may get "
        "that path (TokenReview, SubjectAccessReview), and no longer at --admin-listen");
    options.add("metrics-listen", "HOST:PORT", settings.listen,
                "where /metrics is served with --metrics-secure; port 0 takes a free one and logs it");
}

api::Result<> check(const MetricsSettings& settings) {
    if (!settings.secure && settings.listen != MetricsSettings().listen)
        return api::invalid(
            "",
            "--metrics-listen is for --metrics-secure, which is not set: plain HTTP is served "
            "at --admin-listen");
    return {};
}

}  // namespace kube
