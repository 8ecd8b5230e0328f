#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "net/client/proxy.hpp"
#include "net/process/async.hpp"

namespace net {

/// The address of a server and the trust settings of a client. It holds PEM texts, not file names: the caller
/// reads the files and decides when to reread them.
struct ClientConfig {
    std::string host = {};  ///< name or address; IPv6 without brackets
    std::string port = "443";
    std::string server_name = {};     ///< for SNI and verification; empty: `host`
    std::optional<Proxy> proxy = {};  ///< connects to `host` for the client
    bool tls = true;
    std::string ca_pem = {};  ///< empty: the system's roots
    bool verify = true;       ///< false only for a kubeconfig with insecure-skip-tls-verify
    std::string client_cert_pem = {};
    std::string client_key_pem = {};
    std::chrono::milliseconds connect_timeout{10'000};
    std::chrono::milliseconds request_timeout{30'000};  ///< up to the last byte; in open(), up to the headers
    std::size_t max_connections = 128;                  ///< further requests wait for a free one
};

/// The body of a response without an end of its own, such as a watch.
class ByteStream {
public:
    virtual ~ByteStream() = default;
    /// Returns the next bytes, at least one; an empty string when the server ended the body properly. Fails
    /// with `unavailable` when the connection broke, or when no byte arrived within the `idle_timeout` of
    /// open().
    virtual Async<std::string> read() = 0;
};

/// A client of one server with a pool of keep-alive HTTP/1.1 connections. If a reused connection breaks
/// before the first byte of the response, the client sends the request once more on a new connection.
/// Transport failures are `unavailable`. Thread rule: the one thread that runs its executor.
class HttpClient {
public:
    virtual ~HttpClient() = default;
    /// Sends the request and returns the response, whatever its HTTP status. Fails with `too_large` if the
    /// body has more than `max_body` bytes; then the rest is not read and the connection is closed.
    virtual Async<HttpResponse> send(HttpRequest request, std::size_t max_body) = 0;
    struct Opened {
        HttpResponse response = {};
        std::unique_ptr<ByteStream> stream = {};
    };
    /// As send(), but the caller reads the body from `stream` as it arrives. The stream owns the connection.
    /// If the status is not 2xx, `stream` is null and `response` has the whole body, at most one megabyte.
    virtual Async<Opened> open(HttpRequest request, std::chrono::seconds idle_timeout) = 0;
    /// New connections use `config` from now on. Closes idle connections; busy ones finish. Fails, and
    /// changes nothing, if the PEM texts are broken or do not belong together.
    virtual api::Result<> reconfigure(ClientConfig config) = 0;
};

/// Fails if the PEM texts are broken or do not belong together.
api::Result<std::unique_ptr<HttpClient>> make_http_client(boost::asio::any_io_executor executor,
                                                          ClientConfig config);

}  // namespace net
