#pragma once
#include "lifecycle/conclusion.hpp"

namespace lifecycle {

template <class... Cases>
struct Overloaded : Cases... {
    using Cases::operator()...;
};
template <class... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;  // clang-tidy 14 needs the guide

/// Returns "TrainJob default/job": kind and key of an object with the name of the job.
std::string name_of(std::string_view kind, const api::TrainJob& job);

/// Builds the conclusion of one reconcile. It visits the decision: there is a member function for each
/// alternative. All arguments must outlive it.
class Concluder {
public:
    Concluder(const Observed& observed, const Outcome& outcome, api::Time now, const Options& options);

    void conclude_blindly(const ReadFailed& failed, const Decision& decision);
    void conclude_dispatched(const ReadFailed* unread, const Decision& decision);
    void operator()(const Ignore& ignore);
    void operator()(const StoreTransition& transition);
    void operator()(const Finish& finish);
    void operator()(const Restart& restart);
    void operator()(const CleanUp& clean_up);
    void operator()(const Expire& expire);
    void operator()(const Run& run);

    void miss(const ReadFailed& failed);
    void follow_policy_and_times(const Decision& decision);
    void look_for_stall(const Decision& decision);

    Conclusion take() &&;

private:
    // After acting on a Run.
    void done(const Run& run);
    void jobs_replaced(const JobsReplaced& replaced);
    void requeue_soon();
    bool learned_about_creation(const Run& run) const;
    void write_failed(const WriteFailed& failed);
    void taken(const ForeignObject& foreign);

    // The condition `Created`.
    void say_what_delays(std::string_view retrying, const std::string& object, const api::Error& error);
    void created();
    void say_nothing_of_creation();
    void forget_errors();
    void creating();
    void not_created(std::string_view reason, std::string message);
    void end_created(const Finish& finish);

    void note_failure();
    void follow_attempt();

    // Status that follows from the observed objects and the conditions.
    void follow_policy(const Decision& decision);
    void follow_runtime();
    void follow_times();
    std::optional<api::Time> start_before(const api::Condition* ended, bool had_ended) const;
    bool awaits_snapshot() const;
    bool shows_job_set() const;
    void follow_suspend();
    void follow_counts();
    void follow_job_set();
    void follow_generation();

    void wait_for_ttl();
    std::optional<std::chrono::seconds> until(std::optional<std::chrono::seconds> limit) const;
    bool leads_to_build(const Decision& decision) const;
    void report_end_of_job_set(EndOfJobSet step);
    void set(std::string_view type, std::string_view status, std::string_view reason, std::string message,
             api::Time since = {});
    void report_error(const std::string& object, const api::Error& error);

    const Observed& observed_;
    const api::TrainJob& job_;
    const Outcome& outcome_;
    const api::Time now_;
    const Options& options_;
    bool knows_job_set_;  // false if the JobSet may be outdated
    std::string details_of_end_;
    Conclusion conclusion_;
};

}  // namespace lifecycle
