#pragma once
#include <memory>
#include <string>

#include "loop.hpp"
#include "net/client/http_client.hpp"
#include "peer.hpp"
#include "server_fixture.hpp"

namespace test {

struct ClientOptions {
    bool tls = false;
    ScriptedServer::Script script = {};
    std::string host = "127.0.0.1";
    std::chrono::milliseconds request_timeout{30'000};
    std::size_t max_connections = 128;
};

/// Answers every request with the same bytes.
net::Task<> answer_all(Peer& peer, std::string response);

/// A client and its scripted server, on one loop.
class Client {
public:
    explicit Client(ClientOptions options);
    ~Client();

    api::Result<net::HttpResponse> send(net::HttpRequest request, std::size_t max_body = 1 << 30) {
        return loop.run(http->send(std::move(request), max_body));
    }
    api::Result<net::HttpClient::Opened> open(net::HttpRequest request, std::chrono::seconds idle_timeout) {
        return loop.run(http->open(std::move(request), idle_timeout));
    }

    Loop loop;
    Authority authority;
    std::unique_ptr<ScriptedServer> server = {};
    net::ClientConfig config = {};
    std::unique_ptr<net::HttpClient> http = {};
};

}  // namespace test
