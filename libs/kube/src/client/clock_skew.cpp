#include "kube/client/clock_skew.hpp"

#include <algorithm>
#include <utility>

#include "api/time.hpp"

namespace kube {
namespace {

// "Tue, 15 Nov 1994 08:12:31 GMT", the only form that servers may write (RFC 9110, 5.6.7).
std::optional<api::Time> parse_date(std::string_view text) {
    constexpr std::string_view months = "JanFebMarAprMayJunJulAugSepOctNovDec";
    constexpr std::string_view form = "Www, 00 Mmm 0000 00:00:00 GMT";
    if (text.size() != form.size() || text.substr(3, 2) != ", " || text.substr(25) != " GMT")
        return std::nullopt;
    const std::size_t month = months.find(text.substr(8, 3));
    if (month == std::string_view::npos || month % 3 != 0) return std::nullopt;
    const std::size_t number = month / 3 + 1;
    std::string standard(text.substr(12, 4));
    standard.append(number < 10 ? "-0" : "-").append(std::to_string(number)).append("-");
    standard.append(text.substr(5, 2)).append("T").append(text.substr(17, 8)).append("Z");
    return api::as_time(standard);
}

}  // namespace

std::optional<ClockSkew::Bounds> ClockSkew::bounds_of(const DatedAnswer& answer) {
    const auto date = parse_date(answer.date);
    if (!date || answer.round_trip > longest_round_trip) return std::nullopt;
    const Duration most = answer.wall - MicroTime(*date);
    const auto sent_before = std::chrono::ceil<Duration>(answer.round_trip);
    return Bounds{.least = most - sent_before - std::chrono::seconds(1), .most = most};
}

std::optional<ClockSkew::Bounds> ClockSkew::common(const Bounds& left, const Bounds& right) {
    const Bounds both = {.least = std::max(left.least, right.least), .most = std::min(left.most, right.most)};
    return both.least <= both.most ? std::optional(both) : std::nullopt;
}

void ClockSkew::remember(const Bounds& bounds, SteadyTime now) {
    if (now >= since_ + remembered_for) {
        former_ = now < since_ + 2 * remembered_for ? latest_ : std::nullopt;
        latest_.reset();
        since_ = now;
    }
    const auto agreed = latest_ ? common(*latest_, bounds) : bounds;
    // One of the clocks was set: earlier bounds do not hold any more.
    if (!agreed) former_.reset();
    latest_ = agreed.value_or(bounds);
}

ClockSkew::Duration ClockSkew::estimate() const {
    if (!latest_) return Duration(0);
    Bounds bounds = *latest_;
    if (former_) bounds = common(bounds, *former_).value_or(bounds);
    return std::clamp(Duration(0), bounds.least, bounds.most);
}

ClockSkew::Transition ClockSkew::note(const DatedAnswer& answer) {
    const auto bounds = bounds_of(answer);
    if (!bounds) return Transition::none;
    remember(*bounds, answer.came);
    if (std::chrono::abs(estimate()) <= tolerated) {
        skewed_since_.reset();
        return std::exchange(reported_, false) ? Transition::over : Transition::none;
    }
    if (!skewed_since_) skewed_since_ = answer.came;
    if (reported_ || answer.came - *skewed_since_ < lasting) return Transition::none;
    reported_ = true;
    return Transition::skewed;
}

}  // namespace kube
