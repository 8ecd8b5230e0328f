#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/failure_policy.hpp"
#include "api/job_set.hpp"
#include "api/train_job.hpp"
#include "api_model.hpp"
#include "virtual_time.hpp"

namespace model {

/// The longest time from the read of a reconcile to its write.
inline constexpr std::chrono::seconds longest_reconcile{25};

/// Checks every step of a run for violations, whatever fails. complaints() has the findings.
class Invariants {
public:
    /// The target of a reconciler's write, by all that its process knew; without a UID, to create it.
    struct Meant {
        std::string uid = {};
        std::string version = {};
        api::Time looked = {};                ///< time of its last live read of that TrainJob
        api::Time shown = {};                 ///< time of the last answer with that TrainJob
        api::Time at = {};                    ///< time of sending
        std::chrono::seconds stood_still{0};  ///< how long its process was stopped between the two
    };

    Invariants(const ApiModel& api, const VirtualTime& time) : api_(api), time_(time) {}

    /// Call it before and after a request of a reconciler.
    void asked(int reconciler, const kube::Request& request, bool alive, const Meant& meant);
    void answered(int reconciler, const kube::Request& request, const Reply& reply);
    /// Call it after every change, with `by_reconciler` false for other writers.
    void changed(const Kind& kind, const api::ObjectKey& key, const api::Json& before, const api::Json& after,
                 bool by_reconciler);
    /// Call it after every change of the Lease of the server of reports.
    void lease_changed(const api::Json& after);
    /// Call it for each line of the program's log: errors are complaints.
    void logged(std::string_view line);
    void complain(std::string what);

    const std::vector<std::string>& complaints() const { return complaints_; }
    /// Returns the reasons of the stored events.
    const std::set<std::string>& events() const { return events_; }
    /// Returns the number of reconcilers' writes that may have changed something, including events.
    int writes() const { return writes_; }

    /// Nothing fails, so everything must be done in time as well.
    bool unharmed = false;
    /// The node's and that of the answers: what is written may be late.
    bool two_clocks_are_wrong = false;
    bool tenant_replaces_snapshots = false;
    bool cluster_takes_notes = false;      ///< a webhook removes the annotations of new JobSets
    bool pods_are_unread = false;          ///< the API server fails to list them for long
    std::chrono::milliseconds late_by{0};  ///< how late a write of a dead process may arrive

private:
    struct Life {
        bool is_managed_here = true;
        std::optional<api::Time> resumed = {};
        bool has_ended = false;
        std::optional<api::RunPolicy> began_with = {};          // by its snapshot, since its first JobSet
        std::set<std::string> reasons = {};                     // of its conditions at any time
        std::vector<std::pair<api::Time, bool>> suspends = {};  // values of spec.suspend with their times
        bool has_attempts = false;                              // under a failure policy
        bool has_false_restarts = false;                        // by another writer, or a late JobSet
        std::map<std::string, api::JobSet> made = {};           // attempts as they were made, by UID
        std::map<std::string, std::int64_t> failed = {};        // attempts, by the UID of the JobSet
        std::set<std::string> counted = {};                     // those that the status counts
    };
    // What a runtime said for a while.
    struct Policy {
        api::Time until = api::Time::max();
        std::optional<api::RunPolicy> said = {};  // empty: it was gone
    };

