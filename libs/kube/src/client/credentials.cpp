#include "kube/client/credentials.hpp"

#include <algorithm>
#include <tuple>

#include "api/text.hpp"
#include "net/process/file.hpp"

namespace kube {
namespace {

api::Result<std::string> text_of(const Material& material, const ReadFile& read) {
    if (material.file.empty()) return material.text;
    return read(material.file);
}

api::Result<std::string> pem_of(const Material& material, const ReadFile& read) {
    auto text = text_of(material, read);
    if (text && !material.file.empty() && text->find("-----BEGIN ") == std::string::npos) {
        return api::Error{.code = api::Errc::invalid,
                          .message = material.file + " holds no PEM block (\"-----BEGIN ...\")"};
    }
    return text;
}

// Strips the line end that editors add. Other white space is an error, since the token becomes a header.
api::Result<std::string> token_of(const Material& material, const ReadFile& read) {
    auto token = text_of(material, read);
    if (!token) return token;
    while (!token->empty() && static_cast<unsigned char>(token->back()) <= ' ') token->pop_back();
    const bool odd = std::any_of(token->begin(), token->end(),
                                 [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == 0x7f; });
    const std::string where = material.file.empty() ? "the token" : "the token in " + material.file;
    if (odd)
        return api::Error{.code = api::Errc::invalid, .message = where + " contains blanks or line breaks"};
    if (token->empty() && !material.empty())
        return api::Error{.code = api::Errc::invalid, .message = where + " is empty"};
    return token;
}

auto identity_of(const net::ClientConfig& c) {
    return std::tie(c.ca_pem, c.client_cert_pem, c.client_key_pem);
}

// Returns a key of `extra` as a part of a header's name: characters that are invalid in names, and %, become
// %XX.
std::string header_part(std::string_view key) {
    static constexpr std::string_view hex = "0123456789ABCDEF";
    static constexpr std::string_view marks = "!#$&'*+-.^_`|~";
    std::string out;
    for (const char c : key) {
        const auto byte = static_cast<unsigned char>(c);
        if (api::is_letter_or_digit(c) || marks.find(c) != std::string_view::npos)
            out += c;
        else
            out.append({'%', hex[byte / 16], hex[byte % 16]});
    }
    return out;
}

net::Headers headers_of(const Impersonation& as) {
    net::Headers headers;
    if (as.user.empty()) return headers;
    headers.emplace_back("Impersonate-User", as.user);
    if (!as.uid.empty()) headers.emplace_back("Impersonate-Uid", as.uid);
    for (const std::string& group : as.groups) headers.emplace_back("Impersonate-Group", group);
    for (const auto& [key, values] : as.extra)
        for (const std::string& value : values)
            headers.emplace_back("Impersonate-Extra-" + header_part(key), value);
    return headers;
}

}  // namespace

Credentials::Credentials(ClusterConfig config, ReadFile read, PluginHost plugins)
    : config_(std::move(config)), read_(std::move(read)), impersonation_(headers_of(config_.as)) {
    if (config_.exec) plugin_.emplace(*config_.exec, std::move(plugins));
    if (!read_) read_ = [](const std::string& path) { return net::read_file(path); };
    connection_.host = config_.host;
    connection_.port = config_.port;
    connection_.server_name = config_.server_name;
    connection_.tls = config_.tls;
    connection_.verify = config_.verify;
    connection_.proxy = config_.proxy;
}

api::Result<Credentials::Outcome> Credentials::renew(SteadyTime now) {
    if (plugin_) plugin_->reject();
    return refresh(now, true);
}

api::Result<Credentials::Outcome> Credentials::refresh(SteadyTime now, bool now_please) {
    const bool plugin_due = plugin_ && plugin_->due();
    if (read_once_ && !now_please && !plugin_due && now - read_at_ < max_age) return Outcome::unchanged;
    read_once_ = true;
    read_at_ = now;
    const auto ca = pem_of(config_.ca, read_);
    if (!ca) return ca.error();
    const auto cert = pem_of(config_.client_cert, read_);
    if (!cert) return cert.error();
    const auto key = pem_of(config_.client_key, read_);
    if (!key) return key.error();
    const auto token = token_of(config_.token, read_);
    if (!token) return token.error();

    net::ClientConfig connection = connection_;
    connection.ca_pem = *ca;
    connection.client_cert_pem = *cert;
    connection.client_key_pem = *key;
    std::string authorization = token->empty() ? "" : "Bearer " + *token;
    if (plugin_due) {
        const auto ran = plugin_->run(*ca);
        missing_ = ran ? std::nullopt : std::optional(ran.error());
        if (!ran) return ran.error();
    }
    if (plugin_) {
        const ExecCredential& given = plugin_->current();
        authorization = given.token.empty() ? "" : "Bearer " + given.token;
        connection.client_cert_pem = given.cert_pem;
        connection.client_key_pem = given.key_pem;
    }
    auto outcome = Outcome::unchanged;
    if (authorization != authorization_) outcome = Outcome::token_changed;
    if (identity_of(connection) != identity_of(connection_)) outcome = Outcome::connection_changed;
    authorization_ = authorization;
    connection_ = std::move(connection);
    return outcome;
}

}  // namespace kube
