#include "cluster/cluster.hpp"

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/network_v4.hpp>
#include <boost/asio/ip/network_v6.hpp>

namespace cli {
namespace {

namespace ip = boost::asio::ip;

std::string variable(const kube::ReadEnv& env, const char* upper, const char* lower) {
    std::string value = env(upper);
    return value.empty() ? env(lower) : value;
}

std::string lower(std::string_view text) {
    std::string out(text);
    for (char& c : out)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return out;
}

std::string_view trimmed(std::string_view text) {
    const std::size_t begin = text.find_first_not_of(" \t");
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

bool is_in_network(const ip::address& address, const std::string& network) {
    boost::system::error_code wrong;
    if (address.is_v4()) {
        const auto net = ip::make_network_v4(network, wrong);
        return !wrong && ip::network_v4(address.to_v4(), net.prefix_length()).canonical() == net.canonical();
    }
    const auto net = ip::make_network_v6(network, wrong);
    return !wrong && ip::network_v6(address.to_v6(), net.prefix_length()).canonical() == net.canonical();
}

// Removes ":443" from the entry; returns whether it was absent or equals `port`.
bool take_port(std::string_view& entry, const std::string& port) {
    const std::size_t colon = entry.rfind(':');
    if (colon == std::string_view::npos) return true;
    // An IPv6 address has brackets if a port follows it.
    const bool several = entry.find(':') != colon;
    if (several && entry.front() != '[') return true;
    if (entry.back() == ']') return true;
    const bool same = entry.substr(colon + 1) == port;
    entry = entry.substr(0, colon);
    return same;
}

bool excludes(std::string_view entry, const std::string& host, const std::string& port) {
    if (entry == "*") return true;
    boost::system::error_code no_address;
    const ip::address address = ip::make_address(host, no_address);
    if (!no_address && is_in_network(address, std::string(entry))) return true;
    if (!take_port(entry, port)) return false;
    if (entry.starts_with('[') && entry.ends_with(']')) entry = entry.substr(1, entry.size() - 2);
    if (!no_address) {
        const ip::address other = ip::make_address(std::string(entry), no_address);
        return !no_address && other == address;
    }
    // ".example.com" has no host itself.
    const bool only_below = entry.starts_with('.') || entry.starts_with("*.");
    if (only_below) entry.remove_prefix(entry.find('.') + 1);
    if (entry.empty()) return false;
    if (host == entry) return !only_below;
    return host.ends_with(std::string(".").append(entry));
}

bool is_this_machine(const std::string& host) {
    boost::system::error_code no_address;
    const ip::address address = ip::make_address(host, no_address);
    return host == "localhost" || (!no_address && address.is_loopback());
}

}  // namespace

std::string proxy_of_variables(const std::string& host, const std::string& port, const kube::ReadEnv& env) {
    std::string proxy = variable(env, "HTTPS_PROXY", "https_proxy");
    const std::string name = lower(host);
    if (proxy.empty() || is_this_machine(name)) return "";
    const std::string list = lower(variable(env, "NO_PROXY", "no_proxy"));
    for (std::size_t begin = 0; begin <= list.size();) {
        const std::size_t end = std::min(list.find(',', begin), list.size());
        const std::string_view entry = trimmed(std::string_view(list).substr(begin, end - begin));
        if (!entry.empty() && excludes(entry, name, port)) return "";
        begin = end + 1;
    }
    return proxy.find("://") == std::string::npos ? "http://" + proxy : proxy;
}

}  // namespace cli
