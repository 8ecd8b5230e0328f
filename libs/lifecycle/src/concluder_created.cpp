#include "concluder.hpp"
#include "lifecycle/refusal.hpp"
#include "retry_state.hpp"

namespace lifecycle {

// Reports in `Created` an error that has lasted and delays the JobSet. Leaves `Created` if it alone shows
// that there was a JobSet, since the source of the build depends on that.
void Concluder::say_what_delays(std::string_view retrying, const std::string& object,
                                const api::Error& error) {
    const bool remembers = api::is_true(job_.conditions, api::condition::created) && job_.jobs_status.empty();
    const Obstacle obstacle = obstacle_of(error);
    if (own_job_set(observed_) || remembers || obstacle == Obstacle::passing) return;
    if (!has_lasted(observed_.retry_state, now_)) return;
    const bool server = obstacle == Obstacle::server;
    const api::Condition wanted = {.type = std::string(api::condition::created),
                                   .status = server ? "Unknown" : "False",
                                   .reason = std::string(server ? retrying : api::reason::permission_denied),
                                   .message = object + ": " + api::describe(error)};
    const api::Condition* stored = api::find_condition(job_.conditions, wanted.type);
    if (stored && !may_state_again(conclusion_.retry_state, *stored, wanted, now_)) return;
    set(wanted.type, wanted.status, wanted.reason, wanted.message);
    conclusion_.conditions = in_order(std::move(conclusion_.conditions));
    conclusion_.retry_state.stated = now_;
}

void Concluder::created() {
    if (options_.created_condition == CreatedCondition::always)
        return set(api::condition::created, "True", api::reason::jobs_creation_succeeded,
                   "Succeeded to create Jobs");
    say_nothing_of_creation();
}

void Concluder::say_nothing_of_creation() {
    std::erase_if(conclusion_.conditions, [](const auto& c) { return c.type == api::condition::created; });
}

// Ends the report of errors in `Created`: they are over, whatever the job waits for now.
void Concluder::forget_errors() {
    const api::Condition* said = api::find_condition(conclusion_.conditions, api::condition::created);
    if (!said || !is_open(*said)) return;
    own_job_set(observed_) ? created() : say_nothing_of_creation();
}

// Sets `Created` to Unknown: False would permit a correction between the read of the TrainJob and the
// creation of its JobSet, and True would be wrong so far.
void Concluder::creating() {
    set(api::condition::created, "Unknown", api::reason::jobs_creating, "The JobSet is being created");
    conclusion_.decide_again = true;
}

// Retries with backoff, since a mended cause may cause no watch event.
void Concluder::not_created(std::string_view reason, std::string message) {
    const api::Condition* before = api::find_condition(job_.conditions, api::condition::created);
    // The dry run succeeded, but the create was refused: the own status write must not cause the next attempt
    // at once.
    conclusion_.own_writes_need_no_reconcile = before && before->reason == api::reason::jobs_creating;
    set(api::condition::created, "False", reason, std::move(message));
    requeue_soon();
}

// Sets `Created` if a crash after the creation of the JobSet has left it out.
void Concluder::settle_created(const Finish& finish) {
    const api::Condition* said = api::find_condition(conclusion_.conditions, api::condition::created);
    const bool unknown = !said || is_open(*said);
    if (finish.from_job_set || (unknown && own_job_set(observed_))) created();
}

}  // namespace lifecycle
