// Handles the answers to writes.
#include <algorithm>
#include <utility>

#include "schedule_job.hpp"

namespace progress {
namespace {

using kube::SteadyTime;
using namespace std::chrono_literals;

constexpr auto first_backoff = 1s;
constexpr auto default_pause = 1s;

}  // namespace

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
