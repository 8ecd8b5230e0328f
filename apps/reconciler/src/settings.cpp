#include "settings.hpp"

namespace reconciler {
namespace {

constexpr const char* default_namespace = "kubeflow-system";
constexpr const char* default_lease = "trainer.kubeflow.org";
// The original's names.
constexpr const char* status_service = "kubeflow-trainer-controller-manager";
constexpr const char* status_port = "10443";
constexpr const char* status_ca_secret = "kubeflow-trainer-webhook-cert";

api::Error usage(const char* what) { return {.code = api::Errc::invalid, .message = what}; }

api::Result<> check_status_server(const Settings& settings) {
    const std::string& url = settings.status_url;
    const bool on = runtime::has_status_gate(settings.feature_gates);
    if (!on && !url.empty())
        return usage("--status-url has no effect without --feature-gates TrainJobStatus=true");
    if (!on && settings.status_ca_secret != api::ObjectKey())
        return usage("--status-ca-secret has no effect without --feature-gates TrainJobStatus=true");
    // Pods send their tokens there.
    constexpr std::string_view scheme = "https://";
    if (!url.empty() && (!url.starts_with(scheme) || url.size() == scheme.size() ||
                         url.find_first_of("?# \t\n$") != url.npos))
        return usage("--status-url must be https://HOST:PORT");
    return {};
}

}  // namespace

void add_build_options(net::Options& options, Settings& settings) {
    options.add_list("feature-gates", "LIST", settings.feature_gates,
                     "what to try out: TrainJobStatus=true tells trainers where to report their progress");
    options.add("status-url", "URL", settings.status_url,
                "where they report to; default: https://kubeflow-trainer-controller-manager.<the lease's "
                "default namespace>.svc:10443");
    options.add("status-ca-secret", "NAMESPACE/NAME", settings.status_ca_secret,
                "the Secret with the CA (ca.crt) of that server's certificate; default: "
                "kubeflow-trainer-webhook-cert in the same namespace");
}

void add_options(net::Options& options, Settings& settings) {
    using lifecycle::CreatedCondition;
    options.add("kubeconfig", "FILE", settings.kubeconfig,
                "how to reach the API server: the current context of this file; without it, the pod's "
                "service account");
    kube::add_namespaces(options, settings.namespaces);
    options.add("admin-listen", "HOST:PORT", settings.admin_listen,
                "where /healthz, /readyz and /metrics are served; port 0 takes a free one and logs it");
    options.add("leader-elect", settings.leader_elect, "work only while holding the lease");
    options.add(
        "lease", "NAMESPACE/NAME", settings.lease,
        "the lease to hold; default: trainer.kubeflow.org in the pod's namespace, or in kubeflow-system "
        "with --kubeconfig");
    options.add("concurrency", "N", settings.concurrency, "TrainJobs that are worked on at the same time");
    options.add("qps", "N", settings.qps,
                "requests of passes per second to the API server, events and the lease aside; 0 lets its "
                "flow control decide");
    options.add("burst", "N", settings.burst, "requests that may exceed --qps for a moment");
    options.add_choice(
        "created-condition", settings.created_condition,
        {{"always", CreatedCondition::always}, {"on-failure", CreatedCondition::on_failure}},
        "when TrainJobs carry the condition Created; on-failure leaves it out while it would be "
        "True, for Kubeflow's Python SDK, which takes a job for running only while its conditions "
        "are empty");
    add_build_options(options, settings);
    options.add("log-level", "LEVEL", settings.log_level, "debug, info, warn or error");
    options.add("log-format", "FORMAT", settings.log_format, "json (one object a line) or text");
}

api::Result<> check(const Settings& settings) {
    if (settings.concurrency < 1) return usage("--concurrency must be at least 1");
    if (settings.qps < 0) return usage("--qps must not be negative; 0 means no limit of our own");
    if (settings.burst < 0) return usage("--burst must not be negative");
    if (settings.burst > 0 && settings.qps == 0) return usage("--burst has no effect without --qps");
    if (auto gates = runtime::check_gates(settings.feature_gates); !gates) return gates;
    return check_status_server(settings);
}

std::optional<runtime::StatusServer> status_server_of(const Settings& settings,
                                                      const std::string& pod_namespace) {
    if (!runtime::has_status_gate(settings.feature_gates)) return std::nullopt;
    const std::string ns = pod_namespace.empty() ? default_namespace : pod_namespace;
    runtime::StatusServer server = {.url = settings.status_url, .ca_secret = settings.status_ca_secret};
    if (server.url.empty())
        server.url = "https://" + std::string(status_service) + "." + ns + ".svc:" + status_port;
    while (server.url.ends_with('/')) server.url.pop_back();
    if (server.ca_secret.ns.empty()) server.ca_secret.ns = ns;
    if (server.ca_secret.name.empty()) server.ca_secret.name = status_ca_secret;
    return server;
}

api::ObjectKey lease_of(const Settings& settings, const std::string& pod_namespace) {
    api::ObjectKey lease = settings.lease;
    if (lease.ns.empty()) lease.ns = pod_namespace.empty() ? default_namespace : pod_namespace;
    if (lease.name.empty()) lease.name = default_lease;
    return lease;
}

}  // namespace reconciler
