#pragma once
#include <string>

namespace net {

/// PEM texts of a server's certificate chain (leaf first) and key.
struct TlsIdentity {
    std::string cert_pem = {};
    std::string key_pem = {};
    std::string client_ca_pem = {};  ///< not empty: clients need a certificate of one of these CAs
};

}  // namespace net
