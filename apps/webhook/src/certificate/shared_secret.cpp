#include "certificate/shared_secret.hpp"

#include "api/base64.hpp"

namespace webhook {
namespace {

api::Json new_secret(const api::ObjectKey& key) {
    return api::Json::object({
        {"apiVersion", "v1"},
        {"kind", "Secret"},
        {"type", "kubernetes.io/tls"},
        {"metadata",
         api::Json::object({{"name", key.name},
                            {"namespace", key.ns},
                            {"labels", api::Json::object({{"app.kubernetes.io/part-of", "signalbox"}})}})},
    });
}

// kube::apply() names the field manager that all replicas share. Here each process has its own: of two
// replicas that find no Secret only one can create it, and the other gets a conflict.
kube::Request create_unless_there(const api::Json& secret, const api::ObjectKey& key,
                                  const std::string& instance) {
    // A host name has at most 64 bytes, a field manager at most 128.
    const std::string manager = "signalbox-webhook-" + instance;
    kube::Request request = kube::apply(kube::resources::secrets, secret, kube::Unconditional(), false);
    request.target = kube::path(kube::resources::secrets, key) +
                     "?fieldManager=" + kube::percent_encode(manager) + "&force=false";
    return request;
}

}  // namespace

SharedSecret::SharedSecret(kube::ApiServer& server, api::ObjectKey key, std::string instance)
    : server_(server), key_(std::move(key)), instance_(std::move(instance)) {}

net::Async<api::Json> SharedSecret::read() {
    kube::Request request = kube::get(kube::resources::secrets, key_);
    auto secret = co_await kube::fetch(server_, std::move(request));
    if (secret) co_return std::move(*secret);
    if (secret.error().code == api::Errc::not_found) co_return new_secret(key_);
    api::Error error = secret.error();
    error.message = "cannot read the secret \"" + to_string(key_) + "\": " + error.message;
    co_return error;
}

net::Async<> SharedSecret::write(api::Json secret) {
    const bool is_new = !std::as_const(secret)["metadata"].contains("resourceVersion");
    kube::Request request = is_new ? create_unless_there(secret, key_, instance_)
                                   : kube::replace(kube::resources::secrets, secret);
    const auto written = co_await server_.send(std::move(request));
    if (written) co_return api::Result<>();
    api::Error error = written.error();
    if (error.code != api::Errc::conflict)
        error.message = "cannot write the secret \"" + to_string(key_) + "\": " + error.message;
    co_return error;
}

std::string member_of(const api::Json& secret, std::string_view name) {
    auto text = api::from_base64(secret["data"][name].as_string());
    return text ? std::move(*text) : std::string();
}

void set_member(api::Json& secret, std::string_view name, const std::string& text) {
    api::Json& data = secret["data"];
    if (!data.is_object()) data = api::Json::object();
    data[name] = api::to_base64(text);
}

}  // namespace webhook
