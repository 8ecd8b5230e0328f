#pragma once
#include <memory>
#include <string>
#include <vector>

#include "certificates.hpp"
#include "loop.hpp"
#include "net/process/timer.hpp"
#include "net/server/http_server.hpp"
#include "peer.hpp"

namespace test {

/// A POST whose body has a Content-Length; `more` are further header lines.
std::string post(std::string_view target, std::string_view body, std::string_view more = "");

/// Gives everything else that is ready a turn, new input included.
net::Task<> let_others_run();

struct TestServerOptions {
    bool tls = false;
    net::ServerLimits limits = {};
    std::string client_ca = {};
    net::TlsPolicy policy = {};
    net::Refuse refuse = {};
    std::string host = "127.0.0.1";  ///< must be reached by that
};

/// A server on loopback with a loop of its own. Its handler answers /echo with "METHOD target body", /slow
/// the same but later, /long after 6 ms of work,
/// /large with two megabytes, /not-known with a 403, after which a connection is not known, /throw and
/// /throw-later with exceptions, and /hang once release() was called.
class TestServer {
public:
    explicit TestServer(TestServerOptions options = {});

    /// Runs a coroutine function to its end.
    template <class Body>
    void run(Body body) {
        loop.run(body());
    }
    /// Returns a client that trusts the server.
    net::Task<PeerPtr> connect();
    const net::ServerStats& stats() const { return server->stats(); }
    void release() { released_->notify(); }

    Loop loop;
    Authority authority;
    std::shared_ptr<net::Tls> tls = {};
    std::vector<std::string> log_lines = {};
    net::Log log;
    std::unique_ptr<net::HttpServer> server = {};
    std::uint16_t port = 0;

private:
    net::Answer answer(net::HttpRequest& request);
    net::Task<net::HttpResponse> answer_later(net::HttpRequest& request);

    std::unique_ptr<net::Wakeup> released_;
};

}  // namespace test
