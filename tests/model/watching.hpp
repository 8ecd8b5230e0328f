#pragma once
#include <string>
#include <vector>

#include "api_model.hpp"
#include "knowledge.hpp"

namespace model {

/// The start of a watch: its first events, and its position in the history.
struct WatchStart {
    /// One line, and its object, if any.
    struct Line {
        std::string text;
        Seen seen = {};
    };
    std::vector<Line> lines = {};
    std::size_t next_change = 0;
    bool ended = false;  ///< the history has expired
};

/// `target` is that of a request: with sendInitialEvents or with a resourceVersion.
WatchStart start_watch(const ApiModel& api, const std::string& target);

std::string event_line(const Change& change);
Seen seen_in(const Change& change);
/// Returns the states that an answer reports: of one object, or of all in a list.
std::vector<Seen> seen_now(const ApiModel& api, const ApiModel::Name& name);
/// Returns the TrainJob to which a request belongs.
api::ObjectKey train_job_of(const ApiModel& api, const ApiModel::Name& name);
/// Returns an ERROR event with code 410.
std::string expired_line();

}  // namespace model
