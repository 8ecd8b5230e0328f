#include "settings.hpp"

#include "cores.hpp"

namespace webhook {
namespace {

// More would only cost memory; it also catches a slip of the finger.
constexpr int max_threads = 256;

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
    options.add("listen", "HOST:PORT", settings.listen,
                "where the API server sends admission reviews; port 0 takes a free one and logs it");
    options.add("tls-cert", "FILE", settings.tls_cert,
                "certificate chain to show, in PEM, leaf first; read again when it changes");
    options.add("tls-key", "FILE", settings.tls_key, "its private key, in PEM");
    options.add("client-ca", "FILE", settings.client_ca,
                "demand a client certificate of one of these CAs; without it, everybody may call");
    options.add("admin-listen", "HOST:PORT", settings.admin_listen,
                "where /healthz, /readyz and /metrics are served; port 0 takes a free one and logs it");
    options.add("threads", "N", settings.threads, "how many threads answer; by default one per core");
    options.add("log-level", "LEVEL", settings.log_level, "debug, info, warn or error");
    options.add("log-format", "FORMAT", settings.log_format, "json (one object a line) or text");
}

api::Result<> check(const Settings& settings) {
    const auto usage = [](std::string what) {
        return api::Error{.code = api::Errc::invalid, .message = std::move(what)};
    };
    if (settings.tls_cert.empty() || settings.tls_key.empty())
        return usage(
            std::string(settings.tls_cert.empty() ? "--tls-cert" : "--tls-key") +
            " is missing: the API server calls webhooks over TLS only, so give a certificate and its "
            "key");
    if (settings.threads < 1 || settings.threads > max_threads)
        return usage("--threads must be from 1 to " + std::to_string(max_threads));
    return {};
}

}  // namespace webhook
