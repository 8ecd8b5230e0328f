#include "kube/client/server_clock.hpp"

#include <algorithm>

namespace kube {
namespace {

// A steady clock drifts from a good wall clock, and that may be slewed, by less than this (RFC 5905: 500
// ppm).
constexpr int parts_of_drift = 1000;

// Returns the bounds that hold for both; nullopt if there are none.
template <class Bounds>
std::optional<Bounds> common(const Bounds& one, const Bounds& other) {
    const Bounds both = {.least = std::max(one.least, other.least), .most = std::min(one.most, other.most)};
    return both.least <= both.most ? std::optional(both) : std::nullopt;
}

}  // namespace

std::optional<api::Time> parse_http_date(std::string_view text) {
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

ServerClock::Bounds ServerClock::Estimate::bounds() const {
    return former ? common(latest, *former).value_or(latest) : latest;
}

bool ServerClock::Estimate::agrees(const Bounds& with, SteadyTime now) const {
    const Duration slack = tolerated + std::chrono::duration_cast<Duration>((now - noted) / parts_of_drift);
    const Bounds own = bounds();
    return with.least <= own.most + slack && own.least <= with.most + slack;
}

// Bounds that agree only by the tolerance leave no time in between: the earlier clock counts.
void ServerClock::Estimate::add(const Bounds& bounds, SteadyTime now) {
    noted = now;
    if (now >= began + remembered_for) {
        former = now < began + 2 * remembered_for ? std::optional(latest) : std::nullopt;
        latest = bounds;
        began = now;
        return;
    }
    const Bounds& earlier = bounds.most < latest.least ? bounds : latest;
    latest = common(latest, bounds).value_or(earlier);
}

MicroTime ServerClock::Estimate::at(SteadyTime now) const {
    return MicroTime(bounds().least + std::chrono::floor<Duration>(now.time_since_epoch()));
}

void ServerClock::note(const DatedAnswer& answer) {
    const auto came = answer.came;
    const Duration date = answer.date.time_since_epoch();
    const Bounds bounds = {.least = date - std::chrono::ceil<Duration>(came.time_since_epoch()),
                           .most = date + std::chrono::seconds(1) -
                                   std::chrono::floor<Duration>(answer.sent.time_since_epoch())};
    const Estimate alone = {.latest = bounds, .former = {}, .began = came, .noted = came};
    if (!clock_) {
        clock_ = alone;
        return;
    }
    if (clock_->agrees(bounds, came)) {
        clock_->add(bounds, came);
        other_since_.reset();
        if (is_certain()) other_.reset();
        return;
    }
    contradicted_ = came;
    const bool is_known = other_ && other_->agrees(bounds, came);
    if (is_known)
        other_->add(bounds, came);
    else
        other_ = alone;
    if (!is_known || !other_since_) other_since_ = came;
    if (came < *other_since_ + settled_after || is_own(clock_->at(came))) return;
    clock_ = std::exchange(other_, std::nullopt);
    other_since_.reset();
    contradicted_.reset();
}

// Returns whether this node's clock shows that time.
bool ServerClock::is_own(MicroTime time) const {
    const MicroTime own = own_.wall();
    return own <= time + tolerated && time <= own + tolerated;
}

bool ServerClock::is_certain() const {
    return clock_ && !other_since_ && (!contradicted_ || now() >= *contradicted_ + settled_after);
}

MicroTime ServerClock::wall() const {
    if (!clock_) return own_.wall();
    const MicroTime known = clock_->at(now());
    if (!other_ || is_certain()) return known;
    const MicroTime stated = other_->at(now());
    if (is_own(known) || is_own(stated)) return is_own(known) ? known : stated;
    return other_since_ ? std::max(known, stated) : known;
}

}  // namespace kube
