#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "certificates.hpp"
#include "net/process/async.hpp"

namespace test {

/// How the other end of a connection speaks TLS.
struct PeerTls {
    std::string ca = {};  ///< a client's: what it trusts; empty = anything
    std::string server_name = {};
    Certificate identity = {};
    bool ask_for_certificate = false;  ///< a server's: demands one of `ca`
    int max_version = 0;               ///< 0 = any
    std::string ciphers = {};          ///< for TLS 1.2, in OpenSSL's words
    std::string alpn = {};             ///< in wire format
    int cut = -1;                      ///< a server's: the connection of this number ends in its handshake
};

/// The other end of a connection of the code under test: sends and receives raw bytes. It is built on Asio's
/// own TLS, so that our TLS is not tested against itself.
class Peer {
public:
    virtual ~Peer() = default;
    virtual net::Task<> send(std::string bytes) = 0;
    /// At least one byte; "" when the connection ended in whatever way.
    virtual net::Task<std::string> receive() = 0;
    virtual void half_close() = 0;
    virtual void reset() = 0;  ///< the ungentle end
    /// Over TLS with a close_notify; a peer that is merely destroyed sends none.
    virtual net::Task<> close() = 0;

    /// A TLS client's wish for another handshake.
    virtual net::Task<> renegotiate() = 0;

    /// Sends, then reads one response with Content-Length; what comes behind it is kept for the next call.
    net::Task<std::string> ask(std::string bytes);
    net::Task<std::string> response();
    /// Reads one request with Content-Length.
    net::Task<std::string> request() { return response(); }
    /// Everything until the connection ends.
    net::Task<std::string> rest();

    std::string common_name = {};  ///< of the other side's certificate
    std::string version = {};      ///< "TLSv1.3"
    std::string cipher = {};
    bool resumed = false;         ///< the handshake went on from an earlier connection's
    bool ended_properly = false;  ///< after receive() gave "": FIN, over TLS behind a close_notify

private:
    std::string kept_ = {};
};

using PeerPtr = std::unique_ptr<Peer>;

/// Throws boost::system::system_error when TCP or TLS refuse.
net::Task<PeerPtr> connect(std::uint16_t port, std::optional<PeerTls> tls = {});

/// A server that does what a script says, one coroutine per connection; at its end the connection is dropped.
class ScriptedServer {
public:
    /// `number` counts connections from 0.
    using Script = std::function<net::Task<>(Peer& peer, int number)>;

    ScriptedServer(boost::asio::any_io_executor executor, Script script, std::optional<PeerTls> tls = {});
    ~ScriptedServer();

    std::uint16_t port() const;
    int connections() const;
    void stop();

private:
    struct Impl;
    std::shared_ptr<Impl> impl_;
};

/// The number in the first line of a response; 0 if there is none.
int status_of(const std::string& response);
std::string body_of(const std::string& response);

}  // namespace test
