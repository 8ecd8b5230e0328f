#include "client/client_tls.hpp"

#include <openssl/x509v3.h>
#include <boost/asio/ip/address.hpp>
#include <new>

namespace net {
namespace {

api::Error with_field(api::Error error, const char* field) {
    error.field = field;
    return error;
}

}  // namespace

api::Result<std::shared_ptr<const ClientTls>> ClientTls::make(const ClientConfig& config) {
    auto tls = std::make_shared<ClientTls>();
    tls->context_ = make_context(TLS_client_method());
    SSL_CTX& context = *tls->context_;
    static constexpr unsigned char protocols[] = "\x08http/1.1";
    // One session is enough; `session_` keeps it, and not the cache of the context.
    SSL_CTX_clear_options(&context, SSL_OP_NO_TICKET);
    SSL_CTX_set_session_cache_mode(&context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(&context, keep);
    SSL_CTX_set_app_data(&context, tls.get());
    SSL_CTX_set_alpn_protos(&context, protocols, sizeof(protocols) - 1);

    const auto& name = config.server_name.empty() ? config.host : config.server_name;
    boost::system::error_code not_an_address;
    boost::asio::ip::make_address(name, not_an_address);
    if (not_an_address) tls->sni_ = name;
    if (config.verify) {
        SSL_CTX_set_verify(&context, SSL_VERIFY_PEER, nullptr);
        X509_VERIFY_PARAM* rules = SSL_CTX_get0_param(&context);
        // As TLS in Go, which kubectl and client-go use: names come only from the SAN, and each certificate
        // of the CA bundle is trusted, self-signed or not.
        X509_VERIFY_PARAM_set_hostflags(rules, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
        X509_VERIFY_PARAM_set_flags(rules, X509_V_FLAG_PARTIAL_CHAIN);
        const int set = not_an_address ? X509_VERIFY_PARAM_set1_host(rules, name.c_str(), name.size())
                                       : X509_VERIFY_PARAM_set1_ip_asc(rules, name.c_str());
        if (set != 1) return api::invalid("server name", "\"" + name + "\" is not a host name or an address");
        if (config.ca_pem.empty()) {
            SSL_CTX_set_default_verify_paths(&context);
        } else {
            const auto authorities = read_certificates(config.ca_pem);
            if (!authorities) return with_field(authorities.error(), "CA");
            trust(context, *authorities);
        }
    }
    if (!config.client_cert_pem.empty() || !config.client_key_pem.empty()) {
        const auto chain = read_certificates(config.client_cert_pem);
        if (!chain) return with_field(chain.error(), "client certificate");
        const auto key = read_key(config.client_key_pem);
        if (!key) return with_field(key.error(), "client key");
        if (auto used = use_identity(context, *chain, **key); !used)
            return with_field(used.error(), "client key");
    }
    return std::shared_ptr<const ClientTls>(std::move(tls));
}

int ClientTls::keep(SSL* connection, SSL_SESSION* session) {
    // A live connection implies a live ClientTls.
    const auto* self = static_cast<const ClientTls*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(connection)));
    self->session_.reset(session);
    return 1;  // this object owns the session now
}

bool ClientTls::may_resume() const {
    const X509* certificate = session_ ? SSL_SESSION_get0_peer(session_.get()) : nullptr;
    return certificate && X509_cmp_current_time(X509_get0_notAfter(certificate)) > 0;
}

SslPtr ClientTls::new_connection() const {
    SslPtr ssl(SSL_new(context_.get()));
    if (!ssl) throw std::bad_alloc();
    SSL_set_connect_state(ssl.get());
    if (may_resume()) SSL_set_session(ssl.get(), session_.get());
    if (!sni_.empty()) SSL_set_tlsext_host_name(ssl.get(), sni_.c_str());
    return ssl;
}

}  // namespace net
