#include "progress/review_limits.hpp"

#include <algorithm>
#include <cstdint>

#include "net/server/source.hpp"
#include "recently_used.hpp"

namespace progress {
namespace {

using kube::SteadyTime;

// The burst, so that no second has more than a tenth above the rate.
constexpr int burst = static_cast<int>(ReviewLimits::per_second / 10);
constexpr std::size_t most_addresses = 4'096;

}  // namespace

struct ReviewLimits::Addresses {
    net::KeyedRate usual{per_second_of_address, static_cast<int>(per_second_of_address), most_addresses,
                         net::KeyedRate::Beyond::full};
    net::KeyedRate after_refusals{1 / double(between_after_refusals.count()), 1, most_addresses,
                                  net::KeyedRate::Beyond::full};
    RecentlyUsed<std::uint64_t, int, std::hash<std::uint64_t>> refusals{most_addresses};  // in a row

    net::KeyedRate& rate_of(std::uint64_t source) {
        const int* in_a_row = refusals.find(source);
        return in_a_row && *in_a_row >= refusals_in_a_row ? after_refusals : usual;
    }
};

ReviewLimits::ReviewLimits(bool by_address)
    : all_(per_second, burst),
      unknown_(per_second / 2, burst / 2),
      addresses_(by_address ? std::make_unique<Addresses>() : nullptr) {}

ReviewLimits::~ReviewLimits() = default;

std::optional<SteadyTime> ReviewLimits::reserve(const std::string& address, bool known, SteadyTime now) {
    const std::uint64_t source = net::source_of(address);
    net::KeyedRate* const of_address = !known && addresses_ ? &addresses_->rate_of(source) : nullptr;
    SteadyTime when = all_.next(now);
    if (!known) when = std::max(when, unknown_.next(now));
    if (of_address) when = std::max(when, of_address->next(source, now));
    if (when > now + longest_line) return std::nullopt;
    all_.reserve(now);
    if (!known) unknown_.reserve(now);
    if (of_address) of_address->reserve(source, now);
    return when;
}

void ReviewLimits::answered(const std::string& address, bool accepted) {
    if (!addresses_) return;
    const std::uint64_t source = net::source_of(address);
    auto& refusals = addresses_->refusals;
    const int* before = refusals.find(source);
    if (accepted)
        refusals.erase(source);
    else
        refusals.put(source, (before ? *before : 0) + 1);
}

}  // namespace progress
