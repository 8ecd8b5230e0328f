#include "certificate/stand_in.hpp"

#include "certificate/rotator.hpp"
#include "net/tls/certificate.hpp"

namespace webhook {

using namespace std::chrono_literals;

api::Result<std::shared_ptr<net::Tls>> make_stand_in(const std::string& client_ca_file) {
    auto client_ca = read_client_ca(client_ca_file);
    if (!client_ca) return client_ca.error();
    const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    const net::CertificateFacts facts = {
        .not_before = now - 1h, .not_after = now + 24h, .dns_names = {"not-ready.invalid"}};
    net::TlsIdentity identity = net::make_self_signed(facts).identity;
    identity.client_ca_pem = std::move(*client_ca);
    return net::Tls::make(identity);
}

}  // namespace webhook
