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

/// The TLS settings of the other end of a connection.
struct PeerTls {
    std::string ca = {};  ///< of a client: the certificates that it trusts; empty: any
    std::string server_name = {};
    Certificate identity = {};
    bool ask_for_certificate = false;  ///< of a server: clients need a certificate of `ca`
    int max_version = 0;               ///< 0: any
    std::string ciphers = {};          ///< for TLS 1.2, with OpenSSL's names
    std::string alpn = {};             ///< in wire format
    int cut = -1;  ///< of a server: closes the connection of this number during its handshake
};

/// The other end of a connection of the code under test: sends and receives raw bytes. It uses Asio's own
/// TLS, so that our TLS is not tested against itself.
class Peer {
public:
    virtual ~Peer() = default;
    virtual net::Task<> send(std::string bytes) = 0;
    /// Returns at least one byte; "" when the connection has ended in any way.
    virtual net::Task<std::string> receive() = 0;
    virtual void half_close() = 0;
    virtual void reset() = 0;  ///< ends the connection with a reset
    /// Ends the connection, over TLS with a close_notify; the destructor sends none.
    virtual net::Task<> close() = 0;

    /// Requests a renegotiation, as a TLS client.
    virtual net::Task<> renegotiate() = 0;

    /// Sends, then reads one response with Content-Length. Further bytes are kept for the next call.
    net::Task<std::string> ask(std::string bytes);
    net::Task<std::string> response();
    /// Reads one request with Content-Length.
    net::Task<std::string> request() { return response(); }
    /// Reads everything until the connection ends.
    net::Task<std::string> rest();

    std::string common_name = {};  ///< of the other side's certificate
    std::string version = {};      ///< "TLSv1.3"
    std::string cipher = {};
    bool resumed = false;         ///< whether the handshake resumed a session
    bool ended_properly = false;  ///< after receive() gave "": whether a FIN ended the connection, over TLS
                                  ///< after a close_notify

private:
    std::string kept_ = {};
};

using PeerPtr = std::unique_ptr<Peer>;

/// Throws boost::system::system_error if TCP or TLS fail.
net::Task<PeerPtr> connect(std::uint16_t port, std::optional<PeerTls> tls = {});

/// A server that runs a script in one coroutine per connection, and then closes the connection.
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
