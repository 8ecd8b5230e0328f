#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>

namespace boost::asio::ip {
class address;
}

namespace net {

/// Returns a number for the clients that share an IP address: of IPv6 its first 64 bits, since one machine
/// has any number of addresses below them. 0 if the text is no address.
std::uint64_t source_of(const std::string& address);
std::uint64_t source_of(const boost::asio::ip::address& address);

/// Gives each source a number of permits per second, and saves up to `burst` of them. Uses memory only for
/// sources that lack some. Beyond `most_sources` at a time, further ones are not limited. Thread rule: one
/// thread.
class SourceRate {
public:
    using Time = std::chrono::steady_clock::time_point;

    SourceRate(double per_second, int burst);

    /// Takes a permit. Returns false if the source has none.
    bool take(std::uint64_t source, Time now);
    std::size_t size() const { return full_at_.size(); }

    static constexpr std::size_t most_sources = 16'384;

private:
    void forget_full(Time now);

    std::chrono::steady_clock::duration period_;
    std::chrono::steady_clock::duration saved_;
    std::unordered_map<std::uint64_t, Time> full_at_ = {};  // when the source has all its permits again
    Time looked_at_ = {};
};

}  // namespace net
