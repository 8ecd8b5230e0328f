#include "net/server/source.hpp"

#include <boost/asio/ip/address.hpp>

namespace net {

std::uint64_t source_of(const boost::asio::ip::address& address) {
    namespace ip = boost::asio::ip;
    if (address.is_v4()) return address.to_v4().to_uint();
    const ip::address_v6 wide = address.to_v6();
    if (wide.is_v4_mapped()) return ip::make_address_v4(ip::v4_mapped, wide).to_uint();
    std::uint64_t source = 0;
    const auto bytes = wide.to_bytes();
    for (std::size_t i = 0; i < sizeof source; ++i) source = source << 8 | bytes[i];
    return source;
}

std::uint64_t source_of(const std::string& address) {
    boost::system::error_code broken;
    const auto parsed = boost::asio::ip::make_address(address, broken);
    return broken ? 0 : source_of(parsed);
}

}  // namespace net
