#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "net/async.hpp"
#include "net/http.hpp"

namespace net {

/// Where a client connects and whom it trusts. PEM texts, not file names: whoever reads files decides when to
/// reread.
struct ClientConfig {
    std::string host = {};  ///< name or address; IPv6 without brackets
    std::string port = "443";
    std::string server_name = {};  ///< for SNI and verification; empty = host
    bool tls = true;
    std::string ca_pem = {};  ///< empty = the system's roots
    bool verify = true;       ///< false only for kubeconfigs that say insecure-skip-tls-verify
    std::string client_cert_pem = {};
    std::string client_key_pem = {};
    std::chrono::milliseconds connect_timeout{10'000};
    std::chrono::milliseconds request_timeout{
        30'000};                        ///< all in all, up to the last byte (open(): the headers)
    std::size_t max_connections = 128;  ///< further requests wait for a free one
};

/// The body of a response that does not end by itself, such as a watch.
class ByteStream {
public:
    virtual ~ByteStream() = default;
    /// The next bytes, at least one; an empty string when the server ended the body properly. Errors:
    /// `unavailable` when the connection broke, or nothing came for `idle_timeout` (given to open()).
    virtual Async<std::string> read() = 0;
};

/// One server, a pool of keep-alive HTTP/1.1 connections. A request on a reused connection that dies before
/// the first byte of the answer is silently sent once more on a new one. Transport failures are
/// `unavailable`. Thread rule: used from the one thread that runs its executor.
class HttpClient {
public:
    virtual ~HttpClient() = default;
    /// Any HTTP status is a success here. A body of more than `max_body` bytes is `too_large`; it is not read
    /// to its end, and its connection is closed.
    virtual Async<HttpResponse> send(HttpRequest request, std::size_t max_body) = 0;
    /// As send(), but hands out the body as it comes; the connection belongs to the stream and dies with it.
    /// When the status is not 2xx, the body is read whole, up to a megabyte, and returned in `response`, and
    /// `stream` is null.
    struct Opened {
        HttpResponse response = {};
        std::unique_ptr<ByteStream> stream = {};
    };
    virtual Async<Opened> open(HttpRequest request, std::chrono::seconds idle_timeout) = 0;
    /// New connections use this from now on; idle ones are closed, busy ones finish. Fails, and changes
    /// nothing, when the PEM texts are broken or do not belong together.
    virtual api::Result<> reconfigure(ClientConfig config) = 0;
};

/// Fails when the PEM texts are broken.
api::Result<std::unique_ptr<HttpClient>> make_http_client(boost::asio::any_io_executor executor,
                                                          ClientConfig config);

}  // namespace net
