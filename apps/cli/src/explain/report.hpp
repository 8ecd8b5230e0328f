#pragma once
#include <string>
#include <vector>

#include "api/json.hpp"
#include "api/time.hpp"

namespace cli {

/// Something that was looked for: what there is, or why it could not be read.
template <class T>
struct ReadResult {
    T found = {};  ///< null or empty: there is none
    std::string unread = {};

    bool is_unread() const { return !unread.empty(); }
};

/// What can be known of one TrainJob from outside: objects as the API server has them.
struct RelatedObjects {
    api::Json job = {};
    ReadResult<api::Json> runtime = {};   ///< the live one
    ReadResult<api::Json> snapshot = {};  ///< the ConfigMap
    ReadResult<api::Json> job_set = {};   ///< of that name, with any owner
    ReadResult<std::vector<api::Json>> pods = {};
    ReadResult<std::vector<api::Json>> events = {};  ///< of the TrainJob and what it made, in any order
};

enum class Colours { no, yes };

/// One screen for people: state and why, deadline and time to live, runtime and how it has changed since,
/// JobSet, Pods with their problems, latest events. What objects say comes without control characters, which
/// terminals would obey.
std::string explain(const RelatedObjects& seen, api::Time now, Colours colours);

/// "2d 3h", "5m 10s", "0s": the two largest units.
std::string format_duration(std::chrono::seconds time);

}  // namespace cli
