#pragma once
#include <string>
#include <string_view>

#include "api/error.hpp"
#include "net/client/proxy.hpp"

/// Messages to a SOCKS5 proxy (RFC 1928), and the meaning of its answers.
namespace net::socks {

inline constexpr std::size_t choice_size = 2;  ///< of the answer to a greeting, and to a login
inline constexpr std::size_t reply_size = 5;   ///< of the first part of the answer to a request

/// The first message: the ways to log in.
std::string greeting(const SocksProxy& proxy);
/// User and password (RFC 1929), of at most 255 bytes each.
std::string login(const SocksProxy& proxy);
/// The request for a connection to `host`, a name or an address.
api::Result<std::string> request(const std::string& host, const std::string& port);

/// Returns whether the answer to the greeting wants a login. Fails if it cannot be given.
api::Result<bool> wants_login(std::string_view answer, const SocksProxy& proxy);
api::Result<> check_login(std::string_view answer);
/// Returns the size of the rest of the answer to a request. Fails if the proxy does not connect.
api::Result<std::size_t> rest_of_reply(std::string_view answer);

}  // namespace net::socks
