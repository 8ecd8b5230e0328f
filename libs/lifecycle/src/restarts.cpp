#include "lifecycle/restarts.hpp"

#include "lifecycle/judge.hpp"

namespace lifecycle {

api::Restarts restarts(const Observed& observed) {
    const api::JobSet* job_set = own_job_set(observed);
    if (!job_set || is_judged(observed)) return observed.job->restarts;
    // One that hung may complete before it is ended. It was counted all the same.
    const bool is_counted = job_set->is_attempt && is_said_to_restart(*observed.job, *job_set);
    return is_counted ? observed.job->restarts : job_set->restarts;
}

api::Restarts restarts_before(const Observed& observed) {
    const api::JobSet* job_set = own_job_set(observed);
    return job_set ? job_set->restarts_before : observed.job->restarts;
}

bool takes_back_restarts(const Observed& observed) {
    const api::Restarts& said = observed.job->restarts;
    const api::Restarts now = restarts(observed);
    return !may_be_outdated(observed) && !api::terminal_condition(*observed.job) &&
           (now.all < said.all || now.counted < said.counted);
}

std::string counted_restarts(const api::JobSet& job_set) {
    std::string text = std::to_string(job_set.restarts.counted);
    if (job_set.max_restarts && !job_set.is_attempt)
        text += " of " + std::to_string(job_set.restarts_before.counted + *job_set.max_restarts);
    return text + " counted";
}

std::optional<Event> restart_event(const Observed& observed, const api::Restarts& now) {
    const api::JobSet* job_set = own_job_set(observed);
    if (!job_set || job_set->is_attempt || now.all <= observed.job->restarts.all) return {};
    std::string note = "restart " + std::to_string(now.all) + ", " + counted_restarts(*job_set);
    if (!job_set->restart_message.empty()) note += ": " + job_set->restart_message;
    Event event = warning_event(event_reason::restarted, note);
    event.needs_status = true;
    return event;
}

}  // namespace lifecycle
