#include "job/brief.hpp"

#include <algorithm>
#include <string_view>

#include "api/job_set.hpp"
#include "api/names.hpp"
#include "api/text.hpp"
#include "api/train_job.hpp"
#include "job/failure.hpp"
#include "lifecycle/deadline.hpp"
#include "lifecycle/state.hpp"
#include "lifecycle/ttl.hpp"
#include "runtime/devices.hpp"

namespace cli {
namespace {

using api::Json;

const Json& item_named(const Json& list, std::string_view name) {
    static const Json none;
    for (const Json& item : list.items())
        if (item["name"].as_string() == name) return item;
    return none;
}

// Returns the job "node" if the trainer is a launcher beside it, or else the one that trains.
const Json& training_job(const Json& jobs) {
    const Json& node = item_named(jobs, api::node_container);
    if (!node.is_null()) return node;
    for (const Json& job : jobs.items())
        if (job["template"]["metadata"]["labels"][api::ancestor_label].as_string() == api::ancestor_trainer)
            return job;
    return node;
}

// A list has room for the beginning of a message; `explain` shows all of it.
constexpr std::size_t longest_message = 500;

std::string beginning_of(const std::string& text) {
    return std::string(api::first_bytes(text, longest_message));
}

// Initializers do not count as nodes of the training.
bool trains(const api::JobStatus& job) { return !job.name.ends_with("-initializer"); }

bool has_ended(const api::JobStatus& job) { return job.active == 0 && (job.succeeded > 0 || job.failed > 0); }

// A Job counts as ready once all of its Pods are.
bool all_ready(const std::vector<api::JobStatus>& jobs) {
    bool any = false;
    for (const api::JobStatus& job : jobs) {
        if (!trains(job) || has_ended(job)) continue;
        if (job.ready == 0 || job.ready < job.active) return false;
        any = true;
    }
    return any;
}

bool has_active(const std::vector<api::JobStatus>& jobs) {
    return std::any_of(jobs.begin(), jobs.end(),
                       [](const api::JobStatus& job) { return trains(job) && job.active > 0; });
}

void set_nodes(Brief& brief, const api::TrainJob& job, const RuntimeSummary* summary) {
    const Json& trainer = job.spec["trainer"];
    brief.nodes.wanted = std::max<std::int64_t>(trainer["numNodes"].int_or(summary ? summary->nodes : 1), 0);
    const runtime::DeviceCount each = runtime::devices_of_node(
        summary ? summary->resources : Json(), trainer["resourcesPerNode"], runtime::DeviceTable());
    brief.stage.nodes = brief.nodes.wanted;
    brief.gpus = each.on(brief.nodes.wanted);
    if (brief.stage.state != lifecycle::State::running) return;
    brief.seems_ready = all_ready(job.jobs_status);
    brief.needs_pods = !brief.seems_ready && api::any_active(job.jobs_status);
    if (brief.seems_ready)
        brief.nodes.ready = brief.nodes.wanted;
    else if (brief.nodes.wanted <= 1 || !has_active(job.jobs_status))
        brief.nodes.ready = 0;
}

void set_times(Brief& brief, const api::TrainJob& job, const RuntimeSummary* runtime) {
    brief.created = job.meta.creation;
    const api::Condition* end = api::terminal_condition(job);
    if (!end) {
        const api::Condition* suspended = api::find_condition(job.conditions, api::condition::suspended);
        brief.stopped = job.meta.deletion;
        if (suspended) brief.stopped = suspended->last_transition;
        lifecycle::Observed observed = {.job = job};
        if (runtime) observed.live_policy = runtime->policy;
        if (runtime) observed.queue_of_runtime = runtime->queue;  // without its JobSet the time is not known
        brief.deadline = lifecycle::deadline(observed);
        if (!brief.stage.next_attempt) return;
        brief.next_attempt = job.attempt.next;
        brief.stopped = api::find_condition(job.conditions, api::condition::restarting)->last_transition;
        return;
    }
    brief.ended = true;
    brief.complete = end->type == api::condition::complete;
    brief.end = brief.stopped = end->last_transition;
    const auto ttl = lifecycle::ttl_policy(job, job.run_policy ? &*job.run_policy : nullptr,
                                           runtime ? &runtime->policy : nullptr,
                                           runtime ? runtime->ttl_applies_to : api::TtlAppliesTo::new_jobs);
    if (const auto left = lifecycle::time_to_live(job, ttl, *brief.end)) brief.expires = *brief.end + *left;
}

void set_time(Json& row, const char* name, const std::optional<api::Time>& time) {
    if (time) row[name] = api::format_time(*time);
}

void set_text(Json& row, const char* name, const std::string& text) {
    if (!text.empty()) row[name] = text;
}

}  // namespace

RuntimeSummary runtime_summary(const Json& runtime) {
    const Json& spec = runtime["spec"];
    const Json& pod =
        training_job(spec["template"]["spec"]["replicatedJobs"])["template"]["spec"]["template"]["spec"];
    return {.nodes = spec["mlPolicy"]["numNodes"].int_or(1),
            .policy = api::run_policy_of(runtime),
            .ttl_applies_to = api::ttl_applies_to(runtime),
            .resources = item_named(pod["containers"], api::node_container)["resources"],
            .queue = api::queue_of_job_sets(runtime)};
}

const RuntimeSummary* find_runtime(const Runtimes& runtimes, const api::TrainJob& job) {
    const bool namespaced = job.runtime_ref.kind == api::training_runtime_kind;
    const auto at = runtimes.find({namespaced ? job.meta.ns : std::string(), job.runtime_ref.name});
    return at == runtimes.end() ? nullptr : &at->second;
}

Progress progress_of(const Json& train_job) {
    const Json& status = train_job["status"]["trainerStatus"];
    const auto time = [&status](const char* name) {
        const auto read = api::parse_time(status[name].as_string());
        return read ? std::optional(*read) : std::nullopt;
    };
    return {.percent = status["progressPercentage"].as_int(),
            .remaining = status["estimatedRemainingSeconds"].as_int(),
            .reported = time("lastUpdatedTime"),
            .advanced = time("lastProgressTime")};
}

std::optional<std::chrono::seconds> remaining_time(const Progress& progress, api::Time now) {
    if (!progress.remaining) return std::nullopt;
    const api::Time start = progress.reported.value_or(now);
    // A limit above any training, so that the sum cannot overflow.
    const std::chrono::seconds left(std::clamp<std::int64_t>(*progress.remaining, 0, 1'000'000'000));
    return std::max(left - std::max(now - start, std::chrono::seconds(0)), std::chrono::seconds(0));
}

const api::Condition* telling_condition(const api::TrainJob& job) {
    if (const api::Condition* end = api::terminal_condition(job)) return end;
    if (const api::Condition* stalled = api::find_condition(job.conditions, api::condition::stalled))
        return stalled;
    if (stage_of(job).next_attempt) return api::find_condition(job.conditions, api::condition::restarting);
    const api::Condition* created = api::find_condition(job.conditions, api::condition::created);
    const api::Condition* suspended = api::find_condition(job.conditions, api::condition::suspended);
    if (!suspended || (created && !created->is_true() && !suspended->is_true())) return created;
    const bool is_older = created && suspended->last_transition < created->last_transition;
    return is_older && !suspended->is_true() ? created : suspended;
}

PodsState pods_by_status(const std::vector<api::JobStatus>& jobs) {
    const bool any = std::any_of(jobs.begin(), jobs.end(), [](const api::JobStatus& job) {
        return job.ready > 0 || job.succeeded > 0;
    });
    return {.what = any ? PodsDo::run : PodsDo::wait};
}

Brief brief_of(Json train_job, const Runtimes& runtimes) {
    Brief brief;
    brief.progress = progress_of(train_job);
    const api::TrainJob job = api::parse_train_job(std::move(train_job));
    const RuntimeSummary* runtime = find_runtime(runtimes, job);
    brief.key = job.meta.key();
    brief.uid = job.meta.uid;
    brief.stage = stage_of(job);
    brief.pods = pods_by_status(job.jobs_status);
    brief.state = activity_of(brief.stage, brief.pods);
    if (const api::Condition* condition = telling_condition(job)) {
        brief.reason = condition->reason;
        brief.message = beginning_of(condition->message);
        if (!job.failures.empty() && before_failure(condition->message, job.failures.front()))
            brief.failure = beginning_of(api::describe(job.failures.front()));
    }
    brief.suspend = job.suspend;
    brief.queue = job.queue;
    brief.runtime_kind = job.runtime_ref.kind;
    brief.runtime = job.runtime_ref.name;
    set_times(brief, job, runtime);
    set_nodes(brief, job, runtime);
    return brief;
}

void set_pods(Brief& brief, PodsState pods) {
    if (brief.stage.state == lifecycle::State::running)
        brief.nodes.ready = std::clamp<std::int64_t>(pods.ready, 0, brief.nodes.wanted);
    brief.pods = std::move(pods);
    brief.state = activity_of(brief.stage, brief.pods);
}

void set_waiting(Brief& brief, const std::string& why) {
    if (why.empty() || brief.stage.state != lifecycle::State::running) return;
    brief.reason = "Unschedulable";
    brief.message = beginning_of(why);
    brief.failure.clear();
}

Json list_row(const Brief& job) {
    Json row = Json::object({{"namespace", job.key.ns},
                             {"name", job.key.name},
                             {"uid", job.uid},
                             {"state", job.state.word},
                             {"created", api::format_time(job.created)},
                             {"gpus", job.gpus},
                             {"nodes", Json::object({{"wanted", job.nodes.wanted}})},
                             {"runtime", Json::object({{"kind", job.runtime_kind}, {"name", job.runtime}})}});
    if (job.nodes.ready) row["nodes"]["ready"] = *job.nodes.ready;
    if (job.progress.percent) row["progress"]["percent"] = *job.progress.percent;
    if (job.progress.remaining) row["progress"]["remainingSeconds"] = *job.progress.remaining;
    if (job.progress.reported) row["progress"]["reported"] = api::format_time(*job.progress.reported);
    if (job.progress.advanced) row["progress"]["advanced"] = api::format_time(*job.progress.advanced);
    set_text(row, "detail", detail_of(job.state));
    set_text(row, "reason", job.reason);
    set_text(row, "message", job.message);
    set_text(row, "queue", job.queue);
    set_time(row, "ended", job.end);
    set_time(row, "deadline", job.deadline);
    set_time(row, "expires", job.expires);
    set_time(row, "nextAttempt", job.next_attempt);
    set_time(row, "graceEnds", job.state.grace_ends);
    return row;
}

}  // namespace cli
