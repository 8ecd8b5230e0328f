#include "controller/build_settings.hpp"

namespace controller {
namespace {

// The names in manifests/components/progress.
constexpr const char* status_service = "signalbox-progress";
constexpr const char* status_port = "10443";
constexpr const char* status_ca_secret = "signalbox-progress-cert";

api::Error usage(const char* what) { return {.code = api::Errc::invalid, .message = what}; }

api::Result<> check_status_server(const BuildSettings& settings) {
    const std::string& url = settings.status_url;
    const bool on = runtime::Gates(settings.feature_gates).has(runtime::Gate::status);
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

void add_options(net::Options& options, BuildSettings& settings) {
    options.add_list(
        "feature-gates", "LIST", settings.feature_gates,
        "experimental features: TrainJobStatus=true gives trainers the address for reports, and "
        "TrainJobProgressDeadline=true watches their progress; the webhook's other gates have no "
        "effect here");
    options.add_list("accelerators", "LIST", settings.accelerators, runtime::accelerators_help);
    options.add_list("gang-schedulers", "LIST", settings.gang_schedulers, runtime::gang_schedulers_help);
    options.add(
        "status-url", "URL", settings.status_url,
        "the address for reports of trainers; default: https://signalbox-progress.<the lease's default "
        "namespace>.svc:10443");
    options.add("status-ca-secret", "NAMESPACE/NAME", settings.status_ca_secret,
                "the Secret with the CA (ca.crt) of that server's certificate; its Lease is in the same "
                "namespace; default: signalbox-progress-cert in the namespace of the default --status-url");
}

api::Result<> check(const BuildSettings& settings) {
    if (auto gates = runtime::check_gates(settings.feature_gates); !gates) return gates;
    return check_status_server(settings);
}

std::optional<runtime::StatusServer> status_server_of(const BuildSettings& settings,
                                                      const std::string& pod_namespace) {
    if (!runtime::Gates(settings.feature_gates).has(runtime::Gate::status)) return std::nullopt;
    const std::string ns = pod_namespace.empty() ? default_namespace : pod_namespace;
    runtime::StatusServer server = {.url = settings.status_url, .ca_secret = settings.status_ca_secret};
    if (server.url.empty())
        server.url = "https://" + std::string(status_service) + "." + ns + ".svc:" + status_port;
    while (server.url.ends_with('/')) server.url.pop_back();
    if (server.ca_secret.ns.empty()) server.ca_secret.ns = ns;
    if (server.ca_secret.name.empty()) server.ca_secret.name = status_ca_secret;
    return server;
}

runtime::Features features_of(const BuildSettings& settings, const std::string& pod_namespace) {
    return {.status_server = status_server_of(settings, pod_namespace),
            .devices = settings.accelerators,
            .gang_schedulers = settings.gang_schedulers};
}

ProgressSettings progress_settings_of(const BuildSettings& settings, const std::string& pod_namespace) {
    using lifecycle::ProgressWatch;
    const auto server = status_server_of(settings, pod_namespace);
    if (!server) return {};
    const bool has_deadlines = runtime::Gates(settings.feature_gates).has(runtime::Gate::progress_deadline);
    return {.watch = has_deadlines ? ProgressWatch::deadlines : ProgressWatch::reports,
            .lease = {server->ca_secret.ns, status_service}};
}

}  // namespace controller
