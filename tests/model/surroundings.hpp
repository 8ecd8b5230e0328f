#pragma once
#include <functional>
#include <map>
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

/// What JobSet 0.12 and the Job controller do, as far as a TrainJob can tell: volume claims; Jobs that wait
/// for others, follow `suspend`, are made anew when they are gone, take the mutable fields by union when they
/// are resumed, and run for as long as a label of their pods says; counts and conditions. Its watches of
/// JobSets and of Jobs are not equally fast.
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
    void see(const api::ObjectKey& key, const api::Json& before, const api::Json& after);
    void follow(const api::ObjectKey& job_set);
    void make_claims(const api::Json& job_set);
    bool waits_for_others(const api::Json& job_set, const api::Json& replicated_job) const;
    std::int64_t succeeded(const api::Json& job_set, const api::Json& replicated_job) const;
    void follow_job(const api::Json& job_set, const api::Json& replicated_job, const api::ObjectKey& name);
    void count(const api::ObjectKey& job_set);
    void job_changed(const api::ObjectKey& key, const api::Json& before, const api::Json& after);
    void set_job_status(const api::ObjectKey& key, const std::string& uid, api::Json status);

    ApiModel& api_;
    Agenda& agenda_;
    Lag lag_;
    std::set<api::ObjectKey> planned_;
    std::map<api::ObjectKey, api::Json> seen_;  // JobSets, by its watch
};

}  // namespace faults
