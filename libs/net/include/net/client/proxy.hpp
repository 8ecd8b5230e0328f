#pragma once
#include <string>
#include <variant>

#include "net/http/http.hpp"

namespace net {

/// A proxy that connects clients to servers by SOCKS5 (RFC 1928), and looks up the servers' names.
struct SocksProxy {
    std::string host = {};  ///< name or address; IPv6 without brackets
    std::string port = {};
    std::string user = {};      ///< empty: without a login
    std::string password = {};  ///< never log it

    bool operator==(const SocksProxy&) const = default;
};

using Proxy = std::variant<HttpProxy, SocksProxy>;

inline const std::string& host_of(const Proxy& proxy) {
    return std::visit([](const auto& each) -> const std::string& { return each.host; }, proxy);
}
inline const std::string& port_of(const Proxy& proxy) {
    return std::visit([](const auto& each) -> const std::string& { return each.port; }, proxy);
}

}  // namespace net
