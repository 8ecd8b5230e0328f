#include "serving/server_metrics.hpp"

#include <string>

namespace webhook {

void add_server_metrics(net::Metrics& metrics, const TotalOf& total) {
    struct Row {
        const char* name;
        const char* help;
        bool is_counter;
        double (*read)(const net::ServerStats& stats);
    };
    static constexpr Row rows[] = {
        {"signalbox_connections", "Open connections of clients.", false,
         [](const net::ServerStats& s) { return double(s.connections); }},
        {"signalbox_connections_accepted_total", "Connections of clients so far.", true,
         [](const net::ServerStats& s) { return double(s.accepted); }},
        {"signalbox_connections_refused_total", "Connections turned or sent away for lack of room.", true,
         [](const net::ServerStats& s) { return double(s.refused); }},
        {"signalbox_connections_limited_total", "Connections closed since their address makes too many.",
         true, [](const net::ServerStats& s) { return double(s.limited); }},
        {"signalbox_tls_handshake_errors_total", "TLS handshakes that failed.", true,
         [](const net::ServerStats& s) { return double(s.handshake_errors); }},
        {"signalbox_http_timeouts_total", "Connections ended for being slow or idle.", true,
         [](const net::ServerStats& s) { return double(s.timeouts); }},
        {"signalbox_tls_floods_total", "Connections ended for too many TLS records without data.", true,
         [](const net::ServerStats& s) { return double(s.floods); }},
        {"signalbox_http_handler_errors_total", "Exceptions while answering.", true,
         [](const net::ServerStats& s) { return double(s.handler_errors); }},
    };
    for (const Row& row : rows) {
        const auto read = [total, read = row.read] { return total(read); };
        if (row.is_counter)
            metrics.read_counter(row.name, row.help, read);
        else
            metrics.read_gauge(row.name, row.help, read);
    }
    struct Side {
        const char* label;
        double (*read)(const net::ServerStats& stats);
    };
    static constexpr Side sides[] = {
        {"server", [](const net::ServerStats& s) { return double(s.rejected_server_certificates); }},
        {"client", [](const net::ServerStats& s) { return double(s.rejected_client_certificates); }},
    };
    for (const Side& side : sides)
        metrics.read_counter(
            "signalbox_tls_certificates_rejected_total",
            "TLS handshakes that failed because one side did not accept the certificate of the other.",
            [total, read = side.read] { return total(read); }, {{"certificate", side.label}});
    for (const int status : net::Refusals::statuses)
        metrics.read_counter(
            "signalbox_http_refusals_total",
            "Requests that were refused as HTTP, before their path was looked at.",
            [total, status] {
                return total([status](const net::ServerStats& s) { return double(s.refusals.of(status)); });
            },
            {{"code", std::to_string(status)}});
}

void add_certificate_metric(net::Metrics& metrics, const std::function<api::Time()>& ends) {
    metrics.read_gauge("signalbox_tls_certificate_not_after_seconds",
                       "When this server's certificate ends, in seconds since 1970.",
                       [ends] { return double(ends().time_since_epoch().count()); });
}

}  // namespace webhook
