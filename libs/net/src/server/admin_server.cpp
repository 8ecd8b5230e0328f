#include "net/server/admin_server.hpp"

#include <algorithm>

namespace net {
namespace {

// One response per connection: a client that polls in a tight loop must connect anew each time, so that it
// does not hold a connection that the kubelet's probes need.
HttpResponse plain(int status, std::string body) {
    return {.status = status,
            .headers = {{"Content-Type", "text/plain; charset=utf-8"}, {"Cache-Control", "no-store"}},
            .body = std::move(body),
            .close = true};
}

HttpResponse ready_or_not(const std::vector<std::string>& reasons) {
    if (reasons.empty()) return plain(200, "ok\n");
    std::string body = "not ready\n";
    for (const auto& reason : reasons) body += reason + "\n";
    return plain(503, std::move(body));
}

HttpResponse only_get() {
    auto response = plain(405, "only GET\n");
    response.headers.emplace_back("Allow", "GET, HEAD");
    return response;
}

std::string_view path_of(const HttpRequest& request) {
    return std::string_view(request.target).substr(0, request.target.find('?'));
}

bool is_get(const HttpRequest& request) { return request.method == "GET" || request.method == "HEAD"; }

// A few clients; the probes of the kubelet are some of them.
ServerConfig config_of(const HostPort& listen) {
    ServerConfig config;
    config.host = listen.host;
    config.port = listen.port;
    config.limits.body_bytes = 0;
    config.limits.max_connections = 64;
    return config;
}

api::Result<std::unique_ptr<HttpServer>> start(boost::asio::any_io_executor executor,
                                               const ServerConfig& config, Handler handler, const char* what,
                                               Log& log) {
    auto server = make_http_server(std::move(executor), config, std::move(handler), log);
    const auto port = server->start();
    if (!port) return port.error();
    log.info("listening", {{"what", what}, {"address", to_string(HostPort{config.host, *port})}});
    return server;
}

}  // namespace

Handler metrics_handler(const Metrics& metrics, MetricPages pages) {
    return [&metrics, pages = std::move(pages)](HttpRequest& request) -> Answer {
        const auto path = path_of(request);
        const auto page = std::ranges::find(pages, path, [](const auto& each) { return each.first; });
        if (path != "/metrics" && page == pages.end()) return plain(404, "not found: try /metrics\n");
        if (!is_get(request)) return only_get();
        auto response = plain(200, page != pages.end() ? page->second() : metrics.expose());
        response.headers.front().second = "text/plain; version=0.0.4; charset=utf-8";
        return response;
    };
}

Handler admin_handler(const Metrics& metrics, Readiness readiness, std::optional<MetricPages> pages) {
    Handler of_metrics = pages ? metrics_handler(metrics, std::move(*pages)) : Handler();
    return [readiness = std::move(readiness),
            of_metrics = std::move(of_metrics)](HttpRequest& request) -> Answer {
        const auto path = path_of(request);
        if (path == "/healthz" || path == "/readyz") {
            if (!is_get(request)) return only_get();
            return path == "/healthz" ? plain(200, "ok\n") : ready_or_not(readiness());
        }
        if (of_metrics && path.starts_with("/metrics")) return of_metrics(request);
        return plain(404, of_metrics ? "not found: try /healthz, /readyz or /metrics\n"
                                     : "not found: try /healthz or /readyz; metrics are at another port\n");
    };
}

api::Result<std::unique_ptr<HttpServer>> start_admin_server(boost::asio::any_io_executor executor,
                                                            const HostPort& listen, Metrics& metrics,
                                                            Readiness readiness, Log& log,
                                                            std::optional<MetricPages> pages) {
    metrics.read_gauge("signalbox_ready", "1 while /readyz says so.",
                       [readiness] { return readiness().empty() ? 1 : 0; });
    return start(std::move(executor), config_of(listen),
                 admin_handler(metrics, std::move(readiness), std::move(pages)), "admin", log);
}

api::Result<std::unique_ptr<HttpServer>> start_metrics_server(boost::asio::any_io_executor executor,
                                                              const HostPort& listen,
                                                              std::shared_ptr<Tls> tls, Handler handler,
                                                              Log& log) {
    ServerConfig config = config_of(listen);
    config.tls = std::move(tls);
    config.asks_for_certificates = false;
    return start(std::move(executor), config, std::move(handler), "metrics", log);
}

}  // namespace net
