// When a job may be stalled or ended for missing progress.
#include <algorithm>

#include "api/job_set.hpp"
#include "invariants.hpp"

namespace model {
namespace {

using namespace std::chrono_literals;

// A report may wait for that long, and the Lease is valid for as long.
constexpr std::chrono::seconds minute = 60s;
// Until the verdict, if nothing fails: the Lease may have been looked at half a minute ago.
constexpr std::chrono::seconds promptly = 35s;

std::optional<api::Time> time_at(const api::Json& value) {
    const auto time = api::parse_time(value.as_string());
    return time ? std::optional(*time) : std::nullopt;
}

}  // namespace

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
    const api::Condition* ended = api::terminal_condition(after);
    const api::Condition* stalled = api::find_condition(after.conditions, api::condition::stalled);
    const api::Condition* was = api::find_condition(before.conditions, api::condition::stalled);
    const bool ends = ended && ended->reason == reason && !api::terminal_condition(before);
    const bool stalls = stalled && stalled->reason == reason && !(was && was->reason == reason);
    if (!ends && !stalls) return;
    const std::string name = api::to_string(after.meta.key());
    const auto limit = api::parse_progress_deadline(before.progress_annotations);
    const bool suspended = before.suspend || api::is_true(before.conditions, api::condition::suspended);
    if (!limit || suspended || (ends && limit->action != api::ProgressAction::fail))
        return complain(name + " met a progress deadline that it does not have now");
    const Life& life = lives_[before.meta.uid];
    api::Time start = life.resumed.value_or(before.meta.creation);
    // Reports of an attempt say nothing of the next one.
    if (life.has_attempts && before.restarts.all > 0)
        start = std::max(start, before.attempt.began.value_or(api::Time::max()));
    const auto last = before.trainer_status.last_progress;
    if (!last || *last < start) return complain(name + " met a progress deadline before its first report");
    const std::chrono::seconds seconds(limit->seconds);
    const auto over = time_.wall_seconds() - *last - seconds - minute;
    if (over < 0s) complain("the progress deadline of " + name + " was applied too early");
    if (!allows_verdict(seconds))
        complain("the progress deadline of " + name + " was applied although its reports may have been lost");
    if (!has_looked()) complain("the progress deadline of " + name + " was applied without a look at it");
    const Stored* stored = own_job_set(before.meta.key());
    const auto finished = stored ? finished_since_.find(stored->uid()) : finished_since_.end();
    if (ends && finished != finished_since_.end() && finished->second < meant_.looked)
        complain(name + " was ended by its progress deadline although its JobSet had finished");
    const bool was_available = vouched_.size() > 1 && vouched_[1].since == vouched_.back().since;
    const bool was_edited =
        has_just_been_edited({.resource = "trainjobs.trainer.kubeflow.org", .key = before.meta.key()});
    if (unharmed && was_available && !was && !was_edited && over > promptly)
        complain("the progress deadline of " + name + " was applied too late");
}

}  // namespace model
