#pragma once
#include <optional>
#include <string>
#include <vector>

#include "api/json.hpp"
#include "api/time.hpp"
#include "text/tone.hpp"

namespace cli {

/// The objects of a timeline, as the API server has them. Unreadable ones are null or empty.
struct TimelineObjects {
    api::Json job = {};
    api::Json job_set = {};  ///< the TrainJob's own
    std::vector<api::Json> jobs = {};
    std::vector<api::Json> pods = {};
    std::vector<api::Json> events = {};  ///< of the TrainJob, and pulls of its Pods
};

/// A part of the time of a TrainJob or of one of its Pods.
struct Span {
    std::string name = {};  ///< "scheduling"
    api::Time begin = {};
    api::Time end = {};
    Tone tone = Tone::plain;  ///< good: it runs; held: it waits; bad: it failed
    bool goes_on = false;     ///< it is open; `end` is now
    std::string note = {};    ///< lost time, and why
};

struct NodeRow {
    std::string name = {};
    std::vector<Span> spans = {};
};

struct Timeline {
    std::string title = {};
    api::Time begin = {};
    api::Time end = {};               ///< now, while it is open
    std::vector<Span> stages = {};    ///< one after the other
    std::vector<NodeRow> nodes = {};  ///< the existing Pods
    std::vector<std::string> notes = {};
};

/// Returns the times of a TrainJob. The stages are suspended or queued, creation, scheduling, image pulls,
/// start, running; a stage ends when the last Pod has left it. A stage before running is marked as lost time
/// if it takes a minute and a tenth of the whole time.
Timeline timeline_of(const TimelineObjects& seen, api::Time now);

}  // namespace cli
