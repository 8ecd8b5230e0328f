#pragma once
#include <string>
#include <vector>

#include "api/json.hpp"
#include "api/object_key.hpp"
#include "api/time.hpp"
#include "job/standing.hpp"
#include "text/duration.hpp"
#include "text/tone.hpp"

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
    ReadResult<api::Json> workload = {};             ///< Kueue's; only of a TrainJob in a queue
    ReadResult<std::vector<api::Json>> events = {};  ///< of the TrainJob and what it made, in any order
    api::ObjectKey lease_key = {};
    ReadResult<api::Json> lease = {};  ///< of the reconcilers
};

/// Whether Pods run or have ended well, by the Pods themselves: a JobSet says little of that.
PodsRun pods_run(const ReadResult<std::vector<api::Json>>& pods);

/// One screen for users: state and why, deadline and time to live, runtime and how it has changed since,
/// JobSet, Pods with their problems, latest events. What objects say comes without control characters, which
/// terminals would obey.
std::string explain(const RelatedObjects& seen, api::Time now, Colours colours);

}  // namespace cli
