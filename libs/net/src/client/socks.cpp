#include "client/socks.hpp"

#include <boost/asio/ip/address.hpp>
#include <cstdlib>

namespace net::socks {
namespace {

constexpr char version = 5;
constexpr char no_login = 0;
constexpr char by_password = 2;
constexpr char connect = 1;
constexpr char ipv4 = 1;
constexpr char name = 3;
constexpr char ipv6 = 4;
// A length is one byte.
constexpr std::size_t longest = 255;

api::Error wrong(std::string text) { return {.code = api::Errc::unavailable, .message = std::move(text)}; }

void append(std::string& out, const std::string& text) {
    out += static_cast<char>(static_cast<unsigned char>(text.size()));
    out += text;
}

// RFC 1928, 6.
const char* reason_of(char code) {
    switch (code) {
        case 2: return "its rules forbid it";
        case 3: return "the network cannot be reached";
        case 4: return "the host cannot be reached";
        case 5: return "the connection is refused";
        case 6: return "it takes too long";
        default: return "it does not say why";
    }
}

}  // namespace

std::string greeting(const SocksProxy& proxy) {
    std::string text = {version};
    if (proxy.user.empty()) return text.append({1, no_login});
    return text.append({2, no_login, by_password});
}

std::string login(const SocksProxy& proxy) {
    std::string text = {1};
    append(text, proxy.user);
    append(text, proxy.password);
    return text;
}

api::Result<std::string> request(const std::string& host, const std::string& port) {
    std::string text = {version, connect, 0};
    boost::system::error_code no_address;
    const auto address = boost::asio::ip::make_address(host, no_address);
    if (no_address) {
        if (host.size() > longest) return api::invalid("proxy", "the server's name is longer than 255 bytes");
        text += name;
        append(text, host);
    } else if (address.is_v4()) {
        text += ipv4;
        for (const unsigned char byte : address.to_v4().to_bytes()) text += static_cast<char>(byte);
    } else {
        text += ipv6;
        for (const unsigned char byte : address.to_v6().to_bytes()) text += static_cast<char>(byte);
    }
    const auto number = static_cast<unsigned>(std::strtoul(port.c_str(), nullptr, 10));
    text += static_cast<char>(static_cast<unsigned char>(number >> 8));
    text += static_cast<char>(static_cast<unsigned char>(number & 0xFF));
    return text;
}

api::Result<bool> wants_login(std::string_view answer, const SocksProxy& proxy) {
    if (answer[0] != version) return wrong("the proxy does not speak SOCKS5");
    if (answer[1] == no_login) return false;
    if (answer[1] == by_password && !proxy.user.empty()) return true;
    return wrong("the proxy wants a login: write socks5://USER:PASSWORD@HOST:PORT");
}

api::Result<> check_login(std::string_view answer) {
    if (answer[1] != 0) return wrong("the proxy does not accept the user or the password");
    return {};
}

// Version, code, 0, kind of address, and the first byte of that: the length of a name. The address ends with
// a port.
api::Result<std::size_t> rest_of_reply(std::string_view answer) {
    if (answer[0] != version) return wrong("the proxy does not speak SOCKS5");
    if (answer[1] != 0)
        return wrong(std::string("the proxy does not connect there: ") + reason_of(answer[1]));
    constexpr std::size_t of_port = 2;
    switch (answer[3]) {
        case ipv4: return 3 + of_port;
        case ipv6: return 15 + of_port;
        case name: return static_cast<unsigned char>(answer[4]) + of_port;
        default: return wrong("the proxy answers with an unknown kind of address");
    }
}

}  // namespace net::socks
