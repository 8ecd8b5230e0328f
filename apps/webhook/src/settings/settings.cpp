#include "settings/settings.hpp"

#include "api/text.hpp"
#include "settings/cores.hpp"

namespace webhook {
namespace {

// More would only use memory; the limit also catches typing errors.
constexpr int max_threads = 256;

constexpr std::chrono::seconds min_cert_lifetime{30};
constexpr std::chrono::milliseconds max_shutdown_delay = std::chrono::minutes(10);

using Deadline = std::chrono::milliseconds net::ServerLimits::*;

struct DeadlineRow {
    const char* option;
    Deadline deadline;
    const char* help;
};

constexpr DeadlineRow deadlines[] = {
    {"handshake-timeout", &net::ServerLimits::handshake_timeout, "how long a TLS handshake may take"},
    {"header-timeout", &net::ServerLimits::header_timeout,
     "how long the headers of a request may take, from their first byte"},
    {"body-timeout", &net::ServerLimits::body_timeout, "how long the body of a request may take"},
    {"write-timeout", &net::ServerLimits::write_timeout, "how long a client may take to read its answer"},
    {"idle-timeout", &net::ServerLimits::idle_timeout,
     "how long a connection may be idle; longer than API servers keep one, which is 90s"},
};

// Empty ones are left out.
template <class Use>
void for_each_name(std::string_view list, Use use) {
    while (!list.empty())
        if (const std::string_view name = api::take_item(list); !name.empty()) use(name);
}

}  // namespace

Settings default_settings() {
    Settings settings;
    settings.threads = std::min(available_cores(), max_threads);
    return settings;
}

void add_options(net::Options& options, Settings& settings) {
    options.add("kubeconfig", "FILE", settings.kubeconfig,
                "how to reach the API server: the current context of this file; without it, the pod's "
                "service account");
    kube::add_namespaces(options, settings.namespaces);
    options.add("listen", "HOST:PORT", settings.listen,
                "where the API server sends admission reviews; port 0 takes a free one and logs it");
    options.add("tls-cert", "FILE", settings.tls_cert,
                "certificate chain to show, in PEM, leaf first; read again when it changes");
    options.add("tls-key", "FILE", settings.tls_key, "its private key, in PEM");
    options.add("self-signed", settings.self_signed,
                "make certificate and CA, store them in --cert-secret, put the CA into the webhook "
                "configurations, and renew both in time");
    options.add("cert-secret", "NAMESPACE/NAME", settings.cert_secret,
                "the Secret that all replicas share; with --self-signed");
    options.add("service", "NAMESPACE/NAME", settings.service,
                "the Service that API servers call, which the certificate is for; with --self-signed");
    options.add("cert-lifetime", "DURATION", settings.cert_lifetime,
                "how long a certificate that this program makes lasts; it is renewed after two thirds; with "
                "--self-signed or --progress-cert-secret");
    options.add("client-ca", "FILE", settings.client_ca,
                "demand a client certificate of one of these CAs; without it, any client may call");
    options.add("token-audience", "AUDIENCE", settings.token_audience,
                "demand a bearer token for this audience; the API server authenticates it (TokenReview)");
    options.add_list(
        "token-users", "LIST", settings.token_users,
        "users whose tokens are accepted, such as system:serviceaccount:NAMESPACE:NAME, separated by commas; "
        "without it, every user's for that audience");
    net::add_tls_options(options, settings.tls);
    options.add("admin-listen", "HOST:PORT", settings.admin_listen,
                "where /healthz, /readyz and /metrics are served; port 0 takes a free one and logs it");
    kube::add_metrics_options(options, settings.metrics);
    options.add("threads", "N", settings.threads, "how many threads answer; by default one per core");
    options.add(
        "max-connections", "N", settings.limits.max_connections,
        "how many connections are held at a time; beyond it the slowest or longest idle one makes room");
    options.add("source-rate", "N", settings.limits.connections_per_source,
                "how many new connections a second to take from one IP address; 0 where all API servers "
                "have the same one and make very many: any number");
    options.add("max-bytes-in-flight", "BYTES", settings.limits.total_bytes,
                "how much memory large request bodies may take together; at least one body per thread");
    for (const DeadlineRow& row : deadlines)
        options.add(row.option, "DURATION", settings.limits.*row.deadline, row.help);
    options.add(
        "shutdown-delay", "DURATION", settings.shutdown_delay,
        "how long to go on serving after SIGTERM, not ready, until the Service sends no more requests");
    options.add_list(
        "lossy-clients", "LIST", settings.lossy_clients,
        "users whose clients write TrainJobs back by types that lack some of Signalbox's fields, as "
        "Kueue's do, separated by commas: these fields are restored for them");
    options.add_choice("runtime-in-use", settings.keeps_runtimes_in_use, {{"warn", false}, {"deny", true}},
                       "what to do on the deletion of a runtime that TrainJobs use which have not ended");
    options.add_list(
        "feature-gates", "LIST", settings.feature_gates,
        "experimental features, such as TrainJobStatus=true; the error for an unknown name lists all. "
        "TrainJobStatus must be as in the reconciler");
    options.add_list("accelerators", "LIST", settings.accelerators,
                     std::string(runtime::accelerators_help) + "; as in the reconciler");
    options.add_list("gang-schedulers", "LIST", settings.gang_schedulers,
                     std::string(runtime::gang_schedulers_help) + "; as in the reconciler");
    add_progress_options(options, settings.services, settings.progress);
    options.add("log-level", "LEVEL", settings.log_level, "debug, info, warn or error");
    options.add("log-format", "FORMAT", settings.log_format, "json (one object a line) or text");
}

api::Result<> check(const Settings& settings) {
    const auto usage = [](std::string what) {
        return api::Error{.code = api::Errc::invalid, .message = std::move(what)};
    };
    if (settings.services.progress)
        if (auto valid = check(settings.progress); !valid) return valid.error();
    if (auto valid = net::check(settings.tls); !valid) return valid.error();
    if (auto valid = kube::check(settings.metrics); !valid) return valid.error();
    const bool has_files = !settings.tls_cert.empty() || !settings.tls_key.empty();
    if (settings.self_signed && has_files)
        return usage(
            "--self-signed makes the certificate that --tls-cert and --tls-key would give: leave "
            "one of the two away");
    if (settings.self_signed && settings.cert_secret.name.empty())
        return usage("--cert-secret is missing: with --self-signed, replicas share the certificate there");
    if (settings.self_signed && settings.service.name.empty())
        return usage("--service is missing: with --self-signed, the certificate is made for its name");
    if (settings.cert_lifetime < min_cert_lifetime) return usage("--cert-lifetime must be at least 30s");
    if (settings.services.admission && !settings.self_signed &&
        (settings.tls_cert.empty() || settings.tls_key.empty()))
        return usage(
            std::string(settings.tls_cert.empty() ? "--tls-cert" : "--tls-key") +
            " is missing: the API server calls webhooks over TLS only, so give a certificate and its "
            "key, or --self-signed to have them made");
    if (settings.token_audience.empty() && !settings.token_users.empty())
        return usage("--token-audience is missing: --token-users says whose tokens for it are taken");
    if (!settings.token_users.empty() && auth_policy(settings).users.empty())
        return usage("--token-users names no user: omit it, or give names separated by commas");
    if (settings.threads < 1 || settings.threads > max_threads)
        return usage("--threads must be from 1 to " + std::to_string(max_threads));
    if (settings.limits.max_connections < std::size_t(settings.threads))
        return usage("--max-connections must be at least one per thread, " +
                     std::to_string(settings.threads));
    if (settings.limits.total_bytes < settings.limits.body_bytes)
        return usage("--max-bytes-in-flight must have room for one body, " +
                     std::to_string(settings.limits.body_bytes));
    for (const DeadlineRow& row : deadlines)
        if (settings.limits.*row.deadline <= std::chrono::milliseconds(0))
            return usage("--" + std::string(row.option) + " must be more than 0s");
    if (settings.shutdown_delay < std::chrono::milliseconds(0) ||
        settings.shutdown_delay > max_shutdown_delay)
        return usage("--shutdown-delay must be from 0s to 10m");
    return runtime::check_gates(settings.feature_gates);
}

kube::AuthPolicy auth_policy(const Settings& settings) {
    kube::AuthPolicy rules = {.audience = settings.token_audience};
    for_each_name(settings.token_users, [&](std::string_view name) { rules.users.emplace(name); });
    return rules;
}

admission::ReviewPolicy review_policy(const Settings& settings) {
    admission::ReviewPolicy policy = {.gates = runtime::Gates(settings.feature_gates),
                                      .keeps_runtimes_in_use = settings.keeps_runtimes_in_use};
    for_each_name(settings.lossy_clients, [&](std::string_view name) { policy.lossy_clients.emplace(name); });
    return policy;
}

kube::ManagerOptions manager_options(const Settings& settings) {
    kube::ManagerOptions options = {.log_level = settings.log_level,
                                    .log_format = settings.log_format,
                                    .admin_listen = settings.admin_listen};
    options.shutdown.end += settings.shutdown_delay;
    return options;
}

net::ServerLimits share(const net::ServerLimits& limits, int threads) {
    net::ServerLimits part = limits;
    const auto count = static_cast<std::size_t>(threads);
    part.max_connections = limits.max_connections / count;
    part.total_bytes = std::max(limits.total_bytes / count, limits.body_bytes);
    part.connections_per_source = limits.connections_per_source / threads;
    part.connections_at_once =
        std::max(limits.connections_at_once,
                 static_cast<int>(part.connections_per_source * static_cast<double>(source_pause.count())));
    return part;
}

}  // namespace webhook
