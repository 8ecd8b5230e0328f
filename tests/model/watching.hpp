#pragma once
#include <string>
#include <vector>

#include "api_model.hpp"
#include "knowledge.hpp"

namespace faults {

/// A watch as it is opened: what it says at once, and where in the history it goes on.
struct WatchStart {
    /// One line, and the object that it tells of, if any.
    struct Line {
        std::string text;
        Told told = {};
    };
    std::vector<Line> lines = {};
    std::size_t next_change = 0;
    bool ended = false;  ///< the history does not reach back that far
};

/// `target` as of a request: with sendInitialEvents or with a resourceVersion.
WatchStart start_watch(const ApiModel& api, const std::string& target);

std::string event_line(const Change& change);
Told told_by(const Change& change);
/// What an answer about that tells: of one object, or of all in a list.
std::vector<Told> told_now(const ApiModel& api, const ApiModel::Name& name);
/// The TrainJob that a request is about.
api::ObjectKey train_job_of(const ApiModel& api, const ApiModel::Name& name);
/// 410: too old.
std::string expired_line();

}  // namespace faults
