#include "client_fixture.hpp"

namespace test {

net::Task<> answer_all(Peer& peer, std::string response) {
    for (;;) {
        const auto request = co_await peer.request();
        if (request.empty()) co_return;
        co_await peer.send(response);
    }
}

Client::Client(ClientOptions options) {
    std::optional<PeerTls> tls;
    if (options.tls) tls = PeerTls{.identity = authority.issue()};
    server = std::make_unique<ScriptedServer>(loop.executor(), std::move(options.script), tls);
    config.host = options.host;
    config.port = std::to_string(server->port());
    config.tls = options.tls;
    config.ca_pem = authority.cert();
    config.request_timeout = options.request_timeout;
    config.max_connections = options.max_connections;
    http = net::make_http_client(loop.executor(), config).value();
}

Client::~Client() {
    http.reset();
    server->stop();
    loop.settle();
}

}  // namespace test
