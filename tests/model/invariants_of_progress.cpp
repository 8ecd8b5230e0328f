// When a job may be stalled or ended for missing progress.
#include <algorithm>

#include "api/job_set.hpp"
#include "invariants.hpp"

namespace model {
namespace {

using namespace std::chrono_literals;

// A report may wait for that long, and the Lease is valid for as long.
constexpr std::chrono::seconds minute = 60s;
// How far the clock that stores a start may be behind the API server's. It is the earliest time that the
// dates of answers allow, and these are cut to the second; an answer was under way for up to 1.5 s; and what
// is stored is cut to the second again.
constexpr std::chrono::seconds clock_lag = 3s;
// Until the verdict, if nothing fails: the Lease may have been looked at half a minute ago.
constexpr std::chrono::seconds promptly = 35s;

std::optional<api::Time> time_at(const api::Json& value) {
    const auto time = api::parse_time(value.as_string());
    return time ? std::optional(*time) : std::nullopt;
}

}  // namespace

// Until it is suspended, or JobSet starts it again.
void Invariants::note_all_started(const api::Json& before, const api::Json& after) {
    const api::JobSet job_set = api::parse_job_set(after);
    const bool restarts = !before.is_null() && api::parse_job_set(before).restarts != job_set.restarts;
    if (job_set.suspend || restarts)
        all_started_.erase(job_set.meta.uid);
    else if (job_set.all_started)
        all_started_.try_emplace(job_set.meta.uid, time_.wall_seconds());
}

// Reports of an attempt say nothing of the next one.
api::Time Invariants::reports_since(const api::TrainJob& job) const {
    const Life& life = lives_.at(job.meta.uid);
    const api::Time start = life.resumed.value_or(job.meta.creation);
    if (!life.has_attempts || job.restarts.all == 0) return start;
    std::optional<api::Time> first;
    for (const auto& [uid, made] : life.made)
        if (made.restarts.all == job.restarts.all)
            first = std::min(first.value_or(made.meta.creation), made.meta.creation);
    return std::max(start, first.value_or(api::Time::max()));
}

std::optional<api::Time> Invariants::started_since(const api::TrainJob& job) const {
    const Stored* stored = own_job_set(job.meta.key());
    const auto at = stored ? all_started_.find(stored->uid()) : all_started_.end();
    return at == all_started_.end() ? std::nullopt : std::optional(at->second);
}

void Invariants::lease_changed(const api::Json& after) {
    const api::Json& spec = after["spec"];
    vouched_.push_back({.at = time_.wall_seconds(),
                        .since = time_at(spec["acquireTime"]),
                        .renewed = time_at(spec["renewTime"])});
}

// Returns whether a Lease that this reconcile may have read allowed it, as of the latest time by its clock.
bool Invariants::allows_verdict(std::chrono::seconds limit) const {
    const api::Time now = time_.wall_seconds();
    const api::Time first = meant_.looked - longest_reconcile - meant_.stood_still;
    for (std::size_t i = 0; i < vouched_.size(); ++i) {
        const bool is_over = i + 1 < vouched_.size() && vouched_[i + 1].at < first;
        const auto& [at, since, renewed] = vouched_[i];
        if (is_over || !since || !renewed) continue;
        if (*renewed + minute >= first && *since + limit + minute <= now) return true;
    }
    return false;
}

void Invariants::check_progress(const api::TrainJob& before, const api::TrainJob& after) {
    constexpr std::string_view reason = api::reason::progress_deadline_exceeded;
    using api::ProgressAction;
    const api::Condition* ended = api::terminal_condition(after);
    const api::Condition* stalled = api::find_condition(after.conditions, api::condition::stalled);
    const api::Condition* was = api::find_condition(before.conditions, api::condition::stalled);
    // Of an attempt that hangs.
    const bool judges = after.failures != before.failures && !after.failures.empty() &&
                        after.failures.front().reason == reason;
    const bool ends = ended && !api::terminal_condition(before) && (ended->reason == reason || judges);
    const bool restarts = judges && !ended;
    const bool stalls = stalled && stalled->reason == reason && !(was && was->reason == reason);
    if (!ends && !restarts && !stalls) return;
    const std::string name = api::to_string(after.meta.key());
    const auto limits = api::parse_progress_deadlines(before.progress_annotations);
    const bool suspended = before.suspend || api::is_true(before.conditions, api::condition::suspended);
    const bool is_asked_for = limits && (!ends || limits->action != ProgressAction::warn) &&
                              (!judges || limits->action == ProgressAction::restart);
    if (!is_asked_for || suspended)
        return complain(name + " met a progress deadline that it does not have now");
    const Life& life = lives_[before.meta.uid];
    if (unharmed && ends && !judges && limits->action == ProgressAction::restart && life.has_attempts &&
        !before.meta.deletion)
        complain(name + " was ended by its progress deadline without a judgement");
    const auto last = before.trainer_status.last_progress;
    const bool has_reported = last && *last >= reports_since(before);
    const auto limit = has_reported ? limits->progress : limits->start;
    const auto since = has_reported ? last : started_since(before);
    const auto said = has_reported ? last : before.attempt.began;
    if (!limit || !since || !said) return complain(name + " met a progress deadline before its first report");
    const std::chrono::seconds seconds(*limit);
    const auto latest_start = time_.wall_seconds() - seconds - minute;
    const auto over = latest_start - *since;
    if (*said > latest_start || over + (has_reported ? 0s : clock_lag) < 0s)
        complain("the progress deadline of " + name + " was applied too early");
    if (!allows_verdict(seconds))
        complain("the progress deadline of " + name + " was applied although its reports may have been lost");
    if (!has_looked()) complain("the progress deadline of " + name + " was applied without a look at it");
    const Stored* stored = own_job_set(before.meta.key());
    const auto finished = stored ? finished_since_.find(stored->uid()) : finished_since_.end();
    if ((ends || restarts) && finished != finished_since_.end() && finished->second < meant_.looked)
        complain(name + " was ended by its progress deadline although its JobSet had finished");
    const bool was_available = vouched_.size() > 1 && vouched_[1].since == vouched_.back().since;
    const bool was_edited =
        has_just_been_edited({.resource = "trainjobs.trainer.kubeflow.org", .key = before.meta.key()});
    if (unharmed && was_available && !was && !was_edited && over > promptly)
        complain("the progress deadline of " + name + " was applied too late");
}

}  // namespace model
