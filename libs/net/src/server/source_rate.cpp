#include "net/server/source_rate.hpp"

#include <algorithm>
#include <boost/asio/ip/address.hpp>

namespace net {
namespace {

// The pause between two walks over all sources, so that a flood of them does not cost a walk each.
constexpr std::chrono::seconds between_looks{1};

}  // namespace

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

SourceRate::SourceRate(double per_second, int burst)
    : period_(std::chrono::ceil<std::chrono::steady_clock::duration>(
          std::chrono::duration<double>(1 / per_second))),
      saved_(period_ * burst) {}

bool SourceRate::take(std::uint64_t source, Time now) {
    auto at = full_at_.find(source);
    if (at == full_at_.end()) {
        if (full_at_.size() >= most_sources) forget_full(now);
        if (full_at_.size() >= most_sources) return true;
        at = full_at_.emplace(source, now).first;
    }
    const Time full = std::max(at->second, now) + period_;
    if (full - now > saved_) return false;
    at->second = full;
    return true;
}

void SourceRate::forget_full(Time now) {
    if (now < looked_at_ + between_looks) return;
    looked_at_ = now;
    std::erase_if(full_at_, [now](const auto& source) { return source.second <= now; });
}

}  // namespace net
