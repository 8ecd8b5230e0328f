// What the program of a kubeconfig prints: credentials that can be sent, or an error without a part of the
// text.
#include <algorithm>

#include "cost.hpp"
#include "http/http_text.hpp"
#include "input.hpp"
#include "kube/client/exec_credential.hpp"

namespace {

using api::Json;

const kube::ExecPlugin plugin = {.api_version = "client.authentication.k8s.io/v1", .command = "login"};

// The texts are those of the program's code, since they depend on nothing else.
void check_error(const std::string& message) {
    MUST_HOLD(message.starts_with("printed ") && message.size() < 200);
    MUST_HOLD(std::ranges::all_of(message, [](char c) { return c >= ' ' && c <= '~'; }));
}

std::string encoded(const kube::ExecCredential& credential) {
    Json status = Json::object({});
    const auto set = [&](const char* field, const std::string& text) {
        if (!text.empty()) status[field] = text;
    };
    set("token", credential.token);
    set("clientCertificateData", credential.cert_pem);
    set("clientKeyData", credential.key_pem);
    if (credential.expires) status["expirationTimestamp"] = api::format_time(*credential.expires);
    return to_json(Json::object(
        {{"apiVersion", plugin.api_version}, {"kind", "ExecCredential"}, {"status", std::move(status)}}));
}

void run(const std::uint8_t* data, std::size_t size) {
    const std::string_view output = text_of(data, size);
    const auto read = kube::decode_exec_credential(output, plugin);
    if (!read) return check_error(read.error().message);
    MUST_HOLD(!read->token.empty() || !read->cert_pem.empty());
    MUST_HOLD(read->cert_pem.empty() == read->key_pem.empty());
    // The token is the value of a header.
    const net::HttpRequest request = {.headers = {{"Authorization", "Bearer " + read->token}}};
    MUST_HOLD(net::request_text(request, "host").has_value());
    const auto again = kube::decode_exec_credential(encoded(*read), plugin);
    MUST_HOLD(again && again->token == read->token && again->cert_pem == read->cert_pem &&
              again->key_pem == read->key_pem && again->expires == read->expires);
    // What the program gets is one object of JSON, whatever the CA is.
    kube::ExecPlugin with_cluster = plugin;
    with_cluster.cluster = Json::object({{"server", "https://host"}});
    MUST_HOLD(api::parse_json(kube::encode_exec_info(with_cluster, output, false)));
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    return at_cost({.bytes_per_byte = 1000, .nanoseconds_per_byte = 40000}, size, [&] { run(data, size); });
}
