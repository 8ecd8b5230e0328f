#pragma once
#include <chrono>
#include <optional>
#include <string>

#include "api/progress.hpp"
#include "lifecycle/observed.hpp"

/// The longest times that a TrainJob may be without its first report, and without progress. They count from
/// stored times alone, so that a restart of the program decides the same: from the start of all Pods or from
/// the last progress, and from the time since when reports are accepted without interruption, as an outage of
/// their server must end no job.
namespace lifecycle {

/// A report may wait for that long before it is stored.
inline constexpr std::chrono::seconds progress_grace{60};
/// The Lease of the server of reports is invalid once it is older than this.
inline constexpr std::chrono::seconds availability_lasts{60};
/// How long after an invalid Lease it is read again.
inline constexpr std::chrono::seconds availability_looked_at{30};

/// Reads the Lease of the server of reports; null: there is none.
Availability availability_of(const api::Json& lease);

/// Returns whether one of its times is so far ahead of this clock that one of the two clocks is wrong.
bool is_ahead(const Availability& availability, api::Time now);

/// Returns whether the Lease says since when reports are accepted. A Lease that is old, or is_ahead(), does
/// not.
bool is_valid(const Availability& availability, api::Time now);

/// Returns when the TrainJob has made progress last, if that was since its last start: a TrainJob that has
/// reported nothing since then has no progress deadline. Empty also while it is suspended, has ended or is
/// managed by another controller, or if nothing follows from reports.
std::optional<api::Time> last_progress(const Observed& observed);

/// Returns the limits in force, whether their clocks run or not; empty if the annotations have errors.
std::optional<api::ProgressDeadlines> progress_deadlines(const Observed& observed);

/// What the TrainJob is waited for. Of its two clocks one runs at a time.
struct Awaited {
    enum class What { first_report, progress };

    What what = What::progress;
    api::Time since = {};    ///< without the Lease
    std::int64_t limit = 0;  ///< in seconds

    bool operator==(const Awaited&) const = default;
};

/// Returns what a verdict is about, should it come; empty if no clock runs.
std::optional<Awaited> awaited(const Observed& observed);

/// Returns whether a verdict depends on the Lease of the server of reports: it is to be read now.
bool wants_availability(const Observed& observed, api::Time now);

/// Returns whether the deadline has passed, by the Lease. The verdict has to rest on a live view.
bool exceeds_progress_deadline(const Observed& observed, api::Time now);

/// The same, were the clock certain.
bool has_passed_progress_deadline(const Observed& observed, api::Time now);

/// Returns when a verdict may be due; empty if only a change can lead to one.
std::optional<std::chrono::seconds> next_progress_look(const Observed& observed, api::Time now);

/// Returns "no progress for 35m (limit 30m): 42 %, loss=1.93; last report 10s ago", or "no report for 35m
/// since all Pods had started (limit 30m)", while the deadline is exceeded.
std::string overdue_text(const Observed& observed, api::Time now);

/// Returns whether `Stalled` reports missing progress already.
bool is_stalled_by_progress(const api::TrainJob& job);

/// Returns the message for `Stalled`: that of a new verdict, or the stored one while no progress is reported.
/// Empty: no cause.
std::optional<std::string> progress_stall(const Observed& observed, api::Time now);

/// Returns whether the TrainJob has made progress since `Stalled` says that it does not.
bool has_resumed_progress(const Observed& observed);

}  // namespace lifecycle
