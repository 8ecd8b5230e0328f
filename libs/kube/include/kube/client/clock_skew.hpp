#pragma once
#include <optional>
#include <string_view>

#include "kube/client/clock.hpp"

namespace kube {

/// The times of an answer of the API server, for an estimate of its clock.
struct DatedAnswer {
    std::string_view date = {};  ///< the header of that name
    SteadyTime came = {};
    MicroTime wall = {};  ///< this process's wall clock at the arrival of the answer
    SteadyTime::duration round_trip = {};
};

/// Estimates how far the wall clock of this process is ahead of the API server's; negative: behind. A `Date`
/// is cut to whole seconds and was written at some moment of the round trip. So each answer gives a lower and
/// an upper bound. The bounds of the last one to two minutes count together. Without I/O and without a clock.
class ClockSkew {
public:
    using Duration = std::chrono::microseconds;

    /// Answers with a longer round trip are ignored: their bounds are too far apart.
    static constexpr std::chrono::seconds longest_round_trip{1};
    /// A skew of either sign above this, for as long as `lasting`, is worth a warning.
    static constexpr std::chrono::seconds tolerated{5};
    static constexpr std::chrono::seconds lasting{60};
    /// Bounds are forgotten one to two of these after their answer.
    static constexpr std::chrono::seconds remembered_for{60};

    enum class Transition {
        none,
        skewed,  ///< reported once
        over     ///< only after `skewed`
    };
    /// Takes an answer. Call it in order. Ignores a header that is no date.
    Transition note(const DatedAnswer& answer);

    /// Returns the smallest skew, of either sign, that is consistent with the answers; 0 before the first
    /// one.
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
