#pragma once
#include <optional>
#include <string_view>

#include "api/time.hpp"
#include "kube/client/clock.hpp"

namespace kube {

/// A time that the API server has stated, and when its answer was under way.
struct DatedAnswer {
    api::Time date = {};  ///< whole seconds, cut
    SteadyTime sent = {};
    SteadyTime came = {};
};

/// Parses a `Date` header: "Tue, 15 Nov 1994 08:12:31 GMT", the only form that servers may write (RFC 9110,
/// 5.6.7).
std::optional<api::Time> parse_http_date(std::string_view text);

/// The API server's clock. It measures how far the times in answers are from this process's steady clock:
/// each answer gives a lower and an upper bound, and those of the last minutes count together. The wall clock
/// of this node decides nothing as soon as there was one answer with a time.
///
/// An answer that contradicts the earlier ones makes the clock uncertain: a clock was set, or a proxy or
/// another API server states other times. It is certain again when no answer has contradicted for
/// `settled_after`. A new time that all answers state since then is believed, unless this node's clock agrees
/// with the former one. Thread rule: one thread.
class ServerClock final : public Clock {
public:
    /// Two clocks that differ by less agree, and the earlier one counts: those of API servers without NTP.
    static constexpr std::chrono::seconds tolerated{30};
    static constexpr std::chrono::minutes settled_after{2};
    /// Bounds are forgotten one to two of these after their answer.
    static constexpr std::chrono::minutes remembered_for{2};

    /// `own` must outlive it.
    explicit ServerClock(Clock& own) : own_(own) {}

    SteadyTime now() const override { return own_.now(); }
    /// Returns the earliest time that the API server's clock can show now, by the last answers. While it is
    /// uncertain, that of the former and the new clock with which this node's agrees. If it agrees with
    /// neither: the former one, or the later one if all answers since contradict it, because limits that
    /// count from a time that was written now must not end a job early. Before the first answer: this node's.
    MicroTime wall() const override;
    net::Task<> sleep_until(SteadyTime when) override { return own_.sleep_until(when); }
    double jitter() override { return own_.jitter(); }

    /// Takes an answer. Call it in the order of their arrival.
    void note(const DatedAnswer& answer);

    /// Returns whether times may decide what cannot be undone: there was an answer, and the last ones agree.
    bool is_certain() const;

private:
    using Duration = std::chrono::microseconds;
    // Of the API server's clock minus the steady clock.
    struct Bounds {
        Duration least = {};
        Duration most = {};
    };
    // A clock by the answers that agree with each other.
    struct Estimate {
        Bounds latest = {};
        std::optional<Bounds> former = {};  // of the period before
        SteadyTime began = {};              // when `latest` did
        SteadyTime noted = {};              // the last answer

        Bounds bounds() const;
        bool agrees(const Bounds& with, SteadyTime now) const;
        void add(const Bounds& bounds, SteadyTime now);
        MicroTime at(SteadyTime now) const;
    };

    bool is_own(MicroTime time) const;

    Clock& own_;
    std::optional<Estimate> clock_ = {};
    std::optional<Estimate> other_ = {};          // that contradicts `clock_`
    std::optional<SteadyTime> other_since_ = {};  // if all answers since then agreed with `other_`
    std::optional<SteadyTime> contradicted_ = {};
};

/// What the API server's clock shows, for decisions.
struct ServerTime {
    ServerTime(api::Time time, bool certain = true) : now(time), is_certain(certain) {}
    explicit ServerTime(const ServerClock& clock)
        : ServerTime(std::chrono::floor<std::chrono::seconds>(clock.wall()), clock.is_certain()) {}

    api::Time now;
    bool is_certain;  ///< as ServerClock::is_certain()
};

}  // namespace kube
