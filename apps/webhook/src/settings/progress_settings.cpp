#include "settings/progress_settings.hpp"

#include <algorithm>

#include "api/text.hpp"
#include "progress/report_handler.hpp"

namespace webhook {
namespace {

constexpr std::chrono::seconds longest_body{10};

constexpr std::string_view admission = "admission";
constexpr std::string_view progress = "progress";

constexpr const char* admission_options[] = {
    "listen",        "tls-cert",       "tls-key",       "self-signed",  "cert-secret",         "service",
    "client-ca",     "token-audience", "token-users",   "threads",      "max-bytes-in-flight", "source-rate",
    "lossy-clients", "runtime-in-use", "feature-gates", "accelerators", "gang-schedulers"};
constexpr const char* progress_options[] = {
    "progress-listen",  "progress-tls-cert",    "progress-tls-key",           "progress-cert-secret",
    "progress-service", "progress-interval",    "progress-writes-per-second", "progress-bytes-per-second",
    "progress-jobs",    "progress-source-rate", "progress-job-metrics"};

api::Error usage(std::string what) { return {.code = api::Errc::invalid, .message = std::move(what)}; }

}  // namespace

api::Result<> read_option(std::string_view text, Services& target) {
    Services read = {.admission = false};
    while (!text.empty()) {
        const std::string_view name = api::take_item(text);
        if (name == admission)
            read.admission = true;
        else if (name == progress)
            read.progress = true;
        else
            return api::invalid("", "must be admission, progress or both, separated by a comma");
    }
    if (read == Services{.admission = false})
        return api::invalid("", "must be admission, progress or both, separated by a comma");
    target = read;
    return {};
}

std::string show_option(const Services& services) {
    std::string text(services.admission ? admission : "");
    if (services.progress) text.append(text.empty() ? "" : ",").append(progress);
    return text;
}

void add_progress_options(net::Options& options, Services& services, ProgressSettings& settings) {
    options.add_list(
        "serve", "LIST", services,
        "what to serve: admission (reviews, for the API server) or progress (reports of training "
        "code, for Pods), or both, separated by a comma");
    options.add("progress-listen", "HOST:PORT", settings.listen,
                "where Pods send reports; port 0 takes a free one and logs it");
    options.add("progress-tls-cert", "FILE", settings.tls_cert,
                "certificate chain to show to Pods, in PEM, leaf first; read again when it changes");
    options.add("progress-tls-key", "FILE", settings.tls_key, "its private key, in PEM");
    options.add(
        "progress-cert-secret", "NAMESPACE/NAME", settings.cert_secret,
        "make certificate and CA for Pods, store them in this Secret, which all replicas share, and renew "
        "both in time; in place of the two files");
    options.add("progress-service", "NAMESPACE/NAME", settings.service,
                "the Service that Pods call, which the certificate is for; with --progress-cert-secret");
    options.add("progress-interval", "DURATION", settings.interval,
                "how long to wait between two writes of one TrainJob's progress; the latest report counts");
    options.add("progress-writes-per-second", "N", settings.writes_per_second,
                "how many writes of progress to send to the API server; beyond it the interval of all grows");
    options.add("progress-bytes-per-second", "BYTES", settings.bytes_per_second,
                "the same in bytes of the TrainJobs that are written: etcd keeps each revision for minutes");
    options.add("progress-jobs", "N", settings.jobs, "how many TrainJobs may report at a time");
    options.add("progress-source-rate", "N", settings.source_rate,
                "how many new connections a second to take from one IP address; 0 where all Pods have the "
                "same one: sources are not limited");
    options.add(
        "progress-job-metrics", "N", settings.job_metrics,
        "of how many TrainJobs to export percent, remaining time and last report at /metrics/jobs beside "
        "/metrics, with their names as labels");
}

api::Result<> check_services(const net::Options& options, const Services& services) {
    for (const char* name : admission_options)
        if (!services.admission && options.given(name))
            return usage("--" + std::string(name) + " is for admission, which --serve leaves out");
    for (const char* name : progress_options)
        if (!services.progress && options.given(name))
            return usage("--" + std::string(name) + " is for progress, which --serve leaves out");
    return {};
}

namespace {

api::Result<> check_certificate(const ProgressSettings& settings) {
    const bool has_files = !settings.tls_cert.empty() || !settings.tls_key.empty();
    const bool is_made = !settings.cert_secret.name.empty();
    if (is_made && has_files)
        return usage(
            "--progress-cert-secret is for the certificate that is made, which --progress-tls-cert and "
            "--progress-tls-key would give: leave one of the two away");
    if (is_made && settings.service.name.empty())
        return usage(
            "--progress-service is missing: the certificate in --progress-cert-secret is for its name");
    if (!is_made && !settings.service.name.empty())
        return usage(
            "--progress-cert-secret is missing: the certificate for --progress-service is kept there");
    if (!is_made && (settings.tls_cert.empty() || settings.tls_key.empty()))
        return usage(std::string(settings.tls_cert.empty() ? "--progress-tls-cert" : "--progress-tls-key") +
                     " is missing: Pods send reports over TLS only, so give a certificate and its key, or "
                     "--progress-cert-secret to have them made");
    return {};
}

}  // namespace

api::Result<> check(const ProgressSettings& settings) {
    if (auto certificate = check_certificate(settings); !certificate) return certificate;
    if (settings.interval < std::chrono::seconds(1)) return usage("--progress-interval must be at least 1s");
    if (settings.writes_per_second <= 0) return usage("--progress-writes-per-second must be more than 0");
    if (settings.bytes_per_second.bytes < 1024)
        return usage("--progress-bytes-per-second must be at least 1Ki");
    if (settings.jobs < 1) return usage("--progress-jobs must be at least 1");
    return {};
}

progress::ScheduleLimits schedule_limits(const ProgressSettings& settings) {
    return {.interval = settings.interval,
            .writes_per_second = settings.writes_per_second,
            .bytes_per_second = static_cast<double>(settings.bytes_per_second.bytes),
            .jobs = settings.jobs};
}

net::ServerLimits report_limits(const ProgressSettings& settings, const net::ServerLimits& process) {
    net::ServerLimits limits = process;
    limits.body_bytes = progress::ReportHandler::max_body_bytes;
    limits.body_timeout = std::min<std::chrono::milliseconds>(limits.body_timeout, longest_body);
    limits.connections_per_source = settings.source_rate;
    limits.kept_connections = limits.max_connections - limits.max_connections / 4;
    return limits;
}

}  // namespace webhook