    void check_train_job(const api::ObjectKey& key, const api::Json& before, const api::Json& after,
                         bool by_reconciler);
    void check_correction(const api::ObjectKey& key, const api::Json& before, const api::Json& after);
    void check_resize(const api::ObjectKey& key, const api::Json& before, const api::Json& after);
    const Stored* own_job_set(const api::ObjectKey& train_job) const;
    static bool was_corrected_since(const api::Json& job_set, const api::TrainJob& job);
    void check_status(const api::TrainJob& before, const api::TrainJob& after);
    void check_failures(const api::TrainJob& before, const api::TrainJob& after);
    std::optional<api::Time> last_run_in_queue(const api::TrainJob& job) const;
    void check_deadline(const api::TrainJob& before);
    void check_stall(const api::TrainJob& before, const api::TrainJob& after);
    void check_progress(const api::TrainJob& before, const api::TrainJob& after);
    api::Time reports_since(const api::TrainJob& job) const;
    std::optional<api::Time> started_since(const api::TrainJob& job) const;
    void note_start(const api::Json& before, const api::Json& after);
    void note_all_started(const api::Json& before, const api::Json& after);
    bool allows_verdict(std::chrono::seconds limit) const;
    void check_times(const api::TrainJob& before, const api::TrainJob& after);
    bool has_just_been_edited(const ApiModel::Name& name) const;
    bool has_looked() const;  // whether this reconcile has read the TrainJob live
    void check_counts(const api::TrainJob& before, const api::TrainJob& after);
    void check_expiry(const api::TrainJob& job);
    bool were_limits_edited(const api::TrainJob& job, std::chrono::milliseconds within) const;
    void note_beginning(const Kind& kind, const api::ObjectKey& key, const api::Json& after);
    std::vector<std::optional<api::RunPolicy>> lately_said(const api::TrainJob& job);
    void check_policy_and_times(const api::TrainJob& before, const api::TrainJob& after);
    void check_budget(const api::Json& job_set);
    void note_attempt(const api::Json& before, const api::Json& after, bool by_reconciler);
    void check_attempts(const api::TrainJob& before, const api::TrainJob& after);
    void check_judgement(const api::TrainJob& before, const api::TrainJob& after);
    void check_hang(const api::TrainJob& before);
    std::vector<std::string> ended_attempts(const Life& life, std::int64_t attempt, bool hung) const;
    void check_next_attempt(const api::JobSet& ended, const api::TrainJob& job);
    bool is_over(const api::JobSet& job_set, const api::TrainJob* job) const;
    void check_claim(const api::ObjectKey& key, const api::Json& before, const api::Json& after);
    std::optional<api::FailurePolicy> failure_policy_of(const api::TrainJob& job) const;
    void check_job_set(const api::ObjectKey& key, const api::Json& before, const api::Json& after);
    void check_owned(const Kind& kind, const api::ObjectKey& key, const api::Json& before,
                     const api::Json& after);
    void check_snapshot(const api::ObjectKey& key, const api::Json& before, const api::Json& after);
    void check_aim(const Kind& kind, const api::ObjectKey& key, const api::Json& before,
                   const api::Json& after);
    void check_origin(const api::Json& before, const api::Json& after);
    void check_single(const api::ObjectKey& key, const api::Json& before, const api::Json& after);
    void check_recreation(const api::Json& before, const api::TrainJob& job);
    void check_job(const api::ObjectKey& key, const api::Json& before, const api::Json& after);
    bool runs_with_former_size(const api::Json& job_set) const;
    void check_suspension(const api::ObjectKey& key, const api::Json& before, const api::Json& after);
    void note_pods(const api::Json& job);
    void check_resume(const api::ObjectKey& key, const api::Json& job_set);
    void check_runtime(const api::Json& before, const api::Json& after);
    void check_event(const api::Json& event);
    std::optional<api::TrainJob> train_job_of(const std::string& uid) const;

    // The Lease of the server of reports since that time; without times there is none.
    struct Vouched {
        api::Time at = {};
        std::optional<api::Time> since = {};
        std::optional<api::Time> renewed = {};
    };

    const ApiModel& api_;
    const VirtualTime& time_;
    std::vector<Vouched> vouched_ = {{}};
    std::map<std::string, Life> lives_;              // by the TrainJob's UID
    std::set<std::string> administrators_runtimes_;  // their digests
    std::set<std::string> forged_snapshots_;         // UIDs of ConfigMaps of other writers
    std::map<std::pair<std::string, api::ObjectKey>, std::vector<Policy>> policies_;
    std::map<std::pair<std::string, api::ObjectKey>, kube::SteadyTime> edited_;  // by other writers
    std::map<std::string, api::Time> active_since_;                              // by the JobSet's UID
    std::map<std::string, api::Time> busy_since_;      // Jobs with active or terminating Pods, by UID
    std::map<std::string, api::Time> finished_since_;  // by the JobSet's UID
    std::map<std::string, api::Time> has_jobs_since_;  // by the JobSet's UID
    std::map<std::string, api::Time> has_pods_since_;  // by the JobSet's UID
    std::map<std::string, api::Time> running_since_;   // since when it is not suspended, by the JobSet's UID
    std::map<std::string, api::Time> all_started_;     // since when all its Pods run, by the JobSet's UID
    std::set<std::string> job_sets_that_ran_;          // their UIDs
    std::set<std::string> failed_pods_;                // their names
    std::map<std::pair<std::string, std::int64_t>, int> recreations_;  // by UID and generation of TrainJobs
    std::map<std::string, int> removed_job_sets_;                    // the reconciler that deleted it, by UID
    std::map<int, std::optional<api::ObjectKey>> just_seen_absent_;  // a missing JobSet, by the last answer
    std::map<int, std::set<std::string>> seen_terminal_;             // by the answers to its requests
    std::set<std::string> events_;
    std::vector<std::string> complaints_;
    int writes_ = 0;
    int asking_ = -1;
    Meant meant_;
    bool from_the_dead_ = false;
    bool changed_something_ = false;  // the request that is being handled
    int reconcilers_ = 0;
};

/// Returns the end of a run in one line: the TrainJob's conditions, its JobSet, its snapshot and its active
/// pods.
std::string summary(const ApiModel& api, const api::ObjectKey& job);

}  // namespace model
