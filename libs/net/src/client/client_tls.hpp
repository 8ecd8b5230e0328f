#pragma once
#include <memory>

#include "net/client/http_client.hpp"
#include "tls/openssl.hpp"

namespace net {

/// The TLS part of a ClientConfig, for any number of connections. A new connection resumes the latest session
/// that the server offered: two fifths of the CPU time of a full handshake. A session depends on the CAs and
/// on the client certificate, so another ClientConfig begins without one. A resumed handshake shows no
/// certificate, so a session is used only while the certificate of its full handshake is valid. Thread rule:
/// one thread.
class ClientTls {
public:
    ClientTls() = default;
    ClientTls(const ClientTls&) = delete;
    ClientTls& operator=(const ClientTls&) = delete;

    /// Fails with `invalid` if a PEM text is broken; the error's field says which.
    static api::Result<std::shared_ptr<const ClientTls>> make(const ClientConfig& config);

    /// Returns the TLS state of a new connection in the client role. It verifies the server as configured.
    SslPtr new_connection() const;

    /// Call it after any failed handshake: the next handshake is a full one.
    void forget_session() const { session_.reset(); }

private:
    bool may_resume() const;
    /// OpenSSL calls it for each session that a server offers.
    static int keep(SSL* connection, SSL_SESSION* session);

    SslContextPtr context_ = {};
    mutable SslSessionPtr session_ = {};
    std::string sni_ = {};  ///< empty for addresses, which SNI cannot carry
};

}  // namespace net
