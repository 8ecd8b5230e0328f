#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace boost::asio::ip {
class address;
}

namespace net {

/// Returns a number for the clients that share an IP address: of IPv6 its first 64 bits, since one machine
/// has any number of addresses below them. 0 if the text is no address.
std::uint64_t source_of(const std::string& address);
std::uint64_t source_of(const boost::asio::ip::address& address);

/// The sources whose rates a server remembers at a time. Further ones are not limited.
inline constexpr std::size_t most_sources = 16'384;

}  // namespace net
