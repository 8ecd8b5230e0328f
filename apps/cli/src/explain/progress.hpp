#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/json.hpp"
#include "api/time.hpp"
#include "api/train_job.hpp"
#include "explain/objects.hpp"

namespace cli {

/// The Lease of the servers of progress, in the namespace of the reconcilers' one.
inline constexpr std::string_view progress_lease_name = "signalbox-progress";

/// A progress deadline or a start deadline that the annotations of a TrainJob ask for.
struct ProgressDeadline {
    std::int64_t seconds = 0;
    std::string action = {};  ///< Warn, Fail or Restart
    bool armed = false;       ///< the job has reported, or all its Pods run, since its last start
    std::optional<api::Time> passes = {};  ///< of an armed one; empty: not while no server of progress runs
    std::string remark = {};               ///< the reason why it does not pass, or why its time is not exact
};

/// Returns whether the TrainJob has an annotation of a progress deadline or a start deadline.
bool has_progress_deadline(const api::Json& train_job);

/// Returns the progress deadline of a TrainJob that has not ended; nullopt if it has none. Annotations with a
/// bad value count as none, with the reason in `remark` and 0 seconds.
std::optional<ProgressDeadline> progress_deadline_of(const RelatedObjects& seen, const api::TrainJob& job,
                                                     api::Time now);

/// Returns the start deadline of a TrainJob that has neither ended nor reported since its last start.
std::optional<ProgressDeadline> start_deadline_of(const RelatedObjects& seen, const api::TrainJob& job,
                                                  api::Time now);

}  // namespace cli
