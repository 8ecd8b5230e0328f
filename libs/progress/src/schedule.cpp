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
// A namespace gets one part in so many of each budget and limit.
constexpr std::size_t share_of_namespace = 2;
// The unit in which namespaces pay for their turns.
constexpr std::size_t bytes_of_unit = 1024;
// A job that has not reported for so long makes room for another one.
constexpr auto makes_room_after = 60s;

constexpr auto first_backoff = 1s;
constexpr auto default_pause = 1s;

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
    if (knows(job)) return true;
    const auto line = lines_.find(job.ns);
    const bool has_share = line != lines_.end() &&
                           line->second->jobs >= std::max<std::size_t>(1, limits_.jobs / share_of_namespace);
    if (!has_share && jobs_.size() < limits_.jobs) return true;
    for (Job* candidate : by_use_) {
        if (candidate->used_at + makes_room_after > now.steady) return false;
        if (!is_idle(*candidate) || (has_share && candidate->key.ns != job.ns)) continue;
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
        auto& line = lines_[key.ns];
        if (!line) {
            line = std::make_unique<Line>();
            line->key.ns = key.ns;
            line->writes.per_second = writes_.per_second / share_of_namespace;
            line->bytes.per_second = bytes_.per_second / share_of_namespace;
        }
        ++line->jobs;
        job->line = line.get();
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
    discard(job.pending, *job.line);
    end_sent(job);
    by_use_.erase(job.place);
    Line& line = *job.line;
    const api::ObjectKey key = job.key;
    jobs_.erase(key);
    if (--line.jobs > 0) return;
    unplan(line);
    lines_.erase(key.ns);
}

void Schedule::put_in_queue(Job& job, SteadyTime due) {
    take_from_queue(job);
    job.due = due;
    job.is_queued = true;
    ++queued_;
    job.line->queue.emplace(due, &job);
    plan(*job.line);
}

void Schedule::take_from_queue(Job& job) {
    if (!std::exchange(job.is_queued, false)) return;
    --queued_;
    job.line->queue.erase({job.due, &job});
    plan(*job.line);
}

void Schedule::unplan(Line& line) {
    if (line.waits_until) waiting_.erase({*line.waits_until, &line});
    line.waits_until.reset();
    if (line.place) ready_.erase(*line.place);
    line.place.reset();
}

// Gives the namespace its next turn. It has none while as many of its writes are in flight as it may have.
void Schedule::plan(Line& line) {
    unplan(line);
    if (line.queue.empty() || line.sent * share_of_namespace >= limits_.writes_at_once) return;
    line.waits_until = std::max({line.queue.begin()->first, line.writes.free_at, line.bytes.free_at});
    waiting_.emplace(*line.waits_until, &line);
}

// Returns the job whose turn it is: of the namespace that has paid least, the one that is due for longest.
Schedule::Job* Schedule::first_due(SteadyTime now) {
    while (!waiting_.empty() && waiting_.begin()->first <= now) {
        Line& line = *waiting_.begin()->second;
        waiting_.erase(waiting_.begin());
        line.waits_until.reset();
        line.place = ready_.push(line.key);
    }
    const api::ObjectKey* key = ready_.pop([](const api::ObjectKey&, std::size_t) { return true; });
    if (!key) return nullptr;
    Line& line = *lines_.at(key->ns);
    line.place.reset();
    return line.queue.begin()->second;
}

void Schedule::discard(std::optional<Pending>& pending, Line& line) {
    if (!pending) return;
    const std::size_t size = pending->trainer_status.size();
    if (size > ScheduleLimits::small_report) {
        large_bytes_ -= size;
        line.large_bytes -= size;
    }
    pending.reset();
}

// Ends the write in flight.
void Schedule::end_sent(Job& job) {
    if (!job.sent) return;
    --sent_;
    --job.line->sent;
    discard(job.sent, *job.line);
    plan(*job.line);
}

// Replaces the pending report. Returns false if there is no memory for it.
bool Schedule::keep(Job& job, Pending pending) {
    const auto counted = [](std::size_t size) { return size > ScheduleLimits::small_report ? size : 0; };
    const std::size_t size = counted(pending.trainer_status.size());
    const std::size_t before = job.pending ? counted(job.pending->trainer_status.size()) : 0;
    Line& line = *job.line;
    if (size > before && (large_bytes_ - before + size > limits_.large_reports ||
                          (line.large_bytes - before + size) * share_of_namespace > limits_.large_reports))
        return false;
    large_bytes_ += size - before;
    line.large_bytes += size - before;
    if (job.pending) pending.since = job.pending->since;
    job.pending = std::move(pending);
    return true;
}

