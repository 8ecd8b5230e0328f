#include "explain/model.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "api/job_set.hpp"
#include "api/names.hpp"
#include "controller/reconcile/observe.hpp"
#include "explain/differences.hpp"
#include "explain/policy_refusals.hpp"
#include "explain/progress.hpp"
#include "job/brief.hpp"
#include "job/findings.hpp"
#include "lifecycle/conditions.hpp"
#include "lifecycle/deadline.hpp"
#include "lifecycle/observed.hpp"
#include "lifecycle/restarts.hpp"
#include "lifecycle/run_policy.hpp"
#include "lifecycle/state.hpp"
#include "lifecycle/ttl.hpp"
#include "runtime/snapshot.hpp"

namespace cli {
namespace {

using api::Json;
using std::chrono::seconds;

constexpr std::size_t most_pods = 16;
constexpr std::size_t most_events = 8;
constexpr std::size_t most_differences = 8;

std::string text_of(const Json& json) { return std::string(json.as_string()); }

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

// Returns "completed 36s ago", "running for 1m 4s".
std::string state_text(const api::TrainJob& job, const JobState& job_state, const api::Condition* condition,
                       api::Time now) {
    using enum lifecycle::State;
    const lifecycle::State state = lifecycle::state_of(job);
    std::string text(job_state.word);
    if (state == elsewhere) text += ": " + job.managed_by;
    if (!condition) return text;
    const std::string time = span(condition->last_transition, now);
    const std::string reason = " (" + condition->reason + ")";
    if (state == elsewhere) return text + "; " + condition->reason + " " + time + " ago";
    if (state == complete) return "completed " + time + " ago" + reason;
    return text + (state == failed ? " " + time + " ago" : " for " + time) + reason;
}

// For existing objects and for a resume, the line before is enough.
bool says_more(const api::Condition& condition) {
    const bool is_expected = condition.type == api::condition::created     ? condition.is_true()
                             : condition.type == api::condition::suspended ? !condition.is_true()
                                                                           : false;
    return !is_expected && !condition.message.empty();
}

void add_state(const api::TrainJob& job, const RelatedObjects& seen, api::Time now, Screen& screen) {
    screen.line("TrainJob", to_string(job.meta.key()) + ", created " + ago(job.meta.creation, now));
    const JobState job_state = job_state_of(job, pods_run(seen.pods));
    const api::Condition* condition = telling_condition(job);
    screen.line("State", state_text(job, job_state, condition, now), job_state.tone);
    if (condition && says_more(*condition)) screen.line("", condition->message);
    const auto adds = [&](const api::Condition& each) {
        const bool blocks = each.type == api::condition::created && !each.is_true();
        return &each != condition && (blocks || !lifecycle::is_built_in(each.type));
    };
    for (const api::Condition& each : job.conditions)
        if (adds(each))
            screen.line("", each.type + "=" + each.status + " (" + each.reason + ") " + each.message);
    if (!api::terminal_condition(job)) {
        const bool suspended = api::is_true(job.conditions, api::condition::suspended);
        if (job.suspend != suspended)
            screen.line("", job.suspend ? "is to be suspended" : "is to run again", Tone::held);
        if (job.suspend && !job.queue.empty())
            screen.line("", "Kueue decides when it runs; it waits in the queue " + job.queue, Tone::held);
    }
    if (job.meta.deletion) screen.line("", "being deleted for " + span(*job.meta.deletion, now), Tone::held);
}

void add_lease(const api::TrainJob& job, const RelatedObjects& seen, api::Time now, Screen& screen) {
    using enum lifecycle::State;
    const lifecycle::State state = lifecycle::state_of(job);
    if (state == elsewhere) return;
    if (const std::string problem = lease_problem(seen, now); !problem.empty())
        screen.line("Lease", problem, Tone::bad);
    else if (state == pending && seen.lease.is_unread())
        screen.line("Lease", "whether a reconciler leads is not known: " + seen.lease.unread, Tone::held);
    else if (state == pending && seen.lease.found.is_null())
        screen.line("Lease", "there is none called " + to_string(seen.lease_key) + "; --lease names another",
                    Tone::held);
}

void add_queue(const api::TrainJob& job, const RelatedObjects& seen, Screen& screen) {
    const std::string queue = queue_of(job, seen.job_set.found);
    if (queue.empty() || api::terminal_condition(job)) return;
    if (seen.workload.is_unread())
        return screen.line("Queue", queue + "; its Workload could not be read: " + seen.workload.unread,
                           Tone::held);
    const QueueState in_queue = queue_state(seen.workload.found);
    screen.line("Queue", queue + ": " + in_queue.text, in_queue.tone);
}

// What the reconciler would decide on.
lifecycle::Observed observed_of(const api::TrainJob& job, const ReadResult<Json>& live,
                                const Json* snapshot) {
    lifecycle::Observed observed = {.job = job};
    if (!live.found.is_null()) observed.live_policy = api::run_policy_of(live.found);
    if (snapshot) observed.snapshot_policy = api::run_policy_of(*snapshot);
    return observed;
}

void add_deadline(const lifecycle::Observed& observed, api::Time now, Screen& screen) {
    using Source = lifecycle::ActiveDeadline::Source;
    const api::TrainJob& job = *observed.job;
    const auto found = lifecycle::active_deadline(observed);
    if (!found) return screen.line("Deadline", "none");
    std::string limit = format_duration(seconds(found->seconds));
    if (found->source != Source::train_job) limit += " (" + lifecycle::source_of(*found, job) + ")";
    if (api::terminal_condition(job)) return screen.line("Deadline", limit + "; the job has ended");
    const auto at = lifecycle::deadline(observed);
    if (!at)
        return screen.line("Deadline", limit + " from the next resume on; it does not run while suspended",
                           Tone::held);
    const bool resumed = api::find_condition(job.conditions, api::condition::suspended) != nullptr;
    const std::string since = resumed ? " since the last resume" : " since its creation";
    if (*at <= now) return screen.line("Deadline", limit + since + ": passed " + ago(*at, now), Tone::bad);
    screen.line("Deadline", limit + since + ": " + format_duration(*at - now) + " left");
}

void add_time_to_live(const lifecycle::Observed& observed, const ReadResult<Json>& live, api::Time now,
                      Screen& screen) {
    const api::TrainJob& job = *observed.job;
    if (job.is_multikueue_copy) return screen.line("TTL", "none here: MultiKueue deletes it");
    const api::RunPolicy* runtime = observed.live_policy ? &*observed.live_policy : nullptr;
    if (live.is_unread() && lifecycle::ttl_needs_beginning(job, runtime))
        return screen.line("TTL", "not known: the runtime says it, which could not be read", Tone::held);
    const api::RunPolicy* began_with = lifecycle::policy_of(observed);
    if (!began_with && observed.snapshot_policy) began_with = &*observed.snapshot_policy;
    const auto ttl = lifecycle::ttl_policy(job, began_with, runtime);
    if (!ttl) return screen.line("TTL", "none: it stays until it is deleted");
    const std::string limit = format_duration(seconds(*ttl)) + " after its end";
    const auto left = lifecycle::time_to_live(job, ttl, now);
    screen.line("TTL", left ? limit + ": deleted in " + format_duration(*left) : limit);
}

// Adds the first items, as many as a screen has room for, and the number of the others.
template <class Items, class Add>
void add_some(const Items& items, std::size_t most, Screen& screen, Add add) {
    for (std::size_t i = 0; i < std::min(items.size(), most); ++i) add(items[i]);
    if (items.size() > most) screen.line("", "  and " + std::to_string(items.size() - most) + " more");
}

void add_runtime(const api::TrainJob& job, const ReadResult<Json>& live, const Json* snapshot,
                 Screen& screen) {
    const std::string name = job.runtime_ref.kind + " " + job.runtime_ref.name;
    if (live.is_unread())
        return screen.line("Runtime", name + ", which could not be read: " + live.unread, Tone::held);
    const Json& runtime = live.found;
    if (runtime.is_null())
        return snapshot ? screen.line("Runtime", name + ", which is gone; the job keeps its snapshot")
                        : screen.line("Runtime", name + ", which does not exist", Tone::bad);
    const auto differences =
        snapshot ? field_differences((*snapshot)["spec"], runtime["spec"]) : std::vector<std::string>();
    if (differences.empty()) return screen.line("Runtime", name);
    screen.line("Runtime", name + ", changed since the job began; the job keeps its snapshot:", Tone::held);
    add_some(differences, most_differences, screen,
             [&](const std::string& difference) { screen.line("", "  " + difference); });
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

void add_job_set(const api::TrainJob& job, const ReadResult<Json>& seen, Screen& screen) {
    if (seen.is_unread()) return screen.line("JobSet", "could not be read: " + seen.unread, Tone::held);
    const Json& object = seen.found;
    if (object.is_null()) {
        const bool ended = api::terminal_condition(job) != nullptr;
        return screen.line("JobSet", "none", ended ? Tone::plain : Tone::held);
    }
    const api::JobSet job_set = api::parse_job_set(object);
    if (!job_set.belongs_to(job))
        return screen.line("JobSet", "the one of that name belongs to another owner; rename or delete either",
                           Tone::bad);
    if (job_set.meta.deletion) return screen.line("JobSet", "is being deleted", Tone::held);
    std::string state = job_set.finished  ? job_set.finished->type + " (" + job_set.finished->reason + ")"
                        : job_set.suspend ? "suspended"
                                          : "runs";
    const api::Condition* end = api::terminal_condition(job);
    if (job_set.finished && job_set.finished->type == "Completed" && end &&
        end->reason == api::reason::deadline_exceeded)
        state += ", too late for the TrainJob's deadline";
    if (job_set.restarts.all > 0)
        state +=
            ", restarted " + times(job_set.restarts.all) + " (" + lifecycle::counted_restarts(job_set) + ")";
    screen.line("JobSet", state);
    for (const api::JobStatus& each : job_set.replicated_jobs)
        screen.line("", "  jobs of " + counts_of(each));
}

void add_pods(const ReadResult<std::vector<Json>>& seen, api::Time now, Screen& screen) {
    if (seen.is_unread()) return screen.line("Pods", "could not be read: " + seen.unread, Tone::held);
    if (seen.found.empty()) return screen.line("Pods", "none");
    struct Row {
        const Json* pod;
        std::string problem;
    };
    std::vector<Row> rows;
    std::map<std::string, int> phases;
    std::set<std::string_view> nodes;
    for (const Json& pod : seen.found) {
        rows.push_back({&pod, problem_of(pod, now)});
        ++phases[phase_of(pod)];
        if (const std::string_view node = pod["spec"]["nodeName"].as_string(); !node.empty())
            nodes.insert(node);
    }
    std::string summary;
    for (const auto& [phase, count] : phases)
        summary += (summary.empty() ? "" : ", ") + std::to_string(count) + " " + phase;
    if (!nodes.empty())
        summary += ", on " + std::to_string(nodes.size()) + (nodes.size() == 1 ? " node" : " nodes");
    screen.line("Pods", summary);

    // Pods with problems come first, since users look for these among many.
    std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
        if (a.problem.empty() != b.problem.empty()) return b.problem.empty();
        return comes_before(*a.pod, *b.pod);
    });
    add_some(rows, most_pods, screen, [&](const Row& row) {
        const std::string node = text_of((*row.pod)["spec"]["nodeName"]);
        std::string line = "  " + text_of((*row.pod)["metadata"]["name"]) + "  " + phase_of(*row.pod);
        if (!node.empty()) line += " on " + node;
        if (!row.problem.empty()) line += "; " + row.problem;
        screen.line("", line, row.problem.empty() ? Tone::plain : Tone::bad);
    });
}

void add_events(const ReadResult<std::vector<Json>>& seen, api::Time now, Screen& screen) {
    if (seen.is_unread()) return screen.line("Events", "could not be read: " + seen.unread, Tone::held);
    const auto all = event_lines_of(seen.found);
    if (all.empty()) return screen.line("Events", "none (they may have expired)");
    const std::size_t first = all.size() - std::min(all.size(), most_events);
    for (std::size_t i = first; i < all.size(); ++i)
        screen.line(i == first ? "Events" : "", ago(all[i].last, now) + "  " + text_of(all[i]),
                    all[i].warning ? Tone::bad : Tone::plain);
}

}  // namespace

