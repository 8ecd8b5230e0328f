#include "server_fixture.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <stdexcept>

namespace test {
namespace asio = boost::asio;

namespace {

net::HttpResponse echo(const net::HttpRequest& request) {
    net::HttpResponse response;
    response.body = request.method + " " + request.target + " " + request.body;
    return response;
}

}  // namespace

std::string post(std::string_view target, std::string_view body, std::string_view more) {
    return "POST " + std::string(target) + " HTTP/1.1\r\nHost: test\r\n" + std::string(more) +
           "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
}

net::Task<> let_others_run() {
    for (int i = 0; i < 3; ++i) co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
}

TestServer::TestServer(TestServerOptions options)
    : log(net::LogLevel::debug, net::LogFormat::json, [this](auto line) { log_lines.emplace_back(line); }),
      released_(std::make_unique<net::Wakeup>(loop.executor())) {
    net::ServerConfig config;
    config.host = options.host;
    config.limits = options.limits;
    config.refuse = std::move(options.refuse);
    config.is_to_known = [](const net::HttpResponse& response) { return response.status != 403; };
    if (options.tls) {
        const auto certificate = authority.issue();
        const net::TlsIdentity identity{
            .cert_pem = certificate.cert, .key_pem = certificate.key, .client_ca_pem = options.client_ca};
        config.tls = tls = net::Tls::make(identity, options.policy).value();
    }
    server = net::make_http_server(
        loop.executor(), config, [this](net::HttpRequest& request) { return answer(request); }, log);
    port = server->start().value();
}

net::Task<PeerPtr> TestServer::connect() {
    if (!tls) return test::connect(port);
    PeerTls options;
    options.ca = authority.cert();
    options.server_name = "localhost";
    return test::connect(port, std::move(options));
}

net::Answer TestServer::answer(net::HttpRequest& request) {
    if (request.target == "/throw") throw std::runtime_error("as requested");
    if (request.target == "/peer") return net::HttpResponse{.body = request.peer};
    if (request.target == "/long") {
        const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(6);
        while (std::chrono::steady_clock::now() < end) {
        }
    }
    if (request.target == "/not-known") return net::HttpResponse{.status = 403};
    if (request.target == "/large") return net::HttpResponse{.body = std::string(2'000'000, 'x')};
    if (request.target == "/slow" || request.target == "/hang" || request.target == "/throw-later")
        return answer_later(request);
    return echo(request);
}

net::Task<net::HttpResponse> TestServer::answer_later(net::HttpRequest& request) {
    co_await let_others_run();
    if (request.target == "/throw-later") throw std::runtime_error("as requested");
    if (request.target == "/hang") co_await released_->wait();
    co_return echo(request);
}

}  // namespace test
