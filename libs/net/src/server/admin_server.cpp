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

}  // namespace

Handler admin_handler(const Metrics& metrics, Readiness readiness, MetricPages pages) {
    return [&metrics, readiness = std::move(readiness),
            pages = std::move(pages)](HttpRequest& request) -> Answer {
        const auto path = std::string_view(request.target).substr(0, request.target.find('?'));
        const auto page = std::ranges::find(pages, path, [](const auto& each) { return each.first; });
        const bool known =
            path == "/healthz" || path == "/readyz" || path == "/metrics" || page != pages.end();
        if (!known) return plain(404, "not found: try /healthz, /readyz or /metrics\n");
        if (request.method != "GET" && request.method != "HEAD") {
            auto response = plain(405, "only GET\n");
            response.headers.emplace_back("Allow", "GET, HEAD");
            return response;
        }
        if (path == "/healthz") return plain(200, "ok\n");
        if (path == "/readyz") return ready_or_not(readiness());
        auto response = plain(200, page != pages.end() ? page->second() : metrics.expose());
        response.headers.front().second = "text/plain; version=0.0.4; charset=utf-8";
        return response;
    };
}

api::Result<std::unique_ptr<HttpServer>> start_admin_server(boost::asio::any_io_executor executor,
                                                            const HostPort& listen, Metrics& metrics,
                                                            Readiness readiness, Log& log,
                                                            MetricPages pages) {
    ServerConfig config;
    config.host = listen.host;
    config.port = listen.port;
    config.limits.body_bytes = 0;
    config.limits.max_connections = 64;
    metrics.read_gauge("signalbox_ready", "1 while /readyz says so.",
                       [readiness] { return readiness().empty() ? 1 : 0; });
    auto server = make_http_server(std::move(executor), config,
                                   admin_handler(metrics, std::move(readiness), std::move(pages)), log);
    const auto port = server->start();
    if (!port) return port.error();
    log.info("listening", {{"what", "admin"}, {"address", to_string(HostPort{listen.host, *port})}});
    return server;
}

}  // namespace net