// An urgent report takes the next turn in advance, and only one turn: a script that alternates between 99 and
// 100 percent gets no more writes than any other.
bool Schedule::may_hurry(const Job& job, milliseconds interval, SteadyTime now) {
    return job.next_turn <= now + interval;
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
    const bool is_urgent =
        (arrival.is_first_of_pod || completes) && may_hurry(job, limits_.interval, now.steady);
    job.is_urgent = job.is_urgent || is_urgent;

    if (!job.sent) {
        SteadyTime due = job.is_urgent ? now.steady : std::max(now.steady, job.next_turn);
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
    if ((waiting_.empty() && ready_.empty()) || sent_ >= limits_.writes_at_once) return SteadyTime::max();
    const SteadyTime first = ready_.empty() ? waiting_.begin()->first : SteadyTime::min();
    return std::max({first, paused_until_, writes_.free_at, bytes_.free_at});
}

std::optional<Schedule::Write> Schedule::next(Moment now) {
    drop_unused(now.steady);
    if (due() > now.steady) return std::nullopt;
    Job* const found = first_due(now.steady);
    if (!found) return std::nullopt;
    Job& job = *found;
    Line& line = *job.line;
    for (const auto& [budget, cost] : {std::pair(&writes_, 1.0), std::pair(&line.writes, 1.0),
                                       std::pair(&bytes_, static_cast<double>(job.stored.bytes)),
                                       std::pair(&line.bytes, static_cast<double>(job.stored.bytes))})
        budget->charge(cost, now.steady);
    ready_.charge(line.key.ns, 1 + static_cast<std::int64_t>(job.stored.bytes / bytes_of_unit));
    ready_.give_back(line.key.ns);
    ++sent_;
    ++line.sent;
    take_from_queue(job);
    job.sent = std::move(job.pending);
    job.pending.reset();
    job.advanced_sent = job.advanced;
    job.is_urgent = false;
    job.written_at = now.steady;
    const bool is_repeated = job.attempts > 0 || job.is_failing;
    job.next_turn = is_repeated ? std::max(job.next_turn, now.steady + limits_.interval)
                                : std::max(job.next_turn, now.steady) + limits_.interval;
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
    // What keeps the job from its progress deadline is small.
    if (job.failures >= own_failures) tree.erase("metrics");
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

bool Schedule::fails_alone(const api::ObjectKey& key) const {
    const Job* job = find(key);
    return job && fails_alone(*job);
}

// A server without an answer, or busy, fails for all jobs, and so does one that refuses all of them, as
// without permission or while another's webhook is away.
bool Schedule::fails_alone(const Job& job) const { return job.is_refused && stored_at_ > job.failing_since; }

void Schedule::start_drain(double factor, Moment now) {
    limits_.interval = 0ms;
    for (Budget* budget : {&writes_, &bytes_}) budget->per_second *= factor;
    for (const auto& [ns, line] : lines_) {
        for (Budget* budget : {&line->writes, &line->bytes}) budget->per_second *= factor;
        auto queue = std::exchange(line->queue, {});
        for (const auto& [due, job] : queue) {
            job->due = std::min(due, now.steady);
            line->queue.emplace(job->due, job);
        }
        plan(*line);
    }
}

milliseconds Schedule::longest_wait(Moment now) const {
    SteadyTime since = now.steady;
    for (const auto& [key, job] : jobs_) {
        if (fails_alone(*job)) continue;
        if (job->pending) since = std::min(since, job->pending->since);
        if (job->sent) since = std::min(since, job->sent->since);
    }
    return std::chrono::floor<milliseconds>(now.steady - since);
}

milliseconds Schedule::interval(Moment now) const {
    SteadyTime first = now.steady;
    for (const auto& [ns, line] : lines_)
        if (!line->queue.empty()) first = std::min(first, line->queue.begin()->first);
    return limits_.interval + std::chrono::floor<milliseconds>(now.steady - first);
}

// Ends the write in flight; a newer report waits for its turn.
void Schedule::settle(Job& job, SteadyTime now) {
    end_sent(job);
    job.attempts = 0;
    if (job.pending) put_in_queue(job, std::max({now, job.retry_at, job.is_urgent ? now : job.next_turn}));
}

Schedule::Outcome Schedule::written(const api::ObjectKey& key, std::uint64_t sequence, StoredStatus stored,
                                    Moment now) {
    Job* job = find_sent(key, sequence);
    if (!job) return Outcome::not_found;
    if (job->advanced == job->advanced_sent) job->advanced.reset();
    job->stored = std::move(stored);
    job->good_at = stored_at_ = now.steady;
    job->failures = 0;
    job->is_failing = job->is_refused = false;
    job->retry_at = {};
    settle(*job, now.steady);
    return Outcome::stored;
}

Schedule::Outcome Schedule::failed(const api::ObjectKey& key, std::uint64_t sequence, const api::Error& error,
                                   Moment now) {
    Job* job = find_sent(key, sequence);
    if (!job) return Outcome::not_found;
    if (!without_progress_time_ && lacks_progress_time(error)) {
        without_progress_time_ = true;
        retry_later(*job, now.steady);
        return Outcome::retried;
    }
    if (!job->is_failing) job->failing_since = now.steady;
    switch (error.code) {
        case api::Errc::conflict:
            if (++job->attempts <= most_attempts) return Outcome::changed;
            // Another client writes this TrainJob all the time.
            job->is_failing = job->is_refused = true;
            job->retry_at = job->written_at + limits_.interval;
            retry_later(*job, job->retry_at);
            return Outcome::conflict;
        case api::Errc::not_found: erase(*job); return Outcome::not_found;
        case api::Errc::forbidden: return give_up(*job, Outcome::forbidden, now.steady);
        case api::Errc::invalid: return give_up(*job, Outcome::invalid, now.steady);
        default: break;
    }
    const bool is_busy = error.http_status == 429 || (error.http_status == 503 && error.retry_after);
    if (!is_busy) {
        const Outcome outcome = back_off(*job, now.steady);
        // The TrainJob may be as large as etcd stores.
        job->is_refused = error.http_status != 0 && job->failures >= own_failures;
        return outcome;
    }
    const auto pause = std::min(error.retry_after.value_or(default_pause),
                                std::chrono::duration_cast<std::chrono::seconds>(longest_pause));
    paused_until_ = std::max(paused_until_, now.steady + pause);
    job->is_failing = true;
    job->retry_at = paused_until_;
    retry_later(*job, paused_until_);
    return Outcome::unavailable;
}

Schedule::Outcome Schedule::give_up(Job& job, Outcome outcome, SteadyTime now) {
    job.is_failing = job.is_refused = true;
    job.retry_at = {};
    if (!job.pending) {
        // The last accepted report is the stored one.
        job.progress = job.stored.progress;
        job.updated = job.stored.updated;
        job.is_complete = job.stored.is_complete;
        job.advanced.reset();
    }
    settle(job, now);
    return outcome;
}

Schedule::Outcome Schedule::back_off(Job& job, SteadyTime now) {
    const auto delay =
        std::min<std::chrono::seconds>(first_backoff * (1 << std::min(job.failures, 5)), longest_backoff);
    ++job.failures;
    job.is_failing = true;
    job.retry_at = now + delay;
    retry_later(job, job.retry_at);
    return Outcome::unavailable;
}

// The report in flight becomes pending again, unless there is a newer one.
void Schedule::retry_later(Job& job, SteadyTime due) {
    job.attempts = 0;
    if (job.pending) {
        job.pending->since = std::min(job.pending->since, job.sent ? job.sent->since : job.pending->since);
        end_sent(job);
    } else {
        if (job.sent) --sent_, --job.line->sent;
        // Its bytes stay counted.
        job.pending = std::move(job.sent);
        job.sent.reset();
    }
    put_in_queue(job, due);
}

Schedule::Outcome Schedule::read_again(const api::ObjectKey& key, std::uint64_t sequence,
                                       const api::Result<StoredStatus>& stored, Moment now) {
    Job* job = find_sent(key, sequence);
    if (!job) return Outcome::not_found;
    if (!stored) {
        if (stored.error().code == api::Errc::not_found) {
            erase(*job);
            return Outcome::not_found;
        }
        return back_off(*job, now.steady);
    }
    if (stored->uid != job->stored.uid) {
        erase(*job);
        return Outcome::replaced;
    }
    job->good_at = now.steady;
    job->stored = *stored;
    const Pending& latest = job->pending ? *job->pending : *job->sent;
    const bool is_late = stored->updated && latest.updated && *latest.updated < *stored->updated &&
                         *stored->updated - *latest.updated <= late_for;
    if (is_late) {
        discard(job->pending, *job->line);
        job->is_urgent = false;
        settle(*job, now.steady);
        rebase(*job, *stored);
        return Outcome::late;
    }
    if (latest.progress != stored->progress && !job->advanced) job->advanced = latest.arrived;
    const int attempts = job->attempts;
    retry_later(*job, now.steady);
    job->attempts = attempts;
    return Outcome::retried;
}

}  // namespace progress
