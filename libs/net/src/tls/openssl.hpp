#pragma once
#include <openssl/err.h>
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

/// Empties this thread's queue of OpenSSL errors, at its construction and its destruction. Functions that
/// succeed may leave errors there, and a connection of the thread would report them as its own.
struct CleanErrors {
    CleanErrors() { ERR_clear_error(); }
    ~CleanErrors() { ERR_clear_error(); }
    CleanErrors(const CleanErrors&) = delete;
    CleanErrors& operator=(const CleanErrors&) = delete;
};

/// Returns the reason of this thread's oldest queued OpenSSL error and empties the queue.
std::string openssl_error();

/// Reads every certificate of a PEM text. Fails if one is broken or if there is none.
api::Result<std::vector<CertificatePtr>> read_certificates(std::string_view pem);

/// Reads a private key. Fails if it has a pass phrase.
api::Result<KeyPtr> read_key(std::string_view pem);

/// Returns the settings that clients and servers share: TLS 1.3 or 1.2, AEAD suites, no optional features.
SslContextPtr make_context(const SSL_METHOD* method);

/// Presents this chain (leaf first) to the peer. Fails if the key does not belong to it.
api::Result<> use_identity(SSL_CTX& context, const std::vector<CertificatePtr>& chain, EVP_PKEY& key);

/// Trusts certificates that one of `authorities` issued.
void trust(SSL_CTX& context, const std::vector<CertificatePtr>& authorities);

}  // namespace net
