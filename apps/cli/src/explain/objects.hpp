#pragma once
#include <string>
#include <vector>

#include "api/json.hpp"
#include "api/object_key.hpp"
#include "job/pods.hpp"

namespace cli {

/// The result of a read: the object, or why it could not be read.
template <class T>
struct ReadResult {
    T found = {};  ///< null or empty: it does not exist
    std::string unread = {};

    bool is_unread() const { return !unread.empty(); }
};

/// The objects around one TrainJob, as the API server has them.
struct RelatedObjects {
    api::Json job = {};
    ReadResult<api::Json> runtime = {};   ///< the live one
    ReadResult<api::Json> snapshot = {};  ///< the ConfigMap
    ReadResult<api::Json> job_set = {};   ///< of that name, with any owner
    ReadResult<std::vector<api::Json>> pods = {};
    NodeObjects nodes = {};                          ///< those that seem silent, if they may be read
    ReadResult<api::Json> workload = {};             ///< Kueue's; only of a TrainJob or JobSet in a queue
    ReadResult<std::vector<api::Json>> events = {};  ///< of the TrainJob and its objects, in any order
    api::ObjectKey lease_key = {};
    ReadResult<api::Json> lease = {};  ///< of the reconcilers
    api::ObjectKey progress_lease_key = {};
    /// Of the servers of progress; only of a TrainJob with a progress deadline.
    ReadResult<api::Json> progress_lease = {};
};

}  // namespace cli
