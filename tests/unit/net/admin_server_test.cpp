#include "net/server/admin_server.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <thread>

#include "server_fixture.hpp"

using test::body_of;
using test::status_of;

namespace {

struct Admin {
    Admin() {
        server = net::start_admin_server(
                     loop.executor(), {"127.0.0.1", 0}, metrics, [this] { return missing; }, log,
                     net::MetricPages{{"/metrics/more", [] { return std::string("more 1\n"); }}})
                     .value();
        const auto colon = line.rfind(':');
        port = static_cast<std::uint16_t>(std::stoi(line.substr(colon + 1)));
    }
    std::string ask(const std::string& text) {
        std::string response;
        auto body = [&]() -> net::Task<> {
            const auto peer = co_await test::connect(port);
            response = co_await peer->ask(text);
        };
        loop.run(body());
        return response;
    }
    std::string get(const std::string& path) { return ask("GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n"); }

    test::Loop loop;
    net::Metrics metrics;
    std::vector<std::string> missing = {};
    std::string line = {};
    net::Log log{net::LogLevel::info, net::LogFormat::json, [this](auto text) { line = text; }};
    std::unique_ptr<net::HttpServer> server = {};
    std::uint16_t port = 0;
};

}  // namespace

TEST_CASE("the admin server serves health, readiness and metrics", "[net]") {
    Admin admin;
    CHECK(admin.line.find("\"msg\":\"listening\",\"what\":\"admin\"") != std::string::npos);
    CHECK(status_of(admin.get("/healthz")) == 200);

    CHECK(status_of(admin.get("/readyz")) == 200);
    admin.missing = {"trainjobs are not listed yet", "no certificate"};
    const auto not_ready = admin.get("/readyz?verbose");
    CHECK(status_of(not_ready) == 503);
    CHECK(body_of(not_ready) == "not ready\ntrainjobs are not listed yet\nno certificate\n");

    admin.metrics.counter("test_total", "A test.").add();
    const auto metrics = admin.get("/metrics");
    CHECK(status_of(metrics) == 200);
    CHECK(metrics.find("Content-Type: text/plain; version=0.0.4") != std::string::npos);
    CHECK(body_of(metrics).find("test_total 1\n") != std::string::npos);

    const auto more = admin.get("/metrics/more?now");
    CHECK(more.find("Content-Type: text/plain; version=0.0.4") != std::string::npos);
    CHECK(body_of(more) == "more 1\n");

    CHECK(status_of(admin.get("/")) == 404);
    CHECK(status_of(admin.get("/metrics/less")) == 404);
    CHECK(status_of(admin.get("/healthz/../metrics")) == 404);
    const auto posted = admin.ask("POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n");
    CHECK(status_of(posted) == 405);
    CHECK(posted.find("Allow: GET, HEAD\r\n") != std::string::npos);
    CHECK(status_of(admin.ask("POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n")) == 413);
}

TEST_CASE("metrics may be at another server, over TLS, with a certificate of the server alone", "[net]") {
    Admin admin;
    const auto health = net::admin_handler(
        admin.metrics, [] { return std::vector<std::string>(); }, std::nullopt);
    const auto status_at = [](const net::Handler& handler, const char* path) {
        net::HttpRequest request = {.target = path};
        return std::get<net::HttpResponse>(handler(request)).status;
    };
    CHECK(status_at(health, "/healthz") == 200);
    CHECK(status_at(health, "/readyz") == 200);
    CHECK(status_at(health, "/metrics") == 404);

    // The server of reviews may ask its clients for certificates of this CA.
    const test::Authority authority;
    const auto certificate = authority.issue();
    const net::TlsIdentity identity = {.cert_pem = certificate.cert,
                                       .key_pem = certificate.key,
                                       .client_ca_pem = test::Authority("clients").cert()};
    const auto server =
        net::start_metrics_server(admin.loop.executor(), {"127.0.0.1", 0}, net::Tls::make(identity).value(),
                                  net::metrics_handler(admin.metrics, {}), admin.log);
    REQUIRE(server.has_value());
    CHECK(admin.line.find("\"msg\":\"listening\",\"what\":\"metrics\"") != std::string::npos);
    const auto port = static_cast<std::uint16_t>(std::stoi(admin.line.substr(admin.line.rfind(':') + 1)));
    const auto get = [&](const std::string& path) {
        std::string response;
        auto body = [&]() -> net::Task<> {
            test::PeerTls tls;
            tls.ca = authority.cert();
            tls.server_name = "localhost";
            const auto peer = co_await test::connect(port, tls);
            response = co_await peer->ask("GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n");
        };
        admin.loop.run(body());
        return response;
    };
    CHECK(body_of(get("/metrics")).find("signalbox_ready 1\n") != std::string::npos);
    for (const char* path : {"/", "/healthz", "/readyz", "/metrics/more"}) CHECK(status_of(get(path)) == 404);
}

