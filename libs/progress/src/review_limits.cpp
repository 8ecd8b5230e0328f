#include "progress/review_limits.hpp"

#include <algorithm>
#include <cstdint>

#include "net/server/source_rate.hpp"
#include "recently_used.hpp"

namespace progress {
namespace {

using kube::SteadyTime;

// The burst, so that no second has more than a tenth above the rate.
constexpr int burst = static_cast<int>(ReviewLimits::per_second / 10);
constexpr std::size_t most_addresses = 4'096;

struct Address {
    kube::TokenBucket bucket{ReviewLimits::per_second_of_address,
                             static_cast<int>(ReviewLimits::per_second_of_address)};
    int refusals = 0;  // in a row
};

}  // namespace

struct ReviewLimits::Addresses {
    RecentlyUsed<std::uint64_t, Address, std::hash<std::uint64_t>> table{most_addresses};

    Address& of(const std::string& address) {
        const std::uint64_t source = net::source_of(address);
        if (Address* known = table.find(source)) return *known;
        return table.put(source, Address());
    }
};

ReviewLimits::ReviewLimits(bool by_address)
    : all_(per_second, burst),
      unknown_(per_second / 2, burst / 2),
      addresses_(by_address ? std::make_unique<Addresses>() : nullptr) {}

ReviewLimits::~ReviewLimits() = default;

std::optional<SteadyTime> ReviewLimits::reserve(const std::string& address, bool known, SteadyTime now) {
    kube::TokenBucket all = all_;
    SteadyTime when = all.take(now);
    kube::TokenBucket unknown = unknown_;
    Address* const source = !known && addresses_ ? &addresses_->of(address) : nullptr;
    kube::TokenBucket of_source = source ? source->bucket : unknown_;
    if (!known) when = std::max(when, unknown.take(now));
    if (source) when = std::max(when, of_source.take(now));
    if (when > now + longest_line) return std::nullopt;
    all_ = all;
    unknown_ = unknown;
    if (source) source->bucket = of_source;
    return when;
}

void ReviewLimits::answered(const std::string& address, bool accepted) {
    if (!addresses_) return;
    Address& source = addresses_->of(address);
    const bool was_limited = source.refusals >= refusals_in_a_row;
    source.refusals = accepted ? 0 : source.refusals + 1;
    const bool is_limited = source.refusals >= refusals_in_a_row;
    if (was_limited == is_limited) return;
    source.bucket =
        is_limited ? kube::TokenBucket(1 / double(between_after_refusals.count()), 1) : Address().bucket;
}

}  // namespace progress
