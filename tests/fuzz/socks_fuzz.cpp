// A SOCKS5 proxy: the first line is its URL in a kubeconfig, the second one the server's host, the rest what
// the proxy answers, of any length.
#include <algorithm>

#include "client/socks.hpp"
#include "input.hpp"
#include "kube/client/kubeconfig.hpp"

namespace {

using namespace net;

// Takes exactly `size` bytes, as net::ClientConnection: the next ones are the server's.
std::optional<std::string_view> take(std::string_view& answers, std::size_t size) {
    if (answers.size() < size) return std::nullopt;
    const std::string_view answer = answers.substr(0, size);
    answers.remove_prefix(size);
    return answer;
}

void check_error(const std::string& message) {
    MUST_HOLD(message.starts_with("the proxy ") && message.size() < 100);
    MUST_HOLD(std::ranges::all_of(message, [](char c) { return c >= ' ' && c <= '~'; }));
}

// Returns whether the proxy has connected to the server.
bool talk(std::string_view answers, const SocksProxy& proxy) {
    const std::size_t all = answers.size();
    const auto choice = take(answers, socks::choice_size);
    if (!choice) return false;
    const auto wants_login = socks::wants_login(*choice, proxy);
    if (!wants_login) return check_error(wants_login.error().message), false;
    // No proxy gets a password that the kubeconfig does not have.
    MUST_HOLD(!*wants_login || !proxy.user.empty());
    if (*wants_login) {
        const auto verdict = take(answers, socks::choice_size);
        if (!verdict) return false;
        if (const auto good = socks::check_login(*verdict); !good)
            return check_error(good.error().message), false;
    }
    const auto reply = take(answers, socks::reply_size);
    if (!reply) return false;
    const auto rest = socks::rest_of_reply(*reply);
    if (!rest) return check_error(rest.error().message), false;
    MUST_HOLD(*rest >= 2 && *rest <= 257);
    if (!take(answers, *rest)) return false;
    MUST_HOLD(all - answers.size() <= 4 + 5 + 257);
    return true;
}

// RFC 1928, 4: the kind of address, the address, and a port of two bytes.
void check_request(const std::string& host) {
    const auto request = socks::request(host, "443");
    if (!request) {
        MUST_HOLD(host.size() > 255);
        return;
    }
    MUST_HOLD(request->starts_with(std::string_view("\x05\x01\x00", 3)) && request->ends_with("\x01\xBB"));
    const auto kind = (*request)[3];
    MUST_HOLD(kind == 1 ? request->size() == 10 : kind == 4 ? request->size() == 22 : kind == 3);
    if (kind != 3) return;
    MUST_HOLD(static_cast<unsigned char>((*request)[4]) == host.size());
    MUST_HOLD(request->substr(5, host.size()) == host && request->size() == 7 + host.size());
}

// RFC 1929, 2.
void check_login(const SocksProxy& proxy) {
    const std::string login = socks::login(proxy);
    MUST_HOLD(login.size() == 3 + proxy.user.size() + proxy.password.size());
    MUST_HOLD(static_cast<unsigned char>(login[1]) == proxy.user.size());
    MUST_HOLD(static_cast<unsigned char>(login[2 + proxy.user.size()]) == proxy.password.size());
    MUST_HOLD(socks::greeting(proxy).size() == (proxy.user.empty() ? 3 : 4));
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto parts = parts_of(text_of(data, size), 3);
    check_request(std::string(parts[1]));
    const auto proxy = kube::parse_proxy_url(parts[0]);
    const auto* socks_proxy = proxy ? std::get_if<SocksProxy>(&*proxy) : nullptr;
    if (socks_proxy) check_login(*socks_proxy);
    (void)talk(parts[2], socks_proxy ? *socks_proxy : SocksProxy{.host = "proxy", .port = "1080"});
    return 0;
}
