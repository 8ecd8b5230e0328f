#pragma once
#include <boost/asio/ip/address.hpp>
#include <cstdint>

namespace net {

/// As net/source_rate.hpp has it.
std::uint64_t source_of(const boost::asio::ip::address& address);

}  // namespace net
