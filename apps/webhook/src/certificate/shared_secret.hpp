#pragma once
#include <string>

#include "api/json.hpp"
#include "kube/client/api_server.hpp"

namespace webhook {

/// A Secret of type kubernetes.io/tls that all replicas read and write. A write has the version that was read
/// as its precondition: it fails with `conflict` if another replica has written since. Thread rule: one
/// thread.
class SharedSecret {
public:
    /// `instance`: part of the field manager of a Secret that is created here; different in each process, as
    /// kube::new_identity() is. `server` must outlive it and its tasks.
    SharedSecret(kube::ApiServer& server, api::ObjectKey key, std::string instance);

    /// Returns the Secret; if there is none, a new one without data, which is not stored yet.
    net::Async<api::Json> read();
    /// Stores the Secret of read() with other data.
    net::Async<> write(api::Json secret);

    const api::ObjectKey& key() const { return key_; }

private:
    kube::ApiServer& server_;
    api::ObjectKey key_;
    std::string instance_;
};

/// Returns a decoded member of a Secret's data; "" if it is missing or broken.
std::string member_of(const api::Json& secret, std::string_view name);
/// Encodes a member of a Secret's data.
void set_member(api::Json& secret, std::string_view name, const std::string& text);

}  // namespace webhook
