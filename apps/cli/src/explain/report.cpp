#include "explain/report.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "api/job_set.hpp"
#include "api/names.hpp"
#include "explain/differences.hpp"
#include "explain/pod_problems.hpp"
#include "lifecycle/conditions.hpp"
#include "lifecycle/deadline.hpp"
#include "lifecycle/observed.hpp"
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

enum class Tone { plain, good, bad, held, faint };

// For terminals, that obey control characters: C0, DEL, and C1 in UTF-8.
std::string harmless(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        const bool c1 = byte == 0xC2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0;
        if (c1) ++i;
        out += byte < 0x20 || byte == 0x7F || c1 ? ' ' : text[i];
    }
    return out;
}

std::string text_of(const Json& json) { return std::string(json.as_string()); }

// The screen, line by line: a heading in the margin, and what there is to say.
class Screen {
public:
    explicit Screen(Colours colours) : colours_(colours) {}

    void line(std::string_view heading, std::string_view text, Tone tone = Tone::plain) {
        std::string margin(heading);
        margin.resize(std::max<std::size_t>(margin.size() + 1, 10), ' ');
        text_ += painted(margin, Tone::faint) + painted(harmless(text), tone) + "\n";
    }
    std::string take() && { return std::move(text_); }

private:
    std::string painted(std::string text, Tone tone) const {
        if (colours_ == Colours::no || tone == Tone::plain) return text;
        const char* code = tone == Tone::good   ? "32"
                           : tone == Tone::bad  ? "31"
                           : tone == Tone::held ? "33"
                                                : "2";
        return "\x1b[" + std::string(code) + "m" + text + "\x1b[0m";
    }

    Colours colours_;
    std::string text_ = {};
};

struct Standing {
    std::string_view word;
    Tone tone;
};

// A JobSet says little of whether anything runs.
Standing standing_of(const ReadResult<std::vector<Json>>& pods) {
    if (pods.is_unread()) return {"has its JobSet", Tone::good};
    const bool any = std::any_of(pods.found.begin(), pods.found.end(), [](const Json& pod) {
        const std::string phase = phase_of(pod);
        return phase != "Pending" && phase != "Failed";
    });
    if (any) return {"running", Tone::good};
    return {"waits for its Pods", Tone::held};
}

bool lacks_verdict(const api::TrainJob& job) {
    const api::Condition* created = api::find_condition(job.conditions, api::condition::created);
    return created && created->status == "Unknown";
}

Standing standing_of(const api::TrainJob& job, const ReadResult<std::vector<Json>>& pods) {
    switch (lifecycle::state_of(job)) {
        case lifecycle::State::pending: return {"not looked at yet", Tone::held};
        case lifecycle::State::blocked:
            return lacks_verdict(job) ? Standing{"not created yet, retried", Tone::held}
                                      : Standing{"cannot be created", Tone::bad};
        case lifecycle::State::running: return standing_of(pods);
        case lifecycle::State::suspended: return {"suspended", Tone::held};
        case lifecycle::State::complete: return {"complete", Tone::good};
        case lifecycle::State::failed: return {"failed", Tone::bad};
        case lifecycle::State::elsewhere: return {"managed by another controller", Tone::held};
    }
    return {"?", Tone::plain};
}

std::string span(api::Time then, api::Time now) { return format_duration(std::max(now - then, seconds(0))); }

std::string ago(api::Time then, api::Time now) { return span(then, now) + " ago"; }

// The condition that the state comes from: the last one, but for a resumed job the one about its objects.
const api::Condition* telling(const api::TrainJob& job) {
    if (const api::Condition* end = api::terminal_condition(job)) return end;
    const bool suspended = api::is_true(job.conditions, api::condition::suspended);
    return api::find_condition(job.conditions,
                               suspended ? api::condition::suspended : api::condition::created);
}

