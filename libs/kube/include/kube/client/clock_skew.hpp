#pragma once
#include <optional>
#include <string_view>

#include "kube/client/clock.hpp"

namespace kube {

/// What an answer of the API server tells about its clock.
struct DatedAnswer {
    std::string_view date = {};  ///< the header of that name
    SteadyTime came = {};
    MicroTime wall = {};  ///< our wall clock when it came
    SteadyTime::duration round_trip = {};
};

/// How far our wall clock is ahead of the API server's; negative where it is behind. A `Date` is cut to whole
/// seconds and was written at some moment of the round trip: each answer gives a lower and an upper bound,
/// and the bounds of the last one to two minutes count together. No I/O, no clock of its own.
class ClockSkew {
public:
    using Duration = std::chrono::microseconds;

    /// Answers that took longer are not looked at: they bound too little.
    static constexpr std::chrono::seconds longest_round_trip{1};
    /// Of either sign; more than that, for as long as `lasting`, is worth a warning.
    static constexpr std::chrono::seconds tolerated{5};
    static constexpr std::chrono::seconds lasting{60};
    /// Bounds are forgotten one to two of these after they came.
    static constexpr std::chrono::seconds remembered_for{60};

    enum class Transition {
        none,
        skewed,  ///< reported once
        over     ///< only after `skewed`
    };
    /// To be called with each answer, in their order. A header that is no date is none.
    Transition note(const DatedAnswer& answer);

    /// The smallest skew, of either sign, that agrees with the answers; 0 before the first one.
    Duration estimate() const;

private:
    struct Bounds {
        Duration least = {};
        Duration most = {};
    };
    static std::optional<Bounds> bounds_of(const DatedAnswer& answer);
    static std::optional<Bounds> common(const Bounds& left, const Bounds& right);
    void remember(const Bounds& bounds, SteadyTime now);

    std::optional<Bounds> latest_ = {};
    std::optional<Bounds> former_ = {};
    SteadyTime since_ = {};  // when `latest_` began
    std::optional<SteadyTime> skewed_since_ = {};
    bool reported_ = false;
};

}  // namespace kube
