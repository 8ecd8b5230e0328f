#include "kube/client/credentials.hpp"

#include <algorithm>
#include <tuple>

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

}  // namespace

Credentials::Credentials(ClusterConfig config, ReadFile read)
    : config_(std::move(config)), read_(std::move(read)) {
    if (!read_) read_ = [](const std::string& path) { return net::read_file(path); };
    connection_.host = config_.host;
    connection_.port = config_.port;
    connection_.server_name = config_.server_name;
    connection_.tls = config_.tls;
    connection_.verify = config_.verify;
}

api::Result<Credentials::Outcome> Credentials::refresh(SteadyTime now, bool now_please) {
    if (read_once_ && !now_please && now - read_at_ < max_age) return Outcome::unchanged;
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
    const std::string authorization = token->empty() ? "" : "Bearer " + *token;
    auto outcome = Outcome::unchanged;
    if (authorization != authorization_) outcome = Outcome::token_changed;
    if (identity_of(connection) != identity_of(connection_)) outcome = Outcome::connection_changed;
    authorization_ = authorization;
    connection_ = std::move(connection);
    return outcome;
}

}  // namespace kube
