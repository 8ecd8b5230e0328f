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
#include <string_view>
#include <variant>

#include "net/http/http.hpp"
#include "net/process/async.hpp"
#include "net/process/log.hpp"
#include "net/tls/tls.hpp"

namespace net {

/// A response, or a coroutine that returns one. The former needs no coroutine frame: use it when there is
/// nothing to wait for.
using Answer = std::variant<HttpResponse, Task<HttpResponse>>;

/// The server calls it once per well-formed request. The connection owns the request, which stays valid until
/// the response is returned. The handler may move from the request or parse its body in place. An exception
/// becomes a 500 and is counted. A coroutine lambda must outlive the server or capture nothing.
using Handler = std::function<Answer(HttpRequest& request)>;

/// Limits that all connections of one server share. Each phase of a connection has an absolute deadline: a
/// peer cannot prolong it by sending a few bytes at a time.
struct ServerLimits {
    std::size_t header_bytes = 16 * 1024;      ///< request line and headers; else 431
    std::size_t body_bytes = 7 * 1024 * 1024;  ///< else 413
    /// Limit of all request bodies and responses held at a time, less `uncounted_bytes` of each. At the limit
    /// the server closes the slowest connection that sends or reads; if none is slow, it responds with 503.
    std::size_t total_bytes = 64 * 1024 * 1024;
    /// At the limit the server closes one connection for each new one: first a slow one, then one that has
    /// not sent its TLS ClientHello or is not known (ServerConfig::is_to_known), then an idle
    /// one.
    std::size_t max_connections = 1024;
    /// Beyond so many known connections, responses carry `Connection: close`: where there are more clients
    /// than connections, they come and go, and none is closed under a request. 0: as many as there are.
    std::size_t kept_connections = 0;
    std::chrono::milliseconds handshake_timeout{10'000};  ///< for the ClientHello, and again for the rest
    std::chrono::milliseconds header_timeout{10'000};     ///< from the first byte of a request; else 408
    std::chrono::milliseconds body_timeout{20'000};       ///< from the end of the headers; else 408
    std::chrono::milliseconds write_timeout{10'000};      ///< for one response
    std::chrono::milliseconds idle_timeout{120'000};      ///< between requests, and before the first one
    /// A connection that needs longer for its handshake, its request or for reading a response is closed
    /// first at a limit.
    std::chrono::milliseconds slow_after{1'000};
    /// New connections per second from one IP address (of IPv6 from one /64), and the number at once after a
    /// pause. Others are closed before their handshake. 0: no limit.
    double connections_per_source = 0;
    int connections_at_once = 50;

    /// Share of a body or a response that `total_bytes` does not count. So small requests pass while large
    /// ones fill the limit.
    static constexpr std::size_t uncounted_bytes = 32 * 1024;
};

/// Makes the response to a request that the server refuses by itself or whose handler threw. The server sets
/// the status, and closes the connection where it has to. `text` says why.
using Refuse = std::function<HttpResponse(int status, std::string_view text)>;

/// Returns whether a response of the handler shows that the server's clients include this one.
using IsToKnown = std::function<bool(const HttpResponse&)>;

struct ServerConfig {
    /// "::" takes IPv4, too, and IPv4 alone where the machine has no IPv6.
    std::string host = "::";
    std::uint16_t port = 0;             ///< 0: any free port
    std::shared_ptr<Tls> tls = {};      ///< null: plain HTTP
    bool asks_for_certificates = true;  ///< false: clients need no certificate, whatever `tls` has of them
    bool share_port = false;            ///< SO_REUSEPORT, for one server per thread on the same port
    ServerLimits limits = {};
    Refuse refuse = {};  ///< empty: plain text
    /// After such a response a connection is known. Connections that are not known are closed first at a
    /// limit. Empty: after any response.
    IsToKnown is_to_known = {};
};

/// Counts the responses that the server made itself, by status.
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
        {};  // the last one: any other status
};

/// Counters of one server. Thread rule: any thread may read them.
struct ServerStats {
    std::atomic<std::uint64_t> accepted = 0;
    std::atomic<std::uint64_t> refused = 0;  ///< refused at max_connections, or closed to make room
    std::atomic<std::uint64_t> limited = 0;  ///< closed at once for connections_per_source
    std::atomic<std::uint64_t> handshake_errors = 0;
    std::atomic<std::uint64_t> rejected_server_certificates = 0;  ///< of these, by clients
    std::atomic<std::uint64_t> rejected_client_certificates = 0;  ///< of these, or missing ones
    std::atomic<std::uint64_t> requests = 0;                      ///< given to the handler
    Refusals refusals = {};
    std::atomic<std::uint64_t> timeouts = 0;
    std::atomic<std::uint64_t> floods = 0;          ///< connections closed for TLS records without data
    std::atomic<std::uint64_t> handler_errors = 0;  ///< exceptions of the handler
    std::atomic<std::int64_t> connections = 0;      ///< open now
    std::atomic<std::int64_t> in_flight = 0;        ///< requests in the handler now
};

/// An HTTP/1.1 server with keep-alive, chunked requests and Expect: 100-continue. It answers pipelined
/// requests in order. The destructor closes every connection. Thread rule: the one thread that runs
/// `executor`, for the members, the connections and the handler.
class HttpServer {
public:
    virtual ~HttpServer() = default;
    /// Binds the address and begins to accept connections; returns the port. Errors name the address and say
    /// how to fix it.
    virtual api::Result<std::uint16_t> start() = 0;
    /// From now on every response carries `Connection: close`, so that clients move on before drain() begins.
    virtual void close_after_response() = 0;
    /// Stops accepting, closes idle connections, and lets running requests finish with `Connection: close`.
    /// Closes the rest after `grace`. Returns when all connections are gone or closed.
    virtual Task<> drain(std::chrono::milliseconds grace) = 0;
    virtual const ServerStats& stats() const = 0;
};

/// `log` must outlive the executor's context.
std::unique_ptr<HttpServer> make_http_server(boost::asio::any_io_executor executor, ServerConfig config,
                                             Handler handler, Log& log);

}  // namespace net
