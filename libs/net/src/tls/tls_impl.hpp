#pragma once
#include <mutex>
#include <utility>

#include "net/tls/tls.hpp"
#include "tls/openssl.hpp"

namespace net {

/// Holds the context of later handshakes.
class Tls::Impl {
public:
    explicit Impl(TlsPolicy policy) : policy_(std::move(policy)) {}

    const TlsPolicy& policy() const { return policy_; }
    /// Returns the TLS state of a new connection in the server role, without a socket. Null if there is no
    /// memory.
    SslPtr new_connection() const {
        // SSL_new() takes a reference to the context, so a replaced context lives as long as it is used.
        const std::lock_guard lock(mutex_);
        SslPtr ssl(SSL_new(context_.get()));
        if (ssl) SSL_set_accept_state(ssl.get());
        return ssl;
    }
    void set(SslContextPtr context, api::Time not_after) {
        const std::lock_guard lock(mutex_);
        context_ = std::move(context);
        not_after_ = not_after;
    }
    api::Time not_after() const {
        const std::lock_guard lock(mutex_);
        return not_after_;
    }

private:
    const TlsPolicy policy_;
    mutable std::mutex mutex_;
    SslContextPtr context_;
    api::Time not_after_ = {};
};

}  // namespace net
