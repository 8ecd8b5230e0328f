#pragma once
#include <openssl/ssl.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/error.hpp"

namespace net {

struct OpenSslFree {
    void operator()(SSL* pointer) const { SSL_free(pointer); }
    void operator()(SSL_CTX* pointer) const { SSL_CTX_free(pointer); }
    void operator()(SSL_SESSION* pointer) const { SSL_SESSION_free(pointer); }
    void operator()(X509* pointer) const { X509_free(pointer); }
    void operator()(EVP_PKEY* pointer) const { EVP_PKEY_free(pointer); }
    void operator()(BIO* pointer) const { BIO_free(pointer); }
};
using SslPtr = std::unique_ptr<SSL, OpenSslFree>;
using SslContextPtr = std::unique_ptr<SSL_CTX, OpenSslFree>;
using SslSessionPtr = std::unique_ptr<SSL_SESSION, OpenSslFree>;
using CertificatePtr = std::unique_ptr<X509, OpenSslFree>;
using KeyPtr = std::unique_ptr<EVP_PKEY, OpenSslFree>;

/// The reason of this thread's oldest queued OpenSSL error; empties the queue.
std::string openssl_error();

/// Every certificate of a PEM text, at least one.
api::Result<std::vector<CertificatePtr>> read_certificates(std::string_view pem);

/// A key without a pass phrase.
api::Result<KeyPtr> read_key(std::string_view pem);

/// What both directions have in common: TLS 1.3 or 1.2, AEAD suites, nothing optional.
SslContextPtr make_context(const SSL_METHOD* method);

/// Shows this chain (leaf first) to the other side.
api::Result<> use_identity(SSL_CTX& context, const std::vector<CertificatePtr>& chain, EVP_PKEY& key);

/// Trusts what these certificates issued.
void trust(SSL_CTX& context, const std::vector<CertificatePtr>& authorities);

}  // namespace net
