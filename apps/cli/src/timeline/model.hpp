#pragma once
#include <optional>
#include <string>
#include <vector>

#include "api/json.hpp"
#include "api/time.hpp"
#include "text/terminal.hpp"

/// The times of a TrainJob, and their drawings.
namespace cli {

/// The objects of a timeline, as the API server has them. Unreadable ones are null or empty.
struct TimelineObjects {
    api::Json job = {};
    api::Json job_set = {};  ///< the TrainJob's own
    std::vector<api::Json> jobs = {};
    std::vector<api::Json> pods = {};
    bool pods_unread = false;
    std::vector<api::Json> events = {};  ///< of the TrainJob, and the normal ones of its Pods
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
    std::vector<Span> failures = {};  ///< moments at which the first Pod of an attempt failed, with the cause
    std::vector<NodeRow> nodes = {};  ///< the existing Pods
    std::vector<std::string> notes = {};
};

/// Returns the times of a TrainJob. The stages are suspended or queued, creation, or in its place earlier
/// attempts and restarting, scheduling, image pulls, start, running, or in its place "fails and is retried",
/// stopping; a stage ends when the last Pod has left it. Of Pods that are gone, their events tell; what these
/// do not tell is "unknown". A stage before running is marked as lost time if it takes a minute and a tenth
/// of the whole time.
Timeline timeline_of(const TimelineObjects& seen, api::Time now);

/// Returns lines with a bar for each stage and each Pod, as wide as the terminal, or 100 columns in a pipe.
/// Of many Pods it shows 16.
Text draw_text(const Timeline& timeline, const Terminal& terminal);

/// Returns the same as a picture, with all Pods: SVG 1.1 without scripts, fonts or links.
Text draw_svg(const Timeline& timeline);

}  // namespace cli
