#pragma once
#include <memory>

#include "net/http_client.hpp"
#include "openssl.hpp"

namespace net {

/// The TLS half of a ClientConfig, for any number of connections. New ones resume the latest session that the
/// server has offered: two fifths of the CPU time of a whole handshake. Who is trusted, and whom we say we
/// are, belongs to that session, so that another ClientConfig begins without one; and as a resumed handshake
/// shows no certificate, a session is of use only while the one that it began with is valid. Thread rule: one
/// thread.
class ClientTls {
public:
    ClientTls() = default;
    ClientTls(const ClientTls&) = delete;
    ClientTls& operator=(const ClientTls&) = delete;

    /// Fails with `invalid` when a PEM text is broken; the field says which.
    static api::Result<std::shared_ptr<const ClientTls>> make(const ClientConfig& config);

    /// A connection's TLS state in the client's role, which verifies the server as configured.
    SslPtr new_connection() const;

    /// After a handshake that failed, for whatever reason: the next one is a whole one.
    void forget_session() const { session_.reset(); }

private:
    bool may_resume() const;
    /// OpenSSL's callback for each session that a server offers.
    static int keep(SSL* connection, SSL_SESSION* session);

    SslContextPtr context_ = {};
    mutable SslSessionPtr session_ = {};
    std::string sni_ = {};  ///< empty for addresses, which SNI cannot carry
};

}  // namespace net
