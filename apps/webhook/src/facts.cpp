#include "facts.hpp"

#include "api/dns_label.hpp"
#include "api/names.hpp"
#include "lifecycle/snapshot.hpp"
#include "runtime/snapshot.hpp"

namespace webhook {
namespace {

using Tree = RuntimeView::Tree;

constexpr std::string_view runtime_field = "spec.runtimeRef";
constexpr std::string_view managed_fields[] = {"metadata", "managedFields"};
constexpr std::string_view templates[] = {"spec", "replicatedJobs"};

// Of a cluster with very many of them, or very large ones, a part is enough for a warning.
constexpr std::size_t max_pages_of_jobs = 4;
constexpr std::size_t max_bytes_of_a_page = 4 * 1024 * 1024;
// Of any other object: etcd takes 1.5 MiB.
constexpr std::size_t max_bytes_of_an_object = 2 * 1024 * 1024;
constexpr std::string_view page_of_queued_jobs = "?limit=250&labelSelector=kueue.x-k8s.io%2Fqueue-name";

std::string_view namespace_of(const api::AdmissionRequest& request) {
    return request.ns.empty() ? request.object["metadata"]["namespace"].as_string()
                              : std::string_view(request.ns);
}

bool names_namespaced_runtime(const api::AdmissionRequest& request) {
    return request.object["spec"]["runtimeRef"]["kind"].as_string() == api::training_runtime_kind;
}

api::ObjectKey runtime_key(const api::AdmissionRequest& request) {
    const std::string_view ns = names_namespaced_runtime(request) ? namespace_of(request) : "";
    return {std::string(ns), std::string(request.object["spec"]["runtimeRef"]["name"].as_string())};
}

api::Error cannot_read(const kube::Resource& resource, const api::ObjectKey& key, api::Error error) {
    error.message = "cannot read " + to_string(resource) + " \"" + to_string(key) + "\": " + error.message;
    return error;
}

bool is_absent(const api::Error& error) {
    return error.code == api::Errc::not_found || error.http_status == 400 || error.http_status == 422;
}

// The TrainJob names what it cannot be judged by: a verdict, and no trouble with the API server.
bool is_refusal(const api::Error& error) { return error.field == runtime_field; }

api::Result<Tree> unless_too_large(Tree runtime) {
    const std::size_t values = count_tree_values(*runtime);
    if (values > max_runtime_values)
        return api::invalid(std::string(runtime_field), "the runtime " + too_large_text(values));
    return runtime;
}

// What reviews look at of each kind.
api::JsonPaths left_out_of(const kube::Resource& resource) {
    static constexpr api::JsonPath of_job_sets[] = {managed_fields, templates};
    static constexpr api::JsonPath of_others[] = {managed_fields};
    return resource.plural == kube::resources::job_sets.plural ? api::JsonPaths(of_job_sets)
                                                               : api::JsonPaths(of_others);
}

// nullptr if there is none.
net::Async<Tree> read(kube::ApiServer& server, kube::Resource resource, api::ObjectKey key) {
    // Such a name exists nowhere, and asking for an empty one would list the collection.
    if (!api::is_dns_subdomain(key.name) || (resource.namespaced && !api::is_dns_label(key.ns)))
        co_return Tree();
    kube::Request request = kube::get(resource, key);
    request.max_answer = max_bytes_of_an_object;
    auto object = co_await kube::fetch(server, std::move(request), left_out_of(resource));
    if (object) co_return std::make_shared<const api::Json>(std::move(*object));
    if (is_absent(object.error())) co_return Tree();
    co_return cannot_read(resource, key, object.error());
}

// nullptr if there is none that belongs to the job, or it is broken: then the live runtime is the best there
// is. One that the reconciler builds from and that is too large here is refused.
net::Async<Tree> snapshot_of(kube::ApiServer& server, const api::TrainJob& job) {
    const api::ObjectKey key = {job.meta.ns, runtime::snapshot_name(job.meta.name)};
    const auto config_map = co_await read(server, kube::resources::config_maps, key);
    if (!config_map) co_return config_map.error();
    if (!*config_map) co_return Tree();
    auto runtime = runtime::read_snapshot(**config_map, job);
    if (!runtime) co_return Tree();
    co_return unless_too_large(std::make_shared<const api::Json>(std::move(*runtime)));
}

kube::Resource resource_of(const runtime::Need& need) {
    if (need.kind == "PriorityClass") return kube::resources::priority_classes;
    throw std::logic_error("a plugin's rules need a kind without a resource: " + need.kind);
}

net::Async<std::vector<api::Json>> read_all(kube::ApiServer& server, std::vector<runtime::Need> needs) {
    std::vector<api::Json> found;
    for (const runtime::Need& need : needs) {
        const auto object = co_await read(server, resource_of(need), need.key);
        if (!object) co_return object.error();
        if (*object) found.push_back(**object);
    }
    co_return found;
}

}  // namespace

std::size_t FactFinder::values_at_hand(const api::AdmissionRequest& request,
                                       const runtime::Lookups& wanted) const {
    return wanted.runtime || wanted.runtime_for_warnings ? runtimes_.values_of(runtime_key(request)) : 0;
}

std::optional<Facts> FactFinder::at_hand(const api::AdmissionRequest& request,
                                         const runtime::Lookups& wanted) const {
    if (wanted == runtime::Lookups()) return Facts();
    // Whatever is wrong with it: it has to pass.
    if (wanted.runtime_for_warnings) {
        const auto known = runtimes_.find(runtime_key(request));
        return Facts{.runtime = known ? *known : Tree()};
    }
    // An UPDATE may be judged by the snapshot, and JobSets are not watched here.
    if (wanted.queued_jobs) return std::nullopt;
    if (wanted.job_set || !request.old_object.is_null()) return std::nullopt;
    const api::ObjectKey key = runtime_key(request);
    const auto known = runtimes_.find(key);
    if (!known) return Facts{.runtime_refused = known.error()};
    Facts facts = {.runtime = *known, .watched = key};
    if (!facts.runtime || !runtime::review_needs(*facts.runtime, pipeline_).empty()) return std::nullopt;
    return facts;
}

net::Async<Tree> FactFinder::live_runtime(const api::AdmissionRequest& request) const {
    const api::ObjectKey key = runtime_key(request);
    const kube::Resource resource = names_namespaced_runtime(request)
                                        ? kube::resources::training_runtimes
                                        : kube::resources::cluster_training_runtimes;
    auto found = co_await read(server_, resource, key);
    if (!found || !*found) co_return found;
    co_return unless_too_large(std::move(*found));
}

net::Async<> FactFinder::look_up_needs(Facts& facts) const {
    auto needs = runtime::review_needs(*facts.runtime, pipeline_);
    if (needs.empty()) co_return api::Result<>();
    auto share = budget_ ? budget_->take(count_tree_values(*facts.runtime)) : std::nullopt;
    if (budget_ && !share)
        co_return api::Error{.code = api::Errc::unavailable,
                             .message = "too many large runtimes wait for what they need"};
    auto observed = co_await read_all(server_, std::move(needs));
    if (!observed) co_return observed.error();
    facts.observed = std::move(*observed);
    co_return api::Result<>();
}

net::Async<runtime::QueuedJobs> FactFinder::queued_jobs(const api::AdmissionRequest& request) const {
    runtime::QueuedJobs found;
    std::size_t pages = 0;
    for (const std::string& section : namespaces_.sections()) {
        // One of a namespace is used there alone.
        if (!request.ns.empty() && !kube::covers(section, request.ns)) continue;
        const api::ObjectKey collection = {.ns = request.ns.empty() ? section : request.ns};
        std::string next;
        do {
            if (pages++ == max_pages_of_jobs) {
                found.more = true;
                co_return found;
            }
            kube::Request list = kube::get(kube::resources::train_jobs, collection);
            list.target += page_of_queued_jobs;
            if (!next.empty()) list.target += "&continue=" + kube::percent_encode(next);
            list.max_answer = max_bytes_of_a_page;
            const auto answer = co_await server_.send(std::move(list));
            if (!answer && answer.error().code != api::Errc::too_large) co_return answer.error();
            if (!answer || count_values(answer->body) > max_review_values) {
                found.more = true;
                co_return found;
            }
            const auto page = api::parse_json(answer->body);
            if (!page) co_return page.error();
            runtime::count_queued_jobs(*page, request.kind, request.name, found);
            next = (*page)["metadata"]["continue"].as_string();
        } while (!next.empty());
    }
    co_return found;
}

net::Async<Facts> FactFinder::look_up(const api::AdmissionRequest& request, runtime::Lookups wanted,
                                      Runtime runtime) const {
    Facts facts;
    if (wanted.queued_jobs) {
        auto queued = co_await queued_jobs(request);
        if (!queued) co_return queued.error();
        facts.queued = *queued;
        co_return facts;
    }
    lifecycle::RuntimeSource source = lifecycle::RuntimeSource::live;
    std::optional<api::TrainJob> job;
    if (!request.old_object.is_null()) {
        lifecycle::Observed observed = {.job = api::parse_train_job(request.object)};
        observed.job->meta.ns = namespace_of(request);
        if (wanted.job_set || !lifecycle::had_job_set(*observed.job)) {
            const api::ObjectKey key = observed.job->meta.key();
            const auto job_set = co_await read(server_, kube::resources::job_sets, key);
            if (!job_set) co_return job_set.error();
            if (*job_set) observed.job_set = api::parse_job_set(**job_set);
        }
        source = lifecycle::runtime_source(observed);
        if (wanted.job_set) facts.job_set = observed.job_set;
        job = std::move(observed.job);
    }
    if (!wanted.runtime) co_return facts;

    // What the reconciler builds from goes first; where that is gone, so does the reconciler's other choice.
    const bool live_first = source == lifecycle::RuntimeSource::live;
    for (int choice = 0; choice < 2 && !facts.runtime; ++choice) {
        const bool is_live = live_first == (choice == 0);
        if (!is_live && !job) continue;
        const api::ObjectKey key = runtime_key(request);
        api::Result<Tree> found = Tree();
        bool is_watched = false;
        if (is_live && runtime == Runtime::known) {
            found = runtimes_.find(key);
            is_watched = found && *found;
        }
        if (found && !*found) {
            // The watch may be behind: a runtime that has just been created may be used.
            if (is_live)
                found = co_await live_runtime(request);
            else
                found = co_await snapshot_of(server_, *job);
        }
        if (!found && !is_refusal(found.error())) co_return found.error();
        if (!found) {
            facts.runtime_refused = found.error();
            co_return facts;
        }
        facts.runtime = std::move(*found);
        if (is_watched) facts.watched = key;
    }
    if (!facts.runtime) co_return facts;
    if (auto looked_up = co_await look_up_needs(facts); !looked_up) co_return looked_up.error();
    co_return facts;
}

}  // namespace webhook