void tell_state(const api::TrainJob& job, const RelatedObjects& seen, api::Time now, Screen& screen) {
    screen.line("TrainJob", to_string(job.meta.key()) + ", created " + ago(job.meta.creation, now));
    const Standing standing = standing_of(job, seen.pods);
    const api::Condition* condition = telling(job);
    std::string text(standing.word);
    if (lifecycle::state_of(job) == lifecycle::State::elsewhere) text += ": " + job.managed_by;
    if (condition) text += " since " + span(condition->last_transition, now) + " (" + condition->reason + ")";
    screen.line("State", text, standing.tone);
    if (condition && !condition->message.empty()) screen.line("", condition->message);
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
        const Json& queue = seen.job["metadata"]["labels"][api::queue_label];
        if (job.suspend && !queue.empty())
            screen.line("", "Kueue decides when it runs; it waits in the queue " + text_of(queue),
                        Tone::held);
    }
    if (job.meta.deletion)
        screen.line("", "is being deleted, since " + span(*job.meta.deletion, now), Tone::held);
}

void tell_deadline(const api::TrainJob& job, api::Time now, Screen& screen) {
    if (!job.active_deadline_seconds) return screen.line("Deadline", "none");
    const std::string limit = format_duration(seconds(*job.active_deadline_seconds));
    if (api::terminal_condition(job)) return screen.line("Deadline", limit + "; the job has ended");
    const auto at = lifecycle::deadline(job);
    if (!at)
        return screen.line("Deadline", limit + " from the next resume on; it does not run while suspended",
                           Tone::held);
    const bool resumed = api::find_condition(job.conditions, api::condition::suspended) != nullptr;
    const std::string since = resumed ? " since the last resume" : " since its creation";
    if (*at <= now) return screen.line("Deadline", limit + since + ": passed " + ago(*at, now), Tone::bad);
    screen.line("Deadline", limit + since + ": " + format_duration(*at - now) + " left");
}

void tell_time_to_live(const api::TrainJob& job, const ReadResult<Json>& live, const Json* snapshot,
                       api::Time now, Screen& screen) {
    if (live.is_unread())
        return screen.line("TTL", "not known: the runtime says it, which could not be read", Tone::held);
    const Json* runtime = live.found.is_null() ? nullptr : &live.found;
    const auto ttl = lifecycle::ttl_policy(runtime, snapshot);
    if (!ttl) return screen.line("TTL", "none: it stays until it is deleted");
    const std::string limit = format_duration(seconds(*ttl)) + " after its end";
    const auto left = lifecycle::time_to_live(job, ttl, now);
    screen.line("TTL", left ? limit + ": deleted in " + format_duration(*left) : limit);
}

// As many as a screen has room for.
template <class Items, class Tell>
void tell_some(const Items& items, std::size_t most, Screen& screen, Tell tell) {
    for (std::size_t i = 0; i < std::min(items.size(), most); ++i) tell(items[i]);
    if (items.size() > most) screen.line("", "  and " + std::to_string(items.size() - most) + " more");
}

void tell_runtime(const api::TrainJob& job, const ReadResult<Json>& live, const Json* snapshot,
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
    tell_some(differences, most_differences, screen,
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

void tell_job_set(const api::TrainJob& job, const ReadResult<Json>& seen, Screen& screen) {
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
    if (const std::int64_t restarts = object["status"]["restarts"].int_or(0); restarts > 0)
        state += ", restarted " + times(restarts);
    screen.line("JobSet", state);
    for (const api::JobStatus& each : job_set.replicated_jobs)
        screen.line("", "  jobs of " + counts_of(each));
}

// Pods as people count them: by Job, then by number.
auto rank_of(const Json& pod) {
    const Json& labels = pod["metadata"]["labels"];
    const std::string_view index = labels["batch.kubernetes.io/job-completion-index"].as_string();
    return std::tuple(labels["batch.kubernetes.io/job-name"].as_string(), index.size(), index,
                      pod["metadata"]["name"].as_string());
}

void tell_pods(const ReadResult<std::vector<Json>>& seen, api::Time now, Screen& screen) {
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

    // Those with problems first: of a thousand Pods, they are what one looks for.
    std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
        return std::tuple(a.problem.empty(), rank_of(*a.pod)) <
               std::tuple(b.problem.empty(), rank_of(*b.pod));
    });
    tell_some(rows, most_pods, screen, [&](const Row& row) {
        const std::string node = text_of((*row.pod)["spec"]["nodeName"]);
        std::string line = "  " + text_of((*row.pod)["metadata"]["name"]) + "  " + phase_of(*row.pod);
        if (!node.empty()) line += " on " + node;
        if (!row.problem.empty()) line += "; " + row.problem;
        screen.line("", line, row.problem.empty() ? Tone::plain : Tone::bad);
    });
}

