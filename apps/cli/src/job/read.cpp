#include "job/read.hpp"

#include <set>

#include "api/names.hpp"
#include "cluster/lists.hpp"
#include "cluster/refusal.hpp"
#include "job/findings.hpp"
#include "runtime/plugin.hpp"

namespace cli {
namespace {

using api::Json;
namespace resources = kube::resources;

// Names per selector: the API server accepts a request line of several kilobytes.
constexpr std::size_t most_names = 60;
// Of jobs whose status alone is almost enough: what fits into a page of Pods.
constexpr std::int64_t most_nodes = 500;
// How long Pods of a job that stands still are looked for.
constexpr std::chrono::hours longest_end{1};
constexpr std::size_t most_silent_nodes = 8;
// Each may need one more request.
constexpr std::size_t most_waiting = 20;
constexpr kube::Resource node_resource = {"", "v1", "nodes", false, "Node"};

constexpr kube::Resource runtime_kinds[] = {resources::cluster_training_runtimes,
                                            resources::training_runtimes};

struct NamedRuntime {
    api::ObjectKey key = {};
    RuntimeSummary summary = {};
};

// What a Job says of its Pods.
struct JobFacts {
    api::ObjectKey train_job = {};  // the JobSet has the name of its TrainJob
    std::string name = {};
    std::int64_t ready = 0;
    std::int64_t unfinished = 0;
    std::optional<std::int64_t> backoff_limit = {};
};

NamedRuntime named_runtime(Json runtime) {
    return {.key = api::parse_meta(runtime).key(), .summary = runtime_summary(runtime)};
}

JobFacts job_facts(Json job) {
    const Json& object = job;
    const Json& labels = object["metadata"]["labels"];
    const Json& status = object["status"];
    JobFacts facts = {.train_job = {std::string(object["metadata"]["namespace"].as_string()),
                                    std::string(labels[api::job_set_name_label].as_string())},
                      .name = std::string(object["metadata"]["name"].as_string()),
                      .unfinished = status["active"].int_or(0) + status["terminating"].int_or(0),
                      .backoff_limit = object["spec"]["backoffLimit"].as_int()};
    if (!labels[api::replicated_job_label].as_string().ends_with("-initializer"))
        facts.ready = status["ready"].int_or(0);
    return facts;
}

std::string one_of(const std::set<std::string>& names) {
    std::string selector(api::job_set_name_label);
    if (names.size() > most_names) return selector;
    selector += " in (";
    for (const std::string& name : names) selector.append(selector.ends_with('(') ? "" : ",").append(name);
    return selector + ")";
}

// Returns the TrainJobs whose Pods are to be read.
std::set<api::ObjectKey> chosen(const std::vector<Brief>& jobs, const PodsQuery& query) {
    std::set<api::ObjectKey> needed;
    std::set<api::ObjectKey> all;
    std::int64_t nodes = 0;
    for (const Brief& job : jobs) {
        const bool stops = job.stopped && (query.all || query.now - *job.stopped < longest_end);
        if (!job.needs_pods && !job.seems_ready && !stops) continue;
        if (job.needs_pods) needed.insert(job.key);
        if (query.all || all.size() <= most_names) all.insert(job.key);
        nodes += job.nodes.wanted;
    }
    const bool is_much = all.size() > most_names || nodes > most_nodes;
    return is_much && !query.all ? needed : all;
}

struct Found {
    std::vector<PodFacts> pods = {};
    std::vector<JobFacts> jobs = {};
};

PodsState state_of(const Brief& job, Found found, bool has_pods, api::Time now) {
    PodsState state = {.is_read = true};
    if (job.replaced)
        std::erase_if(found.pods, [&](const PodFacts& pod) { return pod.created >= *job.replaced; });
    // Pods that have just gone: the status follows.
    if (has_pods && found.pods.empty() && job.seems_ready) {
        state.what = job.pods.what;
        state.ready = job.nodes.wanted;
        return state;
    }
    if (has_pods) {
        BackoffLimits limits;
        for (const JobFacts& each : found.jobs)
            if (each.backoff_limit) limits[each.name] = *each.backoff_limit;
        return pods_state(std::move(found.pods), job.created, limits, now);
    }
    for (const JobFacts& each : found.jobs) {
        state.ready += each.ready;
        state.unfinished += each.unfinished;
    }
    state.what = state.ready > 0 ? PodsDo::run : job.pods.what;
    return state;
}

// A Pod that seems to be on a silent node runs if the node answers.
void believe(const NodeObjects& nodes, std::vector<PodFacts>& pods) {
    for (PodFacts& pod : pods) {
        const auto node = nodes.find(pod.node);
        if (pod.does != PodDoes::lost || node == nodes.end() || node->second.is_null()) continue;
        if (api::is_true(api::parse_conditions(node->second["status"]["conditions"]), "Ready"))
            pod.does = PodDoes::run;
    }
}

}  // namespace

kube::Async<Runtimes> read_runtimes(kube::ApiServer& server, std::string ns,
                                    std::vector<std::string>& notes) {
    Runtimes runtimes;
    for (const kube::Resource& resource : runtime_kinds) {
        ListQuery query = {.resource = resource, .ns = resource.namespaced ? ns : ""};
        auto list = co_await read_list<NamedRuntime>(server, std::move(query), named_runtime);
        if (!list) {
            notes.push_back(to_string(resource) + " could not be read (" + api::describe(list.error()) +
                            "): times to live, and nodes and GPUs that TrainJobs do not say, are missing");
            continue;
        }
        for (NamedRuntime& each : *list) runtimes.insert_or_assign(each.key, std::move(each.summary));
    }
    co_return std::move(runtimes);
}

kube::Async<std::vector<Brief>> read_jobs(kube::ApiServer& server, Selection selection,
                                          const Runtimes& runtimes) {
    const auto convert = [&runtimes](Json job) { return brief_of(std::move(job), runtimes); };
    if (selection.keys.empty()) {
        ListQuery query = {.resource = resources::train_jobs, .ns = selection.ns, .labels = selection.labels};
        auto jobs = co_await read_list<Brief>(server, std::move(query), convert);
        if (!jobs) {
            api::Error error = jobs.error();
            api::ObjectKey none;
            error = co_await advised_by(server, std::move(error), std::move(none));
            co_return error;
        }
        co_return std::move(*jobs);
    }
    std::vector<Brief> jobs;
    for (const api::ObjectKey& key : selection.keys) {
        kube::Request request = kube::get(resources::train_jobs, key);
        auto job = co_await kube::fetch(server, std::move(request));
        if (!job) {
            api::Error error = job.error();
            error = co_await advised_by(server, std::move(error), key);
            co_return error;
        }
        jobs.push_back(convert(std::move(*job)));
    }
    co_return std::move(jobs);
}

kube::Async<> read_pods(kube::ApiServer& server, std::vector<Brief>& jobs, PodsQuery query,
                        std::vector<std::string>& notes) {
    const std::set<api::ObjectKey> wanted = chosen(jobs, query);
    if (wanted.empty()) co_return api::Result<>();
    std::set<std::string> namespaces;
    std::set<std::string> names;
    for (const api::ObjectKey& key : wanted) {
        namespaces.insert(key.ns);
        names.insert(key.name);
    }
    ListQuery of_pods = {.resource = resources::pods,
                         .ns = namespaces.size() == 1 ? *namespaces.begin() : "",
                         .labels = one_of(names)};
    ListQuery of_jobs = of_pods;
    of_jobs.resource = resources::jobs;
    of_jobs.fields = "status.successful=0";
    const api::Time now = query.now;
    std::map<api::ObjectKey, std::vector<Json>> waiting;  // one Pod of each TrainJob
    const auto convert = [&](Json pod) {
        PodFacts facts = pod_facts(pod, now);
        const bool waits = facts.node.empty() && !facts.ended && !facts.deletion;
        if (waits && wanted.contains(facts.train_job) && waiting.size() < most_waiting)
            if (auto& of_job = waiting[facts.train_job]; of_job.empty()) of_job.push_back(std::move(pod));
        return facts;
    };
    auto pods = co_await read_list<PodFacts>(server, std::move(of_pods), convert);
    if (!pods && query.only_pods && pods.error().code != api::Errc::unavailable) {
        api::Error error = pods.error();
        error.message = "pods could not be read (" + api::describe(pods.error()) +
                        "), and nothing else tells when the last program has ended";
        error.field.clear();
        co_return error;
    }
    if (!pods)
        notes.push_back("pods could not be read (" + api::describe(pods.error()) +
                        "): whether programs fail or still run is not known of all TrainJobs");
    auto found_jobs = co_await read_list<JobFacts>(server, std::move(of_jobs), job_facts);
    if (!found_jobs)
        notes.push_back("jobs.batch could not be read (" + api::describe(found_jobs.error()) +
                        "): how often programs may be retried is not known");
    if (!pods && (query.only_pods || !found_jobs)) co_return api::Result<>();
    if (pods && query.nodes) {
        std::set<std::string> silent;
        for (const PodFacts& pod : *pods)
            if (pod.does == PodDoes::lost) silent.insert(pod.node);
        const NodeObjects nodes = co_await read_nodes(server, std::move(silent));
        believe(nodes, *pods);
    }
    for (auto& [key, pod] : waiting) co_await add_scheduling_problems(server, key.ns, pod);
    std::map<api::ObjectKey, Found> found;
    for (const api::ObjectKey& key : wanted) found[key];
    if (pods)
        for (PodFacts& each : *pods)
            if (const auto at = found.find(each.train_job); at != found.end())
                at->second.pods.push_back(std::move(each));
    if (found_jobs)
        for (JobFacts& each : *found_jobs)
            if (const auto at = found.find(each.train_job); at != found.end())
                at->second.jobs.push_back(std::move(each));
    for (Brief& job : jobs)
        if (const auto at = found.find(job.key); at != found.end())
            set_pods(job, state_of(job, at->second, pods.has_value(), now));
    for (Brief& job : jobs)
        if (const auto at = waiting.find(job.key); at != waiting.end() && job.pods.what == PodsDo::wait)
            set_waiting(job, why_without_node(at->second.front()));
    co_return api::Result<>();
}

kube::Task<> add_scheduling_problems(kube::ApiServer& server, std::string ns, std::vector<Json>& pods) {
    for (const auto& plugin : runtime::default_pipeline()) {
        auto wanted = plugin->related_objects(pods);
        if (!wanted) continue;
        ListQuery query = {.resource = wanted->resource,
                           .ns = ns,
                           .labels = std::move(wanted->labels),
                           .fields = std::move(wanted->fields)};
        const auto related = co_await read_objects(server, std::move(query));
        if (related) plugin->add_scheduling_problems(pods, *related);
    }
}

kube::Task<NodeObjects> read_nodes(kube::ApiServer& server, std::set<std::string> names) {
    NodeObjects nodes;
    for (const std::string& name : names) {
        if (nodes.size() == most_silent_nodes) break;
        api::ObjectKey key = {"", name};
        kube::Request request = kube::get(node_resource, key);
        auto node = co_await kube::fetch(server, std::move(request));
        if (node)
            nodes[name] = std::move(*node);
        else if (node.error().code == api::Errc::not_found)
            nodes[name] = Json();
        else
            break;
    }
    co_return nodes;
}

}  // namespace cli
