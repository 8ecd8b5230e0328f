#include "client/server_url.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "api/base64.hpp"
#include "kube/client/kubeconfig.hpp"

namespace kube {
namespace {

api::Error wrong(std::string_view text, std::string_view why) {
    return {.code = api::Errc::invalid,
            .message = "is \"" + std::string(text) + "\", " + std::string(why) +
                       "; write it like https://10.0.0.1:6443"};
}

bool is_port(std::string_view text) {
    unsigned value = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
    return failed == std::errc() && end == text.data() + text.size() && value >= 1 && value <= 65535;
}

std::optional<std::string> percent_decode(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            out += text[i];
            continue;
        }
        unsigned value = 0;
        if (i + 2 >= text.size()) return std::nullopt;
        const char* const end = text.data() + i + 3;
        if (std::from_chars(text.data() + i + 1, end, value, 16).ptr != end) return std::nullopt;
        out += static_cast<char>(value);
        i += 2;
    }
    return out;
}

}  // namespace

api::Result<ServerUrl> parse_server_url(std::string_view text) {
    if (text.empty()) return api::Error{.code = api::Errc::invalid, .message = "is not set"};
    // An error must not contain a password.
    if (text.find('@') != std::string_view::npos)
        return api::Error{.code = api::Errc::invalid,
                          .message = "holds a user or password; put them into the user"};
    ServerUrl url;
    std::string_view rest = text;
    if (rest.starts_with("https://")) {
        rest.remove_prefix(8);
    } else if (rest.starts_with("http://")) {
        url.tls = false;
        rest.remove_prefix(7);
    } else {
        return wrong(text, "without https:// in front");
    }
    if (rest.find_first_of("?# ") != std::string_view::npos)
        return wrong(text, "with more than a path at its end");
    const auto slash = rest.find('/');
    if (slash != std::string_view::npos) {
        url.path = rest.substr(slash);
        rest = rest.substr(0, slash);
    }
    while (url.path.ends_with('/')) url.path.pop_back();

    url.port = url.tls ? "443" : "80";
    std::string_view port;
    if (rest.starts_with('[')) {
        const auto end = rest.find(']');
        if (end == std::string_view::npos) return wrong(text, "with a [ that is not closed");
        url.host = rest.substr(1, end - 1);
        port = rest.substr(end + 1);
    } else {
        const auto colon = rest.find(':');
        url.host = rest.substr(0, colon);
        if (colon != std::string_view::npos) port = rest.substr(colon);
    }
    if (url.host.empty()) return wrong(text, "without a host");
    if (!port.empty()) {
        if (port.front() != ':' || !is_port(port.substr(1)))
            return wrong(text, "with a port that is no number up to 65535");
        url.port = port.substr(1);
    }
    return url;
}

api::Result<net::Proxy> parse_proxy_url(std::string_view text) {
    const auto refused = [](const std::string& why) {
        return api::Error{.code = api::Errc::invalid,
                          .message = why + "; write it like http://proxy.example.com:3128"};
    };
    const bool is_http = text.starts_with("http://");
    if (!is_http && !text.starts_with("socks5://") && !text.starts_with("socks5h://"))
        return refused(
            "must begin with http:// or socks5://, since proxies of other kinds (https) are not supported");
    std::string_view rest = text.substr(text.find("://") + 3);
    while (rest.ends_with('/')) rest.remove_suffix(1);
    std::string login;
    if (const auto at = rest.rfind('@'); at != std::string_view::npos) {
        const auto user = percent_decode(rest.substr(0, at));
        if (!user) return refused("has a user or password with a % that is not followed by two hex digits");
        login = *user;
        rest.remove_prefix(at + 1);
    }
    const auto url = parse_server_url("http://" + std::string(rest));
    if (!url || !url->path.empty()) return refused("is no address of a proxy");
    if (is_http)
        return net::HttpProxy{.host = url->host,
                              .port = url->port,
                              .authorization = login.empty() ? "" : "Basic " + api::to_base64(login)};
    const std::size_t colon = std::min(login.find(':'), login.size());
    constexpr std::size_t longest = 255;
    if (colon > longest || login.size() > colon + 1 + longest)
        return refused("has a user or password of more than 255 bytes, which SOCKS5 does not allow");
    // The standard port of SOCKS.
    const bool has_port = url->port != "80" || rest.ends_with(":80");
    return net::SocksProxy{.host = url->host,
                           .port = has_port ? url->port : "1080",
                           .user = login.substr(0, colon),
                           .password = colon < login.size() ? login.substr(colon + 1) : ""};
}

}  // namespace kube
