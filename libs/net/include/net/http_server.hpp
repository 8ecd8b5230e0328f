#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>

#include "net/async.hpp"
#include "net/http.hpp"
#include "net/log.hpp"
#include "net/tls.hpp"

namespace net {

/// An answer that is there at once, or a coroutine that brings it. The former costs no coroutine frame: the
/// path to take when nothing has to be waited for.
using Answer = std::variant<HttpResponse, Task<HttpResponse>>;

/// Called once per well-formed request. The request belongs to the connection and stays valid until the
/// answer is there; the handler may move from it or parse the body in place. What it throws becomes a 500
/// and is counted. A coroutine lambda fits as well: it must outlive the server or capture nothing.
using Handler = std::function<Answer(HttpRequest& request)>;

/// What one server grants to all its clients. Deadlines are per phase and absolute: a trickle of bytes does
/// not prolong them.
struct ServerLimits {
    std::size_t header_bytes = 16 * 1024;      ///< request line and headers; else 431
    std::size_t body_bytes = 7 * 1024 * 1024;  ///< else 413
    /// Of all request bodies and answers held at a time, less `uncounted_bytes` of each. Beyond it the
    /// slowest sender or reader is sent away; if nobody is slow, 503.
    std::size_t total_bytes = 64 * 1024 * 1024;
    /// Beyond it somebody makes room: who is slow, who never said hello or asked for anything, who is idle.
    std::size_t max_connections = 1024;
    std::chrono::milliseconds handshake_timeout{10'000};  ///< for the client's hello, and for the rest
    std::chrono::milliseconds header_timeout{10'000};     ///< from the first byte of a request; else 408
    std::chrono::milliseconds body_timeout{20'000};       ///< from the end of the headers; else 408
    std::chrono::milliseconds write_timeout{10'000};      ///< for one answer
    std::chrono::milliseconds idle_timeout{120'000};      ///< between requests, and before the first one
    /// Who needs longer for his handshake or request makes room for others first.
    std::chrono::milliseconds slow_after{1'000};

    /// So much of a body or an answer every connection may have: who sends little is not held up by those who
    /// send much.
    static constexpr std::size_t uncounted_bytes = 32 * 1024;
};

struct ServerConfig {
    std::string host = "0.0.0.0";
    std::uint16_t port = 0;         ///< 0 = any free one
    std::shared_ptr<Tls> tls = {};  ///< null = plain HTTP
    bool share_port = false;        ///< SO_REUSEPORT, for one server per thread on the same port
    ServerLimits limits = {};
};

/// Counters of the answers that the server gave itself, by status.
class Refusals {
public:
    static constexpr std::array<int, 7> statuses = {400, 408, 411, 413, 417, 431, 503};

    std::atomic<std::uint64_t>& of(int status) { return counts_[index_of(status)]; }
    const std::atomic<std::uint64_t>& of(int status) const { return counts_[index_of(status)]; }

private:
    static std::size_t index_of(int status) {
        return static_cast<std::size_t>(std::ranges::find(statuses, status) - statuses.begin());
    }
    std::array<std::atomic<std::uint64_t>, statuses.size() + 1> counts_ =
        {};  // the last one: of none of these
};

/// Counters of one server; read from any thread.
struct ServerStats {
    std::atomic<std::uint64_t> accepted = 0;
    std::atomic<std::uint64_t> refused = 0;  ///< turned away, or sent away to make room, at max_connections
    std::atomic<std::uint64_t> handshake_errors = 0;
    std::atomic<std::uint64_t> requests = 0;  ///< given to the handler
    Refusals refusals = {};
    std::atomic<std::uint64_t> timeouts = 0;
    std::atomic<std::uint64_t> floods = 0;          ///< connections ended for TLS records without data
    std::atomic<std::uint64_t> handler_errors = 0;  ///< exceptions
    std::atomic<std::int64_t> connections = 0;      ///< open now
    std::atomic<std::int64_t> in_flight = 0;        ///< requests in the handler now
};

/// An HTTP/1.1 server: keep-alive, chunked requests, Expect: 100-continue; pipelined requests are answered in
/// order. Thread rule: everything, the handler too, runs on the one thread that runs `executor`; other
/// members are called from there as well. Destroying it closes every connection.
class HttpServer {
public:
    virtual ~HttpServer() = default;
    /// Binds and begins to accept; returns the port. Errors name the address and how to mend it.
    virtual api::Result<std::uint16_t> start() = 0;
    /// From now on every answer carries `Connection: close`, so that clients move on before drain() begins.
    virtual void retire() = 0;
    /// Stops accepting, closes idle connections, lets running requests finish with `Connection: close`;
    /// what is left after `grace` is cut. Returns when all connections are gone or cut.
    virtual Task<> drain(std::chrono::milliseconds grace) = 0;
    virtual const ServerStats& stats() const = 0;
};

/// `log` must outlive the executor's context.
std::unique_ptr<HttpServer> make_http_server(boost::asio::any_io_executor executor, ServerConfig config,
                                             Handler handler, Log& log);

}  // namespace net