api::Result<Json> runtime_of_snapshot(const RelatedObjects& seen, const api::TrainJob& job) {
    if (seen.snapshot.found.is_null()) return Json();
    auto runtime = runtime::read_snapshot(seen.snapshot.found, job);
    if (!runtime || job.runtime_digest.empty()) return runtime;
    if (controller::runtime_digest(*runtime) != job.runtime_digest)
        return api::invalid("", "it does not hold the runtime that the job began with");
    return runtime;
}

// The status of a JobSet does not show whether Pods run.
PodsRun pods_run(const ReadResult<std::vector<Json>>& pods) {
    if (pods.is_unread()) return PodsRun::unknown;
    const bool any = std::any_of(pods.found.begin(), pods.found.end(), [](const Json& pod) {
        const std::string phase = phase_of(pod);
        return phase != "Pending" && phase != "Failed";
    });
    return any ? PodsRun::yes : PodsRun::no;
}

Text explain(const RelatedObjects& seen, api::Time now, const Terminal& terminal) {
    const api::TrainJob job = api::parse_train_job(seen.job);
    const auto read = runtime_of_snapshot(seen, job);
    const Json* snapshot = read && !read->is_null() ? &*read : nullptr;

    Screen screen(terminal.colours);
    add_state(job, seen, now, screen);
    std::string_view heading = "Refused";
    for (const PolicyRefusal& each : policy_refusals(seen))
        screen.line(std::exchange(heading, ""), text_of(each), Tone::bad);
    add_lease(job, seen, now, screen);
    add_queue(job, seen, screen);
    const lifecycle::Observed observed = observed_of(job, seen.runtime, snapshot);
    const char* of_progress = "Progress";
    for (const Line& line : progress_lines(seen, observed, now, terminal))
        screen.line(std::exchange(of_progress, ""), line.text, line.tone);
    add_deadline(observed, now, screen);
    add_time_to_live(observed, seen.runtime, now, screen);
    add_runtime(job, seen.runtime, snapshot, screen);
    if (!read) screen.line("", "its snapshot cannot be used: " + api::describe(read.error()), Tone::bad);
    if (seen.snapshot.is_unread())
        screen.line("", "whether the job runs by it as it is now is not known: " + seen.snapshot.unread,
                    Tone::held);
    add_job_set(job, seen.job_set, screen);
    add_pods(seen.pods, now, screen);
    add_events(seen.events, now, screen);
    return std::move(screen).take();
}

// Elections hand over within the duration of the lease and some seconds.
std::string lease_problem(const RelatedObjects& seen, api::Time now) {
    const api::Json& lease = seen.lease.found;
    const std::string name = to_string(seen.lease_key);
    const auto renewed = api::parse_time(lease["spec"]["renewTime"].as_string());
    const std::chrono::seconds duration(
        std::clamp<std::int64_t>(lease["spec"]["leaseDurationSeconds"].int_or(15), 15, 86'400));
    if (!renewed || now - *renewed <= 2 * duration) return "";
    const bool is_held = !lease["spec"]["holderIdentity"].as_string().empty();
    return "no reconciler leads: " + name + (is_held ? " was renewed " : " was released ") +
           format_duration(now - *renewed) + " ago";
}

}  // namespace cli
