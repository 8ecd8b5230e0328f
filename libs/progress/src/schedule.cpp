#include "progress/schedule.hpp"

#include <algorithm>
#include <utility>

#include "schedule_job.hpp"

namespace progress {
namespace {

using api::Json;
using kube::SteadyTime;
using namespace std::chrono_literals;
using std::chrono::milliseconds;

// The share of a budget that is saved up.
constexpr milliseconds saved_up = 100ms;
// A job that has not reported for so long makes room for another one.
constexpr auto makes_room_after = 60s;

}  // namespace

Moment moment_of(const kube::Clock& clock) {
    return {.steady = clock.now(), .wall = std::chrono::floor<std::chrono::seconds>(clock.wall())};
}

void Schedule::Budget::charge(double cost, SteadyTime now) {
    using Seconds = std::chrono::duration<double>;
    free_at = std::max(free_at, now - saved_up) +
              std::chrono::ceil<SteadyTime::duration>(Seconds(cost / per_second));
}

Schedule::Schedule(ScheduleLimits limits)
    : limits_(limits),
      writes_{.per_second = limits.writes_per_second},
      bytes_{.per_second = limits.bytes_per_second} {}

Schedule::~Schedule() = default;

Schedule::Job* Schedule::find(const api::ObjectKey& key) const {
    const auto at = jobs_.find(key);
    return at == jobs_.end() ? nullptr : at->second.get();
}

// Returns nullptr unless that report is in flight.
Schedule::Job* Schedule::find_sent(const api::ObjectKey& key, std::uint64_t sequence) const {
    Job* job = find(key);
    return job && job->sent && job->sent->sequence == sequence ? job : nullptr;
}

bool Schedule::is_idle(const Job& job) { return !job.pending && !job.sent; }

void Schedule::touch(Job& job, SteadyTime now) {
    job.used_at = now;
    by_use_.splice(by_use_.end(), by_use_, job.place);
}

void Schedule::drop_unused(SteadyTime now) {
    while (!by_use_.empty() && is_idle(*by_use_.front()) && by_use_.front()->used_at + idle_for <= now)
        erase(*by_use_.front());
}

bool Schedule::has_room(const api::ObjectKey& job, Moment now) {
    drop_unused(now.steady);
    if (knows(job) || jobs_.size() < limits_.jobs) return true;
    for (Job* candidate : by_use_) {
        if (candidate->used_at + makes_room_after > now.steady) return false;
        if (!is_idle(*candidate)) continue;
        erase(*candidate);
        return true;
    }
    return false;
}

void Schedule::rebase(Job& job, StoredStatus stored) {
    job.stored = std::move(stored);
    if (!is_idle(job)) return;
    job.progress = job.stored.progress;
    job.updated = job.stored.updated;
    job.is_complete = job.stored.is_complete;
    job.advanced.reset();
}

void Schedule::update(const api::ObjectKey& key, StoredStatus stored, Moment now) {
    Job* job = find(key);
    if (job && job->stored.uid != stored.uid) {
        erase(*job);
        job = nullptr;
    }
    if (!job) {
        auto made = std::make_unique<Job>();
        job = made.get();
        job->key = key;
        job->place = by_use_.insert(by_use_.end(), job);
        job->written_at = now.steady - limits_.interval;
        jobs_.emplace(key, std::move(made));
    }
    rebase(*job, std::move(stored));
    job->good_at = now.steady;
    touch(*job, now.steady);
}

// Returns whether the API server will probably accept a report of the job. While it waits for the budget or
// for a write in flight, the writes of other jobs count too.
bool Schedule::is_healthy(const Job& job, bool is_in_line, SteadyTime now) const {
    const SteadyTime good_at = is_in_line ? std::max(job.good_at, stored_at_) : job.good_at;
    return !job.is_failing && now - good_at <= healthy_for;
}

void Schedule::forget(const api::ObjectKey& key) {
    if (Job* job = find(key)) erase(*job);
}

void Schedule::erase(Job& job) {
    take_from_queue(job);
    discard(job.pending);
    if (job.sent) --sent_;
    discard(job.sent);
    by_use_.erase(job.place);
    const api::ObjectKey key = job.key;
    jobs_.erase(key);
}

void Schedule::put_in_queue(Job& job, SteadyTime due) {
    take_from_queue(job);
    job.due = due;
    job.is_queued = true;
    queue_.emplace(due, &job);
}

void Schedule::take_from_queue(Job& job) {
    if (std::exchange(job.is_queued, false)) queue_.erase({job.due, &job});
}

void Schedule::discard(std::optional<Pending>& pending) {
    if (!pending) return;
    const std::size_t size = pending->trainer_status.size();
    if (size > ScheduleLimits::small_report) large_bytes_ -= size;
    pending.reset();
}

// Replaces the pending report. Returns false if there is no memory for it.
bool Schedule::keep(Job& job, Pending pending) {
    const auto counted = [](std::size_t size) { return size > ScheduleLimits::small_report ? size : 0; };
    const std::size_t size = counted(pending.trainer_status.size());
    const std::size_t before = job.pending ? counted(job.pending->trainer_status.size()) : 0;
    if (size > before && large_bytes_ - before + size > limits_.large_reports) return false;
    large_bytes_ += size - before;
    if (job.pending) pending.since = job.pending->since;
    job.pending = std::move(pending);
    return true;
}

Schedule::Submitted Schedule::submit(const api::ObjectKey& key, Arrival arrival, Moment now) {
    Job& job = *find(key);
    touch(job, now.steady);
    const Report& report = arrival.report;
    // A report older by more has another clock: otherwise a single report from the future would block the
    // job.
    const bool is_late = job.updated && report.updated && *report.updated < *job.updated &&
                         *job.updated - *report.updated <= late_for;
    if (is_late) return {.reply = Reply::late, .sequence = sequence_};

    Pending pending = {.sequence = sequence_ + 1,
                       .trainer_status = api::to_json(to_json_tree(report)),
                       .progress = progress_hash(report),
                       .updated = report.updated,
                       .arrived = now.wall,
                       .since = now.steady,
                       .is_complete = report.percentage == 100};
    const auto known = std::max(job.advanced, job.stored.bookmark);
    const bool advances = pending.progress != job.progress || !known || arrival.pod_created > *known;
    const bool completes = pending.is_complete && !job.is_complete;
    const Pending latest = {
        .progress = pending.progress, .updated = pending.updated, .is_complete = pending.is_complete};
    const bool is_in_line = job.pending.has_value() || job.sent.has_value();
    if (!keep(job, std::move(pending))) return {.reply = Reply::no_room, .sequence = sequence_};
    ++sequence_;
    job.progress = latest.progress;
    job.updated = latest.updated;
    job.is_complete = latest.is_complete;
    if (advances) job.advanced = now.wall;
    const bool is_urgent = arrival.is_first_of_pod || completes;
    job.is_urgent = job.is_urgent || is_urgent;

    if (!job.sent) {
        SteadyTime due = job.is_urgent ? now.steady : std::max(now.steady, job.written_at + limits_.interval);
        due = std::max(due, job.retry_at);
        // A waiting report keeps its place.
        if (job.is_queued) due = std::min(due, job.due);
        put_in_queue(job, due);
    }
    const Submitted submitted = {.reply = Reply::wait, .sequence = sequence_};
    if (job.is_failing && now.steady < job.retry_at)
        return {.reply = Reply::failing, .sequence = submitted.sequence};
    if (is_healthy(job, is_in_line, now.steady) && !is_urgent)
        return {.reply = Reply::accepted, .sequence = submitted.sequence};
    return submitted;
}

SteadyTime Schedule::due() const {
    if (queue_.empty() || sent_ >= limits_.writes_at_once) return SteadyTime::max();
    return std::max({queue_.begin()->first, paused_until_, writes_.free_at, bytes_.free_at});
}

std::optional<Schedule::Write> Schedule::next(Moment now) {
    drop_unused(now.steady);
    if (due() > now.steady) return std::nullopt;
    Job& job = *queue_.begin()->second;
    take_from_queue(job);
    writes_.charge(1, now.steady);
    bytes_.charge(static_cast<double>(job.stored.bytes), now.steady);
    job.sent = std::move(job.pending);
    job.pending.reset();
    job.advanced_sent = job.advanced;
    job.is_urgent = false;
    job.written_at = now.steady;
    ++sent_;
    return Write{.job = job.key,
                 .sequence = job.sent->sequence,
                 .request = status_request(job.key, job.stored.resource_version,
                                           status_to_write(job, *job.sent, now.wall))};
}

Json Schedule::status_to_write(const Job& job, const Pending& pending, api::Time now) const {
    auto parsed = api::parse_json(pending.trainer_status);
    Json tree = parsed ? std::move(*parsed) : Json::object();
    std::optional<api::Time> time = job.stored.bookmark;
    if (job.advanced) {
        // Of two replicas' times the later one counts, unless its clock is ahead.
        const bool is_behind = time && *time <= now && *time > *job.advanced;
        if (!is_behind) time = job.advanced;
    }
    if (time && !without_progress_time_) tree["lastProgressTime"] = api::format_time(*time);
    return tree;
}

bool Schedule::is_sent(const api::ObjectKey& key, std::uint64_t sequence) const {
    const Job* job = find(key);
    return job && job->sent && job->sent->sequence >= sequence;
}

bool Schedule::is_failing(const api::ObjectKey& key) const {
    const Job* job = find(key);
    return job && job->is_failing;
}

void Schedule::start_drain(double factor, Moment now) {
    writes_.per_second *= factor;
    bytes_.per_second *= factor;
    limits_.interval = 0ms;
    Queue waiting;
    waiting.swap(queue_);
    for (const auto& [due, job] : waiting) {
        job->due = std::min(due, now.steady);
        queue_.emplace(job->due, job);
    }
}

milliseconds Schedule::longest_wait(Moment now) const {
    SteadyTime since = now.steady;
    for (const auto& [key, job] : jobs_) {
        if (job->pending) since = std::min(since, job->pending->since);
        if (job->sent) since = std::min(since, job->sent->since);
    }
    return std::chrono::floor<milliseconds>(now.steady - since);
}

milliseconds Schedule::interval(Moment now) const {
    if (queue_.empty()) return limits_.interval;
    const auto overdue = std::max(now.steady - queue_.begin()->first, SteadyTime::duration::zero());
    return limits_.interval + std::chrono::floor<milliseconds>(overdue);
}

}  // namespace progress
