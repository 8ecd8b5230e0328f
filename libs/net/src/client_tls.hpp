#pragma once
#include <memory>

#include "net/http_client.hpp"
#include "openssl.hpp"

namespace net {

/// The TLS half of a ClientConfig, for any number of connections.
class ClientTls {
public:
    /// Fails with `invalid` when a PEM text is broken; the field says which.
    static api::Result<std::shared_ptr<const ClientTls>> make(const ClientConfig& config);

    /// A connection's TLS state in the client's role, which verifies the server as configured.
    SslPtr new_connection() const;

private:
    SslContextPtr context_ = {};
    std::string sni_ = {};  ///< empty for addresses, which SNI cannot carry
};

}  // namespace net