// Of a series its latest time.
api::Time time_of(const Json& event) {
    for (const Json* text : {&event["series"]["lastObservedTime"], &event["lastTimestamp"],
                             &event["eventTime"], &event["metadata"]["creationTimestamp"]})
        if (const auto time = api::parse_time(text->as_string())) return *time;
    return {};
}

struct Happening {
    api::Time last = {};
    std::int64_t count = 0;
    std::string text = {};
    bool warning = false;
};

// What was said of many Pods in the same words happened many times.
std::vector<Happening> happenings_of(const std::vector<Json>& events) {
    std::map<std::tuple<std::string_view, std::string_view, std::string_view>, Happening> folded;
    for (const Json& event : events) {
        const std::string_view kind = event["involvedObject"]["kind"].as_string();
        const std::string_view reason = event["reason"].as_string();
        Happening& each = folded[{kind, reason, event["message"].as_string()}];
        const bool first = each.count == 0;
        each.count +=
            std::max({event["series"]["count"].int_or(1), event["count"].int_or(1), std::int64_t(1)});
        each.last = std::max(each.last, time_of(event));
        each.warning = event["type"].as_string() == "Warning";
        const std::string_view name = event["involvedObject"]["name"].as_string();
        const bool of_a_part = kind == "Pod" || kind == "Job";
        if (first) each.text = of_a_part ? std::string(kind) + " " + std::string(name) : std::string(kind);
    }
    std::vector<Happening> all;
    for (auto& [key, each] : folded) {
        each.text += "  " + std::string(std::get<1>(key));
        if (each.count > 1) each.text += " (" + times(each.count) + ")";
        each.text += ": " + std::string(std::get<2>(key));
        all.push_back(std::move(each));
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const Happening& a, const Happening& b) { return a.last < b.last; });
    return all;
}

void tell_events(const ReadResult<std::vector<Json>>& seen, api::Time now, Screen& screen) {
    if (seen.is_unread()) return screen.line("Events", "could not be read: " + seen.unread, Tone::held);
    const auto all = happenings_of(seen.found);
    if (all.empty()) return screen.line("Events", "none (they may have expired)");
    const std::size_t first = all.size() - std::min(all.size(), most_events);
    for (std::size_t i = first; i < all.size(); ++i)
        screen.line(i == first ? "Events" : "", ago(all[i].last, now) + "  " + all[i].text,
                    all[i].warning ? Tone::bad : Tone::plain);
}

}  // namespace

std::string format_duration(seconds time) {
    using Unit = std::pair<std::int64_t, const char*>;
    std::string text;
    int units = 0;
    auto left = time.count();
    for (const auto& [length, word] : {Unit{86400, "d"}, Unit{3600, "h"}, Unit{60, "m"}, Unit{1, "s"}}) {
        const std::int64_t count = left / length;
        left %= length;
        if (count == 0 && units == 0) continue;
        if (count > 0) text += (text.empty() ? "" : " ") + std::to_string(count) + word;
        if (++units == 2) break;
    }
    return text.empty() ? "0s" : text;
}

std::string explain(const RelatedObjects& seen, api::Time now, Colours colours) {
    const api::TrainJob job = api::parse_train_job(seen.job);
    const auto read = seen.snapshot.found.is_null() ? api::Result<Json>(Json())
                                                    : runtime::read_snapshot(seen.snapshot.found, job);
    const Json* snapshot = read && !read->is_null() ? &*read : nullptr;

    Screen screen(colours);
    tell_state(job, seen, now, screen);
    tell_deadline(job, now, screen);
    tell_time_to_live(job, seen.runtime, snapshot, now, screen);
    tell_runtime(job, seen.runtime, snapshot, screen);
    if (!read) screen.line("", "its snapshot cannot be used: " + api::describe(read.error()), Tone::bad);
    if (seen.snapshot.is_unread())
        screen.line("", "whether the job runs by it as it is now is not known: " + seen.snapshot.unread,
                    Tone::held);
    tell_job_set(job, seen.job_set, screen);
    tell_pods(seen.pods, now, screen);
    tell_events(seen.events, now, screen);
    return std::move(screen).take();
}

}  // namespace cli
