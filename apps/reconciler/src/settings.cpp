#include "settings.hpp"

namespace reconciler {
namespace {

constexpr const char* default_lease = "trainer.kubeflow.org";
api::Error usage(const char* what) { return {.code = api::Errc::invalid, .message = what}; }

}  // namespace

void add_options(net::Options& options, Settings& settings) {
    using lifecycle::CreatedCondition;
    options.add("kubeconfig", "FILE", settings.kubeconfig,
                "how to reach the API server: the current context of this file; without it, the pod's "
                "service account");
    kube::add_namespaces(options, settings.namespaces);
    options.add("admin-listen", "HOST:PORT", settings.admin_listen,
                "where /healthz, /readyz and /metrics are served; port 0 takes a free one and logs it");
    kube::add_metrics_options(options, settings.metrics);
    options.add("metrics-cert", "FILE", settings.metrics_cert,
                "certificate chain to show with --metrics-secure, in PEM, leaf first; read again when it "
                "changes; without it, one is made that no client can verify");
    options.add("metrics-key", "FILE", settings.metrics_key, "its private key, in PEM");
    net::add_tls_options(options, settings.tls);
    options.add("leader-elect", settings.leader_elect, "work only while holding the lease");
    options.add(
        "lease", "NAMESPACE/NAME", settings.lease,
        "the lease to hold; default: trainer.kubeflow.org in the pod's namespace, or in kubeflow-system "
        "with --kubeconfig");
    options.add("concurrency", "N", settings.concurrency, "TrainJobs that are reconciled at the same time");
    options.add("qps", "N", settings.qps,
                "requests of reconciles per second to the API server, events and the lease aside; 0 lets its "
                "flow control decide");
    options.add("burst", "N", settings.burst, "requests that may exceed --qps for a moment");
    options.add_choice(
        "created-condition", settings.created_condition,
        {{"always", CreatedCondition::always}, {"on-failure", CreatedCondition::on_failure}},
        "when TrainJobs carry the condition Created; on-failure leaves it out while it would be "
        "True, for Kubeflow's Python SDK, which takes a job for running only while its conditions "
        "are empty");
    controller::add_options(options, settings.build);
    options.add("log-level", "LEVEL", settings.log_level, "debug, info, warn or error");
    options.add("log-format", "FORMAT", settings.log_format, "json (one object a line) or text");
}

api::Result<> check(const Settings& settings) {
    if (auto valid = kube::check(settings.metrics); !valid) return valid.error();
    if (auto valid = net::check(settings.tls); !valid) return valid.error();
    if (settings.metrics_cert.empty() != settings.metrics_key.empty())
        return usage(settings.metrics_cert.empty()
                         ? "--metrics-cert is missing: --metrics-key is its key"
                         : "--metrics-key is missing: it is the key of --metrics-cert");
    if (!settings.metrics.secure && !settings.metrics_cert.empty())
        return usage("--metrics-cert is for --metrics-secure, which is not set");
    if (settings.concurrency < 1) return usage("--concurrency must be at least 1");
    if (settings.qps < 0) return usage("--qps must not be negative; 0 means no limit of this program");
    if (settings.burst < 0) return usage("--burst must not be negative");
    if (settings.burst > 0 && settings.qps == 0) return usage("--burst has no effect without --qps");
    return controller::check(settings.build);
}

api::ObjectKey lease_of(const Settings& settings, const std::string& pod_namespace) {
    api::ObjectKey lease = settings.lease;
    if (lease.ns.empty()) lease.ns = pod_namespace.empty() ? controller::default_namespace : pod_namespace;
    if (lease.name.empty()) lease.name = default_lease;
    return lease;
}

}  // namespace reconciler
