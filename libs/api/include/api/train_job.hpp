#pragma once
#include <optional>
#include <string>
#include <vector>

#include "api/condition.hpp"
#include "api/meta.hpp"
#include "api/run_policy.hpp"
#include "api/time.hpp"

namespace api {

/// `spec.runtimeRef`, with the defaults of the CRD filled in.
struct RuntimeRef {
    std::string api_group = {};
    std::string kind = {};
    std::string name = {};

    bool operator==(const RuntimeRef&) const = default;
};

/// Whether a runtime of this group and kind is served here.
bool is_supported(const RuntimeRef& ref);

/// One entry of `status.jobsStatus`; counts of child Jobs.
struct JobStatus {
    std::string name = {};
    std::int64_t ready = 0;
    std::int64_t succeeded = 0;
    std::int64_t failed = 0;
    std::int64_t active = 0;
    std::int64_t suspended = 0;

    bool operator==(const JobStatus&) const = default;
};

bool any_active(const std::vector<JobStatus>& jobs);

/// A TrainJob: the fields that decisions depend on, typed; the rest of the spec as the tree it came as.
struct TrainJob {
    ObjectMeta meta = {};
    RuntimeRef runtime_ref = {};
    bool suspend = false;
    std::optional<std::int64_t> active_deadline_seconds = {};
    std::optional<std::int64_t> ttl_seconds_after_finished = {};
    std::string managed_by = {};
    std::string queue = {};           ///< the label kueue.x-k8s.io/queue-name
    bool is_multikueue_copy = false;  ///< the label kueue.x-k8s.io/multikueue-origin is there
    Json spec = {};                   ///< all of `spec`, as stored
    std::vector<Condition> conditions = {};
    std::vector<JobStatus> jobs_status = {};
    std::optional<RunPolicy> run_policy = {};  ///< `status.runPolicy`
    std::optional<Time> start_time = {};
    std::optional<Time> completion_time = {};
};

/// Never fails on an odd shape: the schema guards the API, and older objects must not crash a program.
TrainJob parse_train_job(const Json& object);

/// `status.jobsStatus` of a TrainJob and `status.replicatedJobsStatus` of a JobSet: the same six fields.
std::vector<JobStatus> parse_jobs_status(const Json& list);
Json to_json_tree(const std::vector<JobStatus>& jobs);

/// Whether what runs may still be corrected, by the status as it is stored: something kept the JobSet from
/// being created, and there has never been one. Of a TrainJob that another controller manages, the status
/// does not tell.
bool may_be_corrected(const TrainJob& stored);

/// What is True of a finished job: `Complete` or `Failed`; nullptr while it is not finished.
const Condition* terminal_condition(const TrainJob& job);

}  // namespace api