TEST_CASE("a taken admin port is an error", "[net]") {
    Admin admin;
    const auto second = net::start_admin_server(
        admin.loop.executor(), {"127.0.0.1", admin.port}, admin.metrics,
        [] { return std::vector<std::string>(); }, admin.log);
    REQUIRE(second.has_error());
    CHECK(second.error().message.find("the port is in use") != std::string::npos);
}

TEST_CASE("metrics are kept by name and labels", "[net]") {
    net::Metrics metrics;
    metrics.counter("requests_total", "Requests.", {{"path", "/a"}, {"code", "200"}}).add();
    metrics.counter("requests_total", "Requests.", {{"code", "200"}, {"path", "/a"}}).add(2);
    metrics.counter("requests_total", "Requests.", {{"path", "/b\"\n"}, {"code", "200"}}).add();
    auto gauge = metrics.gauge("size", "Size.");
    gauge.set(5);
    gauge.add(-2);
    auto histogram = metrics.histogram("seconds", "Time.", {0.1, 1});
    histogram.observe(0.05);
    histogram.observe(0.5);
    metrics.before_expose([&metrics, calls = 0]() mutable { metrics.gauge("calls", "Calls.").set(++calls); });
    const auto text = metrics.expose();
    for (const char* line : {"# HELP requests_total Requests.\n", "# TYPE requests_total counter\n",
                             "requests_total{code=\"200\",path=\"/a\"} 3\n",
                             "requests_total{code=\"200\",path=\"/b\\\"\\n\"} 1\n", "size 3\n",
                             "seconds_bucket{le=\"0.1\"} 1\n", "seconds_bucket{le=\"1\"} 2\n",
                             "seconds_bucket{le=\"+Inf\"} 2\n", "seconds_count 2\n", "calls 1\n"})
        CHECK(text.find(line) != std::string::npos);
}

TEST_CASE("readiness is a metric as well", "[net]") {
    Admin admin;
    CHECK(body_of(admin.get("/metrics")).find("signalbox_ready 1\n") != std::string::npos);
    admin.missing = {"no certificate"};
    CHECK(body_of(admin.get("/metrics")).find("signalbox_ready 0\n") != std::string::npos);
}

TEST_CASE("a counter whose value is kept elsewhere shows that value at each scrape", "[net]") {
    net::Metrics metrics;
    double count = 3;
    metrics.read_counter("x_total", "X.", [&] { return count; });
    metrics.read_gauge("y", "Y.", [&] { return -count; });
    const auto shows = [&](const std::string& line) {
        return metrics.expose().find("\n" + line + "\n") != std::string::npos;
    };
    CHECK(shows("x_total 3"));
    CHECK(shows("x_total 3"));
    count = 5;
    CHECK(shows("x_total 5"));
    CHECK(shows("y -5"));
    count = 1;  // it was started again
    CHECK(shows("x_total 5"));
    count = 2;
    CHECK(shows("x_total 6"));
}

TEST_CASE("handles without a series do nothing", "[net]") {
    net::Counter().add();
    net::Gauge().set(1);
    net::Histogram().observe(1);
}

TEST_CASE("label values from outside cannot fill the memory", "[net]") {
    net::Metrics metrics;
    const std::size_t many = 3 * net::Metrics::max_series;
    for (std::size_t i = 0; i < many; ++i)
        metrics.counter("x_total", "X.", {{"path", "/" + std::to_string(i)}}).add();
    const auto text = metrics.expose();
    std::size_t series = 0;
    for (auto at = text.find("x_total{"); at != std::string::npos; at = text.find("x_total{", at + 1))
        ++series;
    CHECK(series == net::Metrics::max_series + 1);
    CHECK(text.find("x_total{path=\"other\"} " + std::to_string(many - net::Metrics::max_series) + "\n") !=
          std::string::npos);
}

TEST_CASE("series may be used from several threads", "[net][threads]") {
    net::Metrics metrics;
    const auto work = [&] {
        for (int i = 0; i < 200; ++i) {
            metrics.counter("x_total", "X.", {{"i", std::to_string(i % 7)}}).add();
            if (i % 50 == 0) metrics.expose();
        }
    };
    std::thread first(work);
    std::thread second(work);
    first.join();
    second.join();
    CHECK(metrics.expose().find("x_total{i=\"6\"} 56\n") != std::string::npos);
}

TEST_CASE("a process exports its own memory, CPU time and start", "[net]") {
    net::Metrics metrics;
    net::add_process_metrics(metrics);
    const auto text = metrics.expose();
    const auto value = [&](const std::string& name) {
        const auto at = text.find("\n" + name + " ");
        return at == std::string::npos ? std::nan("") : std::stod(text.substr(at + name.size() + 2));
    };
    CHECK(value("process_resident_memory_bytes") > 1e6);
    CHECK(value("process_open_fds") >= 3);
    CHECK(value("process_cpu_seconds_total") >= 0);
    CHECK(value("process_start_time_seconds") > 1.7e9);
}
