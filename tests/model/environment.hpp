#pragma once
#include <functional>
#include <map>
#include <set>

#include "api_model.hpp"
#include "virtual_time.hpp"

namespace model {

/// Returns a delay.
using Lag = std::function<std::chrono::milliseconds()>;

/// The controller manager's garbage collector, as far as owner references and finalizers: deletes dependents
/// without owners, lets an owner in foreground deletion wait for the dependents that block it, and releases
/// `orphan` ones.
class GarbageCollector {
public:
    GarbageCollector(ApiModel& api, VirtualTime& time, Lag lag)
        : api_(api), time_(time), lag_(std::move(lag)) {}

    /// Call it after every change.
    void changed(const api::Json& before, const api::Json& after);
    /// Does everything that is possible now; returns whether there was anything to do.
    bool sweep();

private:
    ApiModel& api_;
    VirtualTime& time_;
    Lag lag_;
    bool planned_ = false;
};

/// Returns whether a Job or a JobSet has completed or failed.
bool is_finished(const api::Json& object);

/// JobSet 0.12 and the Job controller, as far as a TrainJob depends on them: a Service, unless there is one
/// of that name; volume claims; Jobs that depend on others, follow `suspend`, are created again after a
/// deletion, merge mutable fields when they are resumed, and run as long as a label of their pods says;
/// counts, conditions, and restarts by failure policies. Its watches of JobSets and of Jobs have different
/// delays.
class JobSetController {
public:
    JobSetController(ApiModel& api, VirtualTime& time, Lag lag)
        : api_(api), time_(time), lag_(std::move(lag)) {}

    void changed(const Kind& kind, const api::ObjectKey& key, const api::Json& before,
                 const api::Json& after);

    /// How long a pod takes to end after its deletion.
    std::chrono::milliseconds grace{2000};

private:
    void plan(const api::ObjectKey& job_set);
    void see(const api::ObjectKey& key, const api::Json& before, const api::Json& after);
    void follow(const api::ObjectKey& job_set);
    void stop_jobs(const api::ObjectKey& job_set);
    void make_claims(const api::Json& job_set);
    void make_service(const api::Json& job_set);
    bool waits_for_others(const api::Json& job_set, const api::Json& replicated_job) const;
    std::int64_t succeeded(const api::Json& job_set, const api::Json& replicated_job) const;
    Reply follow_job(const api::Json& job_set, const api::Json& replicated_job, const api::ObjectKey& name);
    void report_refusal(const api::Json& job_set, const Reply& refusal);
    void count(const api::ObjectKey& job_set);
    void note_suspension(const api::Json& job_set, api::Json& status);
    void handle_failure(const api::Json& job_set, const api::Json& job, api::Json& status);
    void job_changed(const api::ObjectKey& key, const api::Json& before, const api::Json& after);
    bool is_first_attempt(const api::Json& job) const;
    void leave_failed_pod(const api::Json& job, bool is_refused);
    void end_pods(const api::ObjectKey& key, const std::string& uid);
    void set_job_status(const api::ObjectKey& key, const std::string& uid, api::Json status);

    ApiModel& api_;
    VirtualTime& time_;
    Lag lag_;
    std::set<api::ObjectKey> planned_;
    std::map<api::ObjectKey, api::Json> seen_;  // JobSets, as its watch shows them
};

/// Kubernetes' own scheduler and the controller that protects its PodGroups: a group says that its Pods have
/// been placed once there are any, for good, and is deleted once they have ended.
class PodGroupController {
public:
    PodGroupController(ApiModel& api, VirtualTime& time, Lag lag)
        : api_(api), time_(time), lag_(std::move(lag)) {}

    /// The admission of a new object.
    static void protect(const Kind& kind, api::Json& created);
    void changed(const Kind& kind, const api::ObjectKey& key, const api::Json& before,
                 const api::Json& after);

private:
    void follow(const api::ObjectKey& key);
    bool has_pods(const api::ObjectKey& key) const;

    ApiModel& api_;
    VirtualTime& time_;
    Lag lag_;
};

}  // namespace model
