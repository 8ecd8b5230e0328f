#include "tls/openssl.hpp"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <new>

namespace net {
namespace {

using BioPtr = std::unique_ptr<BIO, OpenSslFree>;

BioPtr bio_of(std::string_view text) {
    return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// By default OpenSSL asks for the pass phrase on the terminal.
int no_pass_phrase(char*, int, int, void*) { return 0; }

}  // namespace

std::string openssl_error() {
    const auto code = ERR_get_error();
    ERR_clear_error();
    if (code == 0) return "unknown TLS error";
    if (const char* reason = ERR_reason_error_string(code)) return reason;
    return "TLS error " + std::to_string(ERR_GET_REASON(code));
}

api::Result<std::vector<CertificatePtr>> read_certificates(std::string_view pem) {
    std::vector<CertificatePtr> certificates;
    const CleanErrors clean;
    const auto bio = bio_of(pem);
    while (CertificatePtr certificate{PEM_read_bio_X509_AUX(bio.get(), nullptr, no_pass_phrase, nullptr)})
        certificates.push_back(std::move(certificate));
    const auto code = ERR_peek_last_error();
    const bool at_end = ERR_GET_LIB(code) == ERR_LIB_PEM && ERR_GET_REASON(code) == PEM_R_NO_START_LINE;
    if (!at_end) return api::invalid("", "broken PEM certificate (" + openssl_error() + ")");
    if (certificates.empty()) return api::invalid("", "no PEM block CERTIFICATE found");
    return certificates;
}

api::Result<KeyPtr> read_key(std::string_view pem) {
    if (pem.find("PRIVATE KEY-----") == std::string_view::npos)
        return api::invalid("", "no PEM block PRIVATE KEY found");
    if (pem.find("ENCRYPTED") != std::string_view::npos)
        return api::invalid("", "the private key has a pass phrase: store it without one");
    const CleanErrors clean;
    const auto bio = bio_of(pem);
    KeyPtr key(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_pass_phrase, nullptr));
    if (!key) return api::invalid("", "broken PEM private key (" + openssl_error() + ")");
    return key;
}

SslContextPtr make_context(const SSL_METHOD* method) {
    SslContextPtr context(SSL_CTX_new(method));
    if (!context) throw std::bad_alloc();
    auto* c = context.get();
    SSL_CTX_set_min_proto_version(c, TLS1_2_VERSION);
    SSL_CTX_set_options(c, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET |
                               SSL_OP_CIPHER_SERVER_PREFERENCE);
    SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_OFF);
    // Released buffers reduce the memory of an idle connection to a third. Read-ahead takes several records
    // per system call.
    SSL_CTX_set_mode(
        c, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_read_ahead(c, 1);
    SSL_CTX_set_ciphersuites(c, "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256");
    SSL_CTX_set_cipher_list(c, "ECDHE+AESGCM:ECDHE+CHACHA20");
    SSL_CTX_set1_groups_list(c, "X25519:P-256:P-384");
    return context;
}

api::Result<> use_identity(SSL_CTX& context, const std::vector<CertificatePtr>& chain, EVP_PKEY& key) {
    const CleanErrors clean;
    if (SSL_CTX_use_certificate(&context, chain.front().get()) != 1)
        return api::invalid("", "the certificate is not usable (" + openssl_error() + ")");
    if (X509_check_private_key(chain.front().get(), &key) != 1)
        return api::invalid("", "the private key does not belong to the certificate");
    if (SSL_CTX_use_PrivateKey(&context, &key) != 1)
        return api::invalid("", "the private key is not usable (" + openssl_error() + ")");
    for (std::size_t i = 1; i < chain.size(); ++i) {
        if (SSL_CTX_add1_chain_cert(&context, chain[i].get()) != 1)
            return api::invalid("", "certificate " + std::to_string(i + 1) + " of the chain is not usable (" +
                                        openssl_error() + ")");
    }
    return {};
}

void trust(SSL_CTX& context, const std::vector<CertificatePtr>& authorities) {
    // A duplicate certificate is no error.
    const CleanErrors clean;
    X509_STORE* store = SSL_CTX_get_cert_store(&context);
    for (const auto& authority : authorities) X509_STORE_add_cert(store, authority.get());
}

}  // namespace net
