#pragma once
#include <boost/asio/ip/address.hpp>
#include <cstdint>

namespace net {

/// Returns the source of net/source_rate.hpp.
std::uint64_t source_of(const boost::asio::ip::address& address);

}  // namespace net
