#include "job/read.hpp"

#include <set>

#include "api/names.hpp"
#include "cluster/lists.hpp"
#include "cluster/refusal.hpp"

namespace cli {
namespace {

using api::Json;
namespace resources = kube::resources;

// Names per selector: the API server accepts a request line of several kilobytes.
constexpr std::size_t most_names = 60;

constexpr kube::Resource runtime_kinds[] = {resources::cluster_training_runtimes,
                                            resources::training_runtimes};

struct NamedRuntime {
    api::ObjectKey key = {};
    RuntimeSummary summary = {};
};

struct ReadyPods {
    api::ObjectKey train_job = {};
    std::int64_t count = 0;
};

NamedRuntime named_runtime(Json runtime) {
    return {.key = api::parse_meta(runtime).key(), .summary = runtime_summary(runtime)};
}

// The name for a Job that trains: the JobSet has the name of its TrainJob.
ReadyPods ready_pods(Json job) {
    const Json& object = job;
    const Json& labels = object["metadata"]["labels"];
    ReadyPods ready = {.train_job = {std::string(object["metadata"]["namespace"].as_string()),
                                     std::string(labels[api::job_set_name_label].as_string())}};
    if (!labels[api::replicated_job_label].as_string().ends_with("-initializer"))
        ready.count = object["status"]["ready"].int_or(0);
    return ready;
}

std::string one_of(const std::set<std::string>& names) {
    std::string selector(api::job_set_name_label);
    if (names.size() > most_names) return selector;
    selector += " in (";
    for (const std::string& name : names) selector.append(selector.ends_with('(') ? "" : ",").append(name);
    return selector + ")";
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

kube::Async<> read_ready_nodes(kube::ApiServer& server, std::vector<Brief>& jobs,
                               std::vector<std::string>& notes) {
    std::map<api::ObjectKey, std::int64_t> ready;
    std::set<std::string> namespaces;
    std::set<std::string> names;
    for (const Brief& job : jobs) {
        if (!job.needs_jobs) continue;
        ready[job.key] = 0;
        namespaces.insert(job.key.ns);
        names.insert(job.key.name);
    }
    if (namespaces.empty()) co_return api::Result<>();
    ListQuery query = {.resource = kube::resources::jobs,
                       .ns = namespaces.size() == 1 ? *namespaces.begin() : "",
                       .labels = one_of(names),
                       .fields = "status.successful=0"};
    auto list = co_await read_list<ReadyPods>(server, std::move(query), ready_pods);
    if (!list) {
        notes.push_back("jobs.batch could not be read (" + api::describe(list.error()) +
                        "): how many nodes are ready is not known of all TrainJobs");
        co_return api::Result<>();
    }
    for (const ReadyPods& each : *list)
        if (const auto at = ready.find(each.train_job); at != ready.end()) at->second += each.count;
    for (Brief& job : jobs)
        if (job.needs_jobs) set_ready_nodes(job, ready[job.key]);
    co_return api::Result<>();
}

kube::Async<std::vector<Brief>> read_overview(kube::ApiServer& server, Selection selection,
                                              std::vector<std::string>& notes) {
    const bool one = !selection.keys.empty();
    std::string ns = one ? selection.keys.front().ns : selection.ns;
    for (const api::ObjectKey& key : selection.keys)
        if (key.ns != ns) ns.clear();
    auto runtimes = co_await read_runtimes(server, std::move(ns), notes);
    auto jobs = co_await read_jobs(server, std::move(selection), *runtimes);
    if (!jobs) co_return jobs.error();
    if (auto read = co_await read_ready_nodes(server, *jobs, notes); !read) co_return read.error();
    co_return std::move(*jobs);
}

}  // namespace cli
