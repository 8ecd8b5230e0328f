#include "net/tls/tls.hpp"

#include <openssl/err.h>
#include <openssl/x509.h>

#include <ctime>

#include "tls/suites.hpp"
#include "tls/tls_impl.hpp"

namespace net {
namespace {

int choose_http11(SSL*, const unsigned char** out, unsigned char* out_size, const unsigned char* in,
                  unsigned int in_size, void*) {
    static constexpr unsigned char ours[] = "\x08http/1.1";
    unsigned char* chosen = nullptr;
    if (SSL_select_next_proto(&chosen, out_size, ours, sizeof(ours) - 1, in, in_size) !=
        OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    *out = chosen;
    return SSL_TLSEXT_ERR_OK;
}

api::Time end_of(const X509& certificate) {
    std::tm utc = {};
    ASN1_TIME_to_tm(X509_get0_notAfter(&certificate), &utc);
    return api::Time(std::chrono::seconds(timegm(&utc)));
}

api::Error with_place(api::Error error, const char* place) {
    error.field = place;
    return error;
}

struct Loaded {
    SslContextPtr context;
    api::Time not_after;
};

// Fails if this OpenSSL lacks the suites, e.g. because of its configuration.
api::Result<> apply(const TlsPolicy& policy, SSL_CTX& context) {
    if (lowest_version(policy) == TlsVersion::v1_3) SSL_CTX_set_min_proto_version(&context, TLS1_3_VERSION);
    const CleanErrors clean;
    const std::string older = openssl_names(policy, TlsVersion::v1_2);
    const std::string newer = openssl_names(policy, TlsVersion::v1_3);
    if ((!older.empty() && SSL_CTX_set_cipher_list(&context, older.c_str()) != 1) ||
        (!newer.empty() && SSL_CTX_set_ciphersuites(&context, newer.c_str()) != 1))
        return api::invalid("", "the cipher suites are not usable (" + openssl_error() + ")");
    return {};
}

api::Result<Loaded> load(const TlsIdentity& identity, const TlsPolicy& policy) {
    auto chain = read_certificates(identity.cert_pem);
    if (!chain) return with_place(chain.error(), "certificate");
    auto key = read_key(identity.key_pem);
    if (!key) return with_place(key.error(), "key");
    auto context = make_context(TLS_server_method());
    if (auto applied = apply(policy, *context); !applied) return with_place(applied.error(), "policy");
    SSL_CTX_set_num_tickets(context.get(), 0);
    SSL_CTX_set_alpn_select_cb(context.get(), choose_http11, nullptr);
    if (auto used = use_identity(*context, *chain, **key); !used) return with_place(used.error(), "key");
    if (!identity.client_ca_pem.empty()) {
        auto authorities = read_certificates(identity.client_ca_pem);
        if (!authorities) return with_place(authorities.error(), "client CA");
        trust(*context, *authorities);
        // Each certificate in the file is trusted, also one that another CA has signed, as in Go's TLS.
        X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(context.get()), X509_V_FLAG_PARTIAL_CHAIN);
        for (const auto& authority : *authorities) SSL_CTX_add_client_CA(context.get(), authority.get());
        SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
    }
    return Loaded{std::move(context), end_of(*chain->front())};
}

}  // namespace

Tls::Tls(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Tls::~Tls() = default;

api::Result<std::shared_ptr<Tls>> Tls::make(const TlsIdentity& identity, const TlsPolicy& policy) {
    std::shared_ptr<Tls> tls(new Tls(std::make_unique<Impl>(policy)));
    if (auto replaced = tls->replace(identity); !replaced) return replaced.error();
    return tls;
}

api::Result<> Tls::replace(const TlsIdentity& identity) {
    auto loaded = load(identity, impl_->policy());
    if (!loaded) return loaded.error();
    impl_->set(std::move(loaded->context), loaded->not_after);
    return {};
}

api::Time Tls::not_after() const { return impl_->not_after(); }

}  // namespace net
