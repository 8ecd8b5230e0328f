#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/json.hpp"
#include "api/time.hpp"
#include "api/train_job.hpp"
#include "timeline/model.hpp"

namespace cli {

using Moment = std::optional<api::Time>;

/// The times at which one Pod reached its stages; empty: not yet, or unknown.
struct PodTimes {
    const api::Json* pod = nullptr;  ///< null: it is gone, and these are the times of its events
    Moment created = {};
    Moment scheduled = {};
    Moment pulled = {};  ///< its images, if its node had to pull one
    bool pulls = false;  ///< its node has yet to pull one
    Moment started = {};
    Moment again = {};  ///< the latest attempt, if its program was restarted
    Moment finished = {};
    bool fails = false;  ///< and is retried: no attempt has lasted
    bool has_failed = false;
};

/// Returns the times of the existing Pods, by Job and number. Images count as pulled from the event Pulling
/// to Pulled; an image that was on the node is not.
std::vector<PodTimes> times_of_pods(const TimelineObjects& seen, api::Time now);

/// Returns the times of Pods that are gone, by their events since `begin`, in any order.
std::vector<PodTimes> times_of_events(const TimelineObjects& seen, const api::TrainJob& job, api::Time begin,
                                      api::Time now);

/// Returns whether an event is about a Pod of the TrainJob, by its name.
bool is_of_pods(const api::Json& event, const TimelineObjects& seen);

}  // namespace cli
