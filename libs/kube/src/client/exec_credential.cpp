#include "kube/client/exec_credential.hpp"

#include <algorithm>

#include "api/base64.hpp"
#include "api/yaml.hpp"

namespace kube {
namespace {

using api::Json;

constexpr std::string_view pem_begin = "-----BEGIN ";

api::Error wrong(std::string what) { return {.code = api::Errc::invalid, .message = std::move(what)}; }

// Returns a text of the status, if there is one.
api::Result<std::string> text_of(const Json& status, const char* field) {
    const Json& value = status[field];
    if (!value.is_null() && !value.is_string())
        return wrong(std::string("printed an ExecCredential whose status.") + field + " is no string");
    return std::string(value.as_string());
}

api::Result<std::optional<api::Time>> expiry_of(const Json& status) {
    const auto text = text_of(status, "expirationTimestamp");
    if (!text) return text.error();
    if (text->empty()) return std::optional<api::Time>();
    const auto time = api::parse_time(*text);
    if (!time)
        return wrong("printed an ExecCredential whose status.expirationTimestamp is no time of RFC 3339");
    return std::optional(*time);
}

}  // namespace

std::string encode_exec_info(const ExecPlugin& plugin, std::string_view ca_pem, bool interactive) {
    Json spec = Json::object({{"interactive", interactive}});
    if (!plugin.cluster.is_null()) {
        Json cluster = plugin.cluster;
        if (!ca_pem.empty()) cluster["certificate-authority-data"] = api::to_base64(ca_pem);
        spec["cluster"] = std::move(cluster);
    }
    return to_json(Json::object(
        {{"apiVersion", plugin.api_version}, {"kind", "ExecCredential"}, {"spec", std::move(spec)}}));
}

api::Result<ExecCredential> decode_exec_credential(std::string_view output, const ExecPlugin& plugin) {
    const auto parsed = api::parse_yaml(output);
    // The parser's error may quote the text.
    if (!parsed || !parsed->is_object()) return wrong("printed no ExecCredential in JSON");
    const Json& root = *parsed;
    const std::string_view version = root["apiVersion"].as_string();
    if (root["kind"].as_string() != "ExecCredential")
        return wrong("printed an object that is no ExecCredential");
    if (version != plugin.api_version)
        return wrong("printed an ExecCredential of another version than " + plugin.api_version +
                     ", which the kubeconfig says: make the versions equal");
    const Json& status = root["status"];
    if (!status.is_object()) return wrong("printed an ExecCredential without status");
    ExecCredential credential;
    for (const auto& [field, target] :
         {std::pair("token", &credential.token), std::pair("clientCertificateData", &credential.cert_pem),
          std::pair("clientKeyData", &credential.key_pem)}) {
        auto text = text_of(status, field);
        if (!text) return text.error();
        *target = std::move(*text);
    }
    // The token becomes a header.
    const auto odd = [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == 0x7f; };
    if (std::any_of(credential.token.begin(), credential.token.end(), odd))
        return wrong("printed an ExecCredential whose token contains blanks or line breaks");
    if (credential.token.empty() && credential.cert_pem.empty() && credential.key_pem.empty())
        return wrong("printed an ExecCredential with neither a token nor a certificate and its key");
    if (credential.cert_pem.empty() != credential.key_pem.empty())
        return wrong("printed an ExecCredential with a certificate or a key, but not both");
    for (const std::string* pem : {&credential.cert_pem, &credential.key_pem})
        if (!pem->empty() && pem->find(pem_begin) == std::string::npos)
            return wrong("printed an ExecCredential whose certificate or key is not in PEM");
    auto expires = expiry_of(status);
    if (!expires) return expires.error();
    credential.expires = *expires;
    return credential;
}

}  // namespace kube
