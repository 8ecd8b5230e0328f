#pragma once
#include <functional>
#include <set>

#include "agenda.hpp"
#include "api_model.hpp"

namespace faults {

/// How long something takes.
using Lag = std::function<std::chrono::milliseconds()>;

/// Owner references and finalizers, as the controller manager's garbage collector treats them: dependents of
/// nobody go, an owner in foreground deletion waits for those that block it, `orphan` sets dependents free.
class GarbageCollector {
public:
    GarbageCollector(ApiModel& api, Agenda& agenda, Lag lag)
        : api_(api), agenda_(agenda), lag_(std::move(lag)) {}

    /// To be told of every change.
    void changed(const api::Json& before, const api::Json& after);
    /// Everything that can be done now; returns whether there was anything.
    bool sweep();

private:
    ApiModel& api_;
    Agenda& agenda_;
    Lag lag_;
    bool planned_ = false;
};

/// What JobSet 0.12 and the Job controller do, as far as a TrainJob can tell: Jobs that follow `suspend`,
/// take the mutable fields by union when they are resumed, run for as long as a label of their pods says, and
/// counts and conditions.
class JobSetController {
public:
    JobSetController(ApiModel& api, Agenda& agenda, Lag lag)
        : api_(api), agenda_(agenda), lag_(std::move(lag)) {}

    void changed(const Kind& kind, const api::ObjectKey& key, const api::Json& before,
                 const api::Json& after);

    /// How long a pod takes to end when it is asked to.
    std::chrono::milliseconds grace{2000};

private:
    void plan(const api::ObjectKey& job_set);
    void follow(const api::ObjectKey& job_set);
    void follow_job(const api::Json& job_set, const api::Json& replicated_job, const api::ObjectKey& name);
    void count(const api::ObjectKey& job_set);
    void job_changed(const api::ObjectKey& key, const api::Json& before, const api::Json& after);
    void set_job_status(const api::ObjectKey& key, const std::string& uid, api::Json status);

    ApiModel& api_;
    Agenda& agenda_;
    Lag lag_;
    std::set<api::ObjectKey> planned_;
};

/// The child Jobs' label with the name of their JobSet.
inline constexpr std::string_view job_set_label = "jobset.sigs.k8s.io/jobset-name";

}  // namespace faults
