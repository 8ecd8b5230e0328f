#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "explain/model.hpp"
#include "job/failure.hpp"
#include "lifecycle/conditions.hpp"
#include "lifecycle/restarts.hpp"
#include "text/duration.hpp"
#include "text/terminal.hpp"

namespace cli {
namespace {

using std::chrono::seconds;

constexpr std::size_t most_pods = 16;
constexpr std::size_t most_events = 8;
constexpr std::size_t most_differences = 8;
constexpr std::size_t most_metrics = 8;
constexpr std::size_t bar_columns = 20;

// The screen, line by line: a heading in the margin, and a text.
class Screen {
public:
    explicit Screen(Colours colours) : colours_(colours) {}

    void line(std::string_view heading, std::string_view text, Tone tone = Tone::plain) {
        std::string margin(heading);
        margin.resize(std::max<std::size_t>(margin.size() + 1, 10), ' ');
        text_ += Text::painted(margin, Tone::faint, colours_) + Text::painted(text, tone, colours_);
        text_.end_line();
    }
    Text take() && { return std::move(text_); }

private:
    Colours colours_;
    Text text_ = {};
};

std::string span(api::Time then, api::Time now) { return format_duration(since(then, now)); }

std::string ago(api::Time then, api::Time now) { return span(then, now) + " ago"; }

// Returns "completed 36s ago", "running for 1m 4s", "restarting, attempt 2 begins in 8s".
std::string state_text(const Explanation& all) {
    using enum lifecycle::State;
    const StatePart& part = all.state;
    const api::Time now = all.now;
    std::string text(part.words.word);
    if (part.state == elsewhere) text += ": " + part.managed_by;
    if (!part.telling) return text;
    // The condition knows nothing of what its Pods have come to.
    if (part.state == running && !part.words.detail.empty()) {
        text = text_of(part.words, now);
        if (const auto next = all.brief.next_attempt)
            text +=
                *next > now ? " begins in " + format_duration(*next - now) : " was due " + ago(*next, now);
        return text;
    }
    const std::string time = span(part.telling->last_transition, now);
    const std::string reason = " (" + part.telling->reason + ")";
    if (part.state == elsewhere) return text + "; " + part.telling->reason + " " + time + " ago";
    if (part.state == complete) return "completed " + time + " ago" + reason;
    return text + (part.state == failed ? " " + time + " ago" : " for " + time) + reason;
}

// For existing objects, a resume and a restart, the line before is enough.
bool says_more(const api::Condition& condition) {
    const bool is_expected = (condition.type == api::condition::created && condition.is_true()) ||
                             (condition.type == api::condition::suspended && !condition.is_true()) ||
                             condition.type == api::condition::restarting;
    return !is_expected && !condition.message.empty();
}

// The failure has lines of its own.
std::string without_failure(const std::string& message, const std::vector<api::Failure>& failures) {
    return failures.empty() ? message : before_failure(message, failures.front()).value_or(message);
}

void draw_state(const Explanation& all, Screen& screen) {
    const StatePart& part = all.state;
    const Brief& job = all.brief;
    screen.line("TrainJob", to_string(job.key) + ", created " + ago(job.created, all.now));
    screen.line("State", state_text(all), part.words.tone);
    if (part.telling && says_more(*part.telling))
        if (const std::string left = without_failure(part.telling->message, part.failures); !left.empty())
            screen.line("", left);
    for (const api::Condition& each : part.conditions) {
        const bool blocks = each.type == api::condition::created && !each.is_true();
        if (each != part.telling && (blocks || !lifecycle::is_built_in(each.type)))
            screen.line("", each.type + "=" + each.status + " (" + each.reason + ") " + each.message);
    }
    if (!job.ended) {
        const bool suspended = api::is_true(part.conditions, api::condition::suspended);
        if (job.suspend != suspended)
            screen.line("", job.suspend ? "is to be suspended" : "is to run again", Tone::held);
        if (job.suspend && !job.queue.empty())
            screen.line("", "Kueue decides when it runs; it waits in the queue " + job.queue, Tone::held);
    }
    if (const std::string stopping = stopping_of(job.state, all.now); !stopping.empty())
        screen.line("", stopping, Tone::held);
    if (part.deletion) screen.line("", "being deleted for " + span(*part.deletion, all.now), Tone::held);
}

// Returns "30m 10s ago, attempt 2; restarted, counted (rule 0)".
std::string history_of(const api::Failure& failure, api::Time now) {
    const std::string verdict = verdict_of(failure);
    return ago(failure.time, now) + (verdict.empty() ? "" : ", ") + verdict;
}

// Returns "node-3, container node; 30m 10s ago, attempt 2; ended the job".
std::string place_of(const api::Failure& failure, api::Time now) {
    std::string text = failure.replicated_job;
    if (failure.index && !text.empty()) text += "-" + std::to_string(*failure.index);
    if (!failure.container.empty()) text += (text.empty() ? "" : ", ") + ("container " + failure.container);
    return text + (text.empty() ? "" : "; ") + history_of(failure, now);
}

void draw_failures(const std::vector<api::Failure>& failures, api::Time now, Screen& screen) {
    if (failures.empty()) return;
    const api::Failure& last = failures.front();
    const bool goes_on = last.decision == api::FailureDecision::restart ||
                         last.decision == api::FailureDecision::restart_uncounted;
    screen.line("Failure", cause_of(last), goes_on ? Tone::held : Tone::bad);
    screen.line("", place_of(last, now));
    if (!last.message.empty()) screen.line("", "  " + last.message);
    for (std::size_t i = 1; i < failures.size(); ++i)
        screen.line("", "before, " + history_of(failures[i], now) + ": " + api::describe(failures[i]));
}

std::string text_of(const PolicyRefusal& refusal) {
    using By = PolicyRefusal::By;
    std::string by;
    switch (refusal.by) {
        case By::webhook: by = "by the webhook " + refusal.name; break;
        case By::unreachable_webhook: by = "because the webhook " + refusal.name + " does not answer"; break;
        case By::quota: by = "by the ResourceQuota " + refusal.name; break;
        case By::admission_policy: by = "by the ValidatingAdmissionPolicy " + refusal.name; break;
        case By::pod_security: by = "by the namespace's PodSecurity level " + refusal.name; break;
        case By::limit_range: by = "by a LimitRange"; break;
        case By::default_limit: by = "by the limit that a LimitRange sets where there is none"; break;
        case By::security_context_constraints: by = "by the security context constraints"; break;
        case By::missing_object: by = "because the " + refusal.name + " does not exist"; break;
    }
    return refusal.object + ", " + by + (refusal.message.empty() ? "" : ": " + refusal.message);
}

void draw_refusals(const std::vector<PolicyRefusal>& refusals, Screen& screen) {
    std::string_view heading = "Refused";
    for (const PolicyRefusal& each : refusals)
        screen.line(std::exchange(heading, ""), text_of(each), Tone::bad);
}

// A job that progresses needs no word about a lease that is missing or cannot be read.
void draw_lease(const LeasePart& part, lifecycle::State state, Screen& screen) {
    using enum lifecycle::State;
    if (state == elsewhere) return;
    if (!part.problem.empty())
        screen.line("Lease", part.problem, Tone::bad);
    else if (state == pending && part.exists.is_unread())
        screen.line("Lease", "whether a reconciler leads is not known: " + part.exists.unread, Tone::held);
    else if (state == pending && !part.exists.found)
        screen.line("Lease", "there is none called " + part.name + "; --lease names another", Tone::held);
}

void draw_queue(const QueuePart& part, Screen& screen) {
    if (part.name.empty()) return;
    const auto& [state, unread] = part.state;
    if (!unread.empty())
        return screen.line("Queue", part.name + "; its Workload could not be read: " + unread, Tone::held);
    screen.line("Queue", part.name + ": " + state.text, state.tone);
}

struct Line {
    std::string text = {};
    Tone tone = Tone::plain;
};

Line summary_line(const Explanation& all, const Terminal& terminal) {
    const Progress& progress = all.brief.progress;
    const bool ended = all.brief.ended;
    std::string text;
    const auto add = [&text](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
    if (progress.percent) {
        const double part = static_cast<double>(*progress.percent) / 100;
        const std::string drawn =
            terminal.is_terminal ? bar(0, part, bar_columns, terminal.glyphs) + " " : "";
        add(drawn + std::to_string(*progress.percent) + "%");
    }
    const auto left = remaining_time(progress, all.now);
    if (left && !ended) add(format_duration(*left) + " left");
    const bool stale = !ended && all.now - *progress.reported > stale_report;
    add((stale ? "nothing reported since " : "reported ") + ago(*progress.reported, all.now));
    if (progress.advanced && !ended) add("last progress " + ago(*progress.advanced, all.now));
    return {text, stale ? Tone::held : Tone::plain};
}

// The reported end beside the active deadline.
std::optional<Line> end_line(const Explanation& all) {
    const auto left = remaining_time(all.brief.progress, all.now);
    if (!left || !all.deadline || !all.deadline->end) return std::nullopt;
    const api::Time deadline = *all.deadline->end;
    const api::Time end = all.now + *left;
    if (end <= deadline) return Line{"ends " + format_duration(deadline - end) + " before its deadline"};
    return Line{"ends " + format_duration(end - deadline) + " after its deadline", Tone::bad};
}

std::optional<Line> metrics_line(const api::Json& metrics) {
    std::string text;
    std::size_t count = 0;
    for (const api::Json& metric : metrics.items()) {
        if (++count > most_metrics) continue;
        if (count > 1) text += ", ";
        text.append(metric["name"].as_string()).append(" ").append(metric["value"].as_string());
    }
    if (count == 0) return std::nullopt;
    if (count > most_metrics) text += ", and " + std::to_string(count - most_metrics) + " more";
    return Line{text};
}

Line deadline_line(std::string text, const ProgressDeadline& deadline, api::Time now) {
    if (deadline.seconds == 0) return {text + deadline.remark, Tone::held};
    text += format_duration(seconds(deadline.seconds)) + ", then " + deadline.action + ": ";
    if (!deadline.passes)
        return {text + (deadline.armed ? "no verdict: " : "not armed: ") + deadline.remark, Tone::held};
    const bool passed = *deadline.passes <= now;
    text +=
        passed ? "passed " + ago(*deadline.passes, now) : format_duration(*deadline.passes - now) + " left";
    if (!deadline.remark.empty()) text += ", " + deadline.remark;
    return {text, passed ? Tone::bad : Tone::plain};
}

// Draws nothing for a training that has not reported and has no deadline for that.
void draw_progress(const Explanation& all, const Terminal& terminal, Screen& screen) {
    const char* heading = "Progress";
    const auto draw = [&](const std::optional<Line>& line) {
        if (line) screen.line(std::exchange(heading, ""), line->text, line->tone);
    };
    if (all.brief.progress.reported) {
        draw(summary_line(all, terminal));
        if (!all.brief.ended) draw(end_line(all));
        draw(metrics_line(all.progress.metrics));
    }
    if (all.progress.start) draw(deadline_line("start deadline ", *all.progress.start, all.now));
    if (all.progress.deadline) draw(deadline_line("progress deadline ", *all.progress.deadline, all.now));
}

void draw_deadline(const std::optional<DeadlinePart>& part, bool ended, api::Time now, Screen& screen) {
    if (!part) return screen.line("Deadline", "none");
    std::string limit = format_duration(part->limit);
    if (!part->source.empty()) limit += " (" + part->source + ")";
    if (ended) return screen.line("Deadline", limit + "; the job has ended");
    if (!part->end)
        return screen.line(
            "Deadline",
            limit + (part->waits_in_queue
                         ? " from its start on; it does not run while its JobSet waits in a queue"
                         : " from the next resume on; it does not run while suspended"),
            Tone::held);
    limit += part->is_since_resume ? " since the last resume" : " since its creation";
    if (*part->end <= now)
        return screen.line("Deadline", limit + ": passed " + ago(*part->end, now), Tone::bad);
    screen.line("Deadline", limit + ": " + format_duration(*part->end - now) + " left");
}

void draw_ttl(const TimeToLivePart& part, Screen& screen) {
    if (part.is_deleted_elsewhere) return screen.line("TTL", "none here: MultiKueue deletes it");
    if (part.is_unknown)
        return screen.line("TTL", "not known: the runtime says it, which could not be read", Tone::held);
    if (!part.limit) return screen.line("TTL", "none: it stays until it is deleted");
    const std::string limit = format_duration(*part.limit) + " after its end";
    screen.line("TTL", part.left ? limit + ": deleted in " + format_duration(*part.left) : limit);
}

// Adds the first items, as many as a screen has room for, and the number of the others.
template <class Items, class Add>
void add_some(const Items& items, std::size_t most, Screen& screen, Add add) {
    for (std::size_t i = 0; i < std::min(items.size(), most); ++i) add(items[i]);
    if (items.size() > most) screen.line("", "  and " + std::to_string(items.size() - most) + " more");
}

void draw_live_runtime(const RuntimePart& part, Screen& screen) {
    if (part.exists.is_unread())
        return screen.line("Runtime", part.name + ", which could not be read: " + part.exists.unread,
                           Tone::held);
    if (!part.exists.found)
        return part.has_snapshot
                   ? screen.line("Runtime", part.name + ", which is gone; the job keeps its snapshot")
                   : screen.line("Runtime", part.name + ", which does not exist", Tone::bad);
    if (part.changes.empty()) return screen.line("Runtime", part.name);
    screen.line("Runtime",
                part.name + ", changed since the job began; the job keeps its snapshot:", Tone::held);
    add_some(part.changes, most_differences, screen,
             [&](const std::string& change) { screen.line("", "  " + change); });
}

void draw_runtime(const RuntimePart& part, Screen& screen) {
    draw_live_runtime(part, screen);
    if (!part.snapshot_problem.empty())
        screen.line("", "its snapshot cannot be used: " + part.snapshot_problem, Tone::bad);
    if (!part.snapshot_unread.empty())
        screen.line("", "whether the job runs by it as it is now is not known: " + part.snapshot_unread,
                    Tone::held);
}

std::string counts_of(const api::JobStatus& job) {
    std::string text = job.name + ":";
    const std::pair<std::int64_t, const char*> counts[] = {{job.active, " active"},
                                                           {job.ready, " ready"},
                                                           {job.succeeded, " succeeded"},
                                                           {job.failed, " failed"},
                                                           {job.suspended, " suspended"}};
    bool any = false;
    for (const auto& [count, word] : counts) {
        if (count == 0) continue;
        text += (any ? ", " : " ") + std::to_string(count) + word;
        any = true;
    }
    return any ? text : text + " none yet";
}

void draw_excluded_nodes(const std::vector<std::string>& excluded, const std::vector<PodPart>& pods,
                         Screen& screen) {
    if (excluded.empty()) return;
    std::string text = excluded.size() == 1 ? "  avoids node " : "  avoids nodes ";
    for (const std::string& node : excluded) text += (&node == &excluded.front() ? "" : ", ") + node;
    const bool lacks_node =
        std::ranges::any_of(pods, [](const PodPart& pod) { return pod.problem.starts_with(no_node); });
    if (!lacks_node) return screen.line("", text);
    screen.line("", text + ", which may be why its Pods find no node", Tone::bad);
}

// Each attempt ends by its first failure, so JobSet's reason says nothing.
std::string end_of(const api::JobSet& job_set) {
    const api::Condition& end = *job_set.finished;
    return job_set.is_attempt && end.type == "Failed" ? end.type : end.type + " (" + end.reason + ")";
}

void draw_job_set(const ReadResult<JobSetPart>& seen, const std::vector<PodPart>& pods, bool ended,
                  Screen& screen) {
    if (seen.is_unread()) return screen.line("JobSet", "could not be read: " + seen.unread, Tone::held);
    const JobSetPart& part = seen.found;
    if (!part.object) return screen.line("JobSet", "none", ended ? Tone::plain : Tone::held);
    const api::JobSet& job_set = *part.object;
    if (!part.is_own)
        return screen.line("JobSet", "the one of that name belongs to another owner; rename or delete either",
                           Tone::bad);
    if (job_set.meta.deletion) return screen.line("JobSet", "is being deleted", Tone::held);
    std::string state = job_set.finished ? end_of(job_set) : job_set.suspend ? "suspended" : "runs";
    if (part.is_late) state += ", too late for the TrainJob's deadline";
    if (job_set.restarts.all > 0)
        state += (job_set.is_attempt ? ", attempt " + std::to_string(job_set.restarts.all)
                                     : ", restarted " + times(job_set.restarts.all)) +
                 " (" + lifecycle::counted_restarts(job_set) + ")";
    screen.line("JobSet", state);
    draw_excluded_nodes(job_set.excluded_nodes, pods, screen);
    if (!part.kept.empty()) screen.line("", "  " + part.kept, Tone::held);
    for (const api::JobStatus& each : job_set.replicated_jobs)
        screen.line("", "  jobs of " + counts_of(each));
}

std::string summary_of(const std::vector<PodPart>& pods) {
    std::map<std::string_view, int> phases;
    std::set<std::string_view> nodes;
    for (const PodPart& pod : pods) {
        ++phases[pod.phase];
        if (!pod.node.empty()) nodes.insert(pod.node);
    }
    std::string summary;
    for (const auto& [phase, count] : phases)
        summary.append(summary.empty() ? "" : ", ").append(std::to_string(count)).append(" ").append(phase);
    if (!nodes.empty())
        summary += ", on " + std::to_string(nodes.size()) + (nodes.size() == 1 ? " node" : " nodes");
    return summary;
}

void draw_pods(const ReadResult<std::vector<PodPart>>& seen, const std::vector<api::Failure>& failures,
               Screen& screen) {
    if (seen.is_unread()) return screen.line("Pods", "could not be read: " + seen.unread, Tone::held);
    if (seen.found.empty()) return screen.line("Pods", "none");
    screen.line("Pods", summary_of(seen.found));
    const auto failed_first = [&](const PodPart& pod) {
        return !failures.empty() && pod.name == failures.front().pod && pod.phase == "Failed";
    };
    // Pods with problems come first, since users look for these among many.
    std::vector<PodPart> pods = seen.found;
    const auto order = [&](const PodPart& pod) {
        return std::tuple(!failed_first(pod), pod.problem.empty(), pod.rank);
    };
    std::ranges::sort(pods, std::less(), order);
    add_some(pods, most_pods, screen, [&](const PodPart& pod) {
        std::string line = "  " + pod.name + "  " + pod.phase;
        if (!pod.node.empty()) line += " on " + pod.node;
        // Its problem is above.
        const std::string problem = failed_first(pod) ? "failed first" : pod.problem;
        if (!problem.empty()) line += "; " + problem;
        screen.line("", line, problem.empty() ? Tone::plain : Tone::bad);
    });
}

// Returns "Pod a  FailedMount (3 times): no volume".
std::string text_of(const EventLine& line) {
    return line.object + "  " + line.reason + (line.count > 1 ? " (" + times(line.count) + ")" : "") + ": " +
           line.message;
}

void draw_events(const ReadResult<std::vector<EventLine>>& seen, const std::vector<api::Failure>& failures,
                 api::Time now, Screen& screen) {
    if (seen.is_unread()) return screen.line("Events", "could not be read: " + seen.unread, Tone::held);
    const std::vector<EventLine>& all = seen.found;
    if (all.empty()) return screen.line("Events", "none (they may have expired)");
    const std::size_t first = all.size() - std::min(all.size(), most_events);
    for (std::size_t i = first; i < all.size(); ++i) {
        EventLine line = all[i];
        line.message = without_failure(line.message, failures);
        screen.line(i == first ? "Events" : "", ago(line.last, now) + "  " + text_of(line),
                    line.warning ? Tone::bad : Tone::plain);
    }
}

}  // namespace

Text draw_text(const Explanation& explanation, const Terminal& terminal) {
    const bool ended = explanation.brief.ended;
    Screen screen(terminal.colours);
    draw_state(explanation, screen);
    draw_failures(explanation.state.failures, explanation.now, screen);
    draw_refusals(explanation.refusals, screen);
    draw_lease(explanation.lease, explanation.state.state, screen);
    draw_queue(explanation.queue, screen);
    draw_progress(explanation, terminal, screen);
    draw_deadline(explanation.deadline, ended, explanation.now, screen);
    draw_ttl(explanation.ttl, screen);
    draw_runtime(explanation.runtime, screen);
    draw_job_set(explanation.job_set, explanation.pods.found, ended, screen);
    draw_pods(explanation.pods, explanation.state.failures, screen);
    draw_events(explanation.events, explanation.state.failures, explanation.now, screen);
    return std::move(screen).take();
}

}  // namespace cli
