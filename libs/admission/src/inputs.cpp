#include "admission/inputs.hpp"

#include "admission/client_limits.hpp"
#include "api/dns_label.hpp"
#include "api/names.hpp"
#include "api/train_job.hpp"
#include "lifecycle/judge.hpp"
#include "lifecycle/recreate.hpp"
#include "lifecycle/snapshot.hpp"
#include "net/tls/digest.hpp"
#include "runtime/snapshot.hpp"

namespace admission {
namespace {

constexpr std::string_view runtime_field = "spec.runtimeRef";
constexpr std::string_view managed_fields[] = {"metadata", "managedFields"};
constexpr std::string_view templates[] = {"spec", "replicatedJobs"};

// The size from which YAML is expensive: reading it takes ten times as long as JSON or more.
constexpr std::size_t expensive_bytes_of_yaml = 16 * 1024;
constexpr std::string_view page_of_jobs = "?limit=250";
// The parts of TrainJobs without which those of a runtime are counted.
constexpr std::string_view job_fields[] = {"items", "[]", "metadata", "managedFields"};
constexpr std::string_view job_trainer[] = {"items", "[]", "spec", "trainer"};
constexpr std::string_view job_initializer[] = {"items", "[]", "spec", "initializer"};
constexpr std::string_view job_patches[] = {"items", "[]", "spec", "runtimePatches"};
constexpr api::JsonPath uncounted[] = {job_fields, job_trainer, job_initializer, job_patches};

std::string_view namespace_of(const api::AdmissionRequest& request) {
    return request.ns.empty() ? request.object["metadata"]["namespace"].as_string()
                              : std::string_view(request.ns);
}

// Cuts a text that is longer than any valid name.
std::string cut(std::string_view text) { return std::string(text.substr(0, 256)); }

api::Error cannot_read(const kube::Resource& resource, const api::ObjectKey& key, api::Error error) {
    error.message = "cannot read " + to_string(resource) + " \"" + to_string(key) + "\": " + error.message;
    return error;
}

bool is_absent(const api::Error& error) {
    return error.code == api::Errc::not_found || error.http_status == 400 || error.http_status == 422;
}

// Returns whether the error is one of the TrainJob, which refers to an object that is too large: that is a
// denial, and not a failure of the API server.
bool is_refusal(const api::Error& error) { return error.field == runtime_field; }

api::Result<RuntimeLister::Tree> unless_too_large(RuntimeLister::Tree runtime) {
    const std::size_t values = count_tree_values(*runtime);
    if (values > max_runtime_values)
        return api::invalid(std::string(runtime_field), "the runtime " + too_large_text(values));
    return runtime;
}

// Returns the parts of a kind that reviews do not read. They read the managedFields of a JobSet, which show
// whether it has run.
api::JsonPaths omitted_of(const kube::Resource& resource) {
    static constexpr api::JsonPath of_job_sets[] = {templates};
    static constexpr api::JsonPath of_others[] = {managed_fields};
    return resource.plural == kube::resources::job_sets.plural ? api::JsonPaths(of_job_sets)
                                                               : api::JsonPaths(of_others);
}

// Returns an upper bound of the values: a ConfigMap may contain YAML, in which a line is a value.
std::size_t count_values_and_lines(std::string_view text) {
    std::size_t count = count_values(text);
    for (auto at = text.find("\\n"); at != text.npos; at = text.find("\\n", at + 2)) ++count;
    return count;
}

bool is_expensive(const kube::Resource& resource, std::string_view text) {
    const bool may_be_yaml = resource.plural == kube::resources::config_maps.plural;
    return text.size() > (may_be_yaml ? expensive_bytes_of_yaml : expensive_bytes) ||
           count_values_and_lines(text) > expensive_values;
}

// Takes a turn. Fails if too many wait for one: each takes a place among all waiting reviews, and usual
// reviews need some of those places.
net::Async<> queue_for(net::Semaphore& turns, MaybeTurn& turn) {
    if (turns.waiting() >= lookup_limits::most_waiting)
        co_return api::Error{.code = api::Errc::unavailable,
                             .message = "too many reviews of large objects, or with long lists, wait"};
    co_await take_turn(turns, turn);
    co_return api::Result<>();
}

}  // namespace

Subject subject_of(const api::AdmissionRequest& request, const runtime::RequiredInputs& required) {
    const api::Json& metadata = request.object["metadata"];
    const api::Json& status = request.object["status"];
    const api::RuntimeRef ref = api::parse_runtime_ref(request.object["spec"]);
    const std::string_view runtime_ns =
        ref.kind == api::training_runtime_kind ? namespace_of(request) : std::string_view();
    Subject subject = {.required = required,
                       .kind = cut(request.kind),
                       .ns = cut(request.ns),
                       .name = cut(request.name),
                       .is_update = !request.old_object.is_null(),
                       .runtime = {cut(runtime_ns), cut(ref.name)}};
    api::TrainJob& job = subject.job;
    job.meta.ns = cut(namespace_of(request));
    job.meta.name = cut(metadata["name"].as_string());
    job.meta.uid = cut(metadata["uid"].as_string());
    job.runtime_ref = {cut(ref.api_group), cut(ref.kind), cut(ref.name)};
    job.conditions = api::parse_conditions(status["conditions"]);
    job.jobs_status = api::parse_jobs_status(status["jobsStatus"]);
    const bool had_job_set = lifecycle::had_job_set(job);
    job.conditions = {};
    job.jobs_status = std::vector<api::JobStatus>(had_job_set ? 1 : 0);
    job.runtime_digest = cut(status["runtimeDigest"].as_string());
    job.restarts = api::parse_restarts(status);
    return subject;
}

std::size_t InputReader::cached_values(const Subject& subject) const {
    return subject.required.runtime ? runtimes_.values_of(subject.runtime) : 0;
}

std::optional<ReviewInputs> InputReader::from_cache(const Subject& subject) const {
    const runtime::RequiredInputs& wanted = subject.required;
    if (wanted == runtime::RequiredInputs()) return ReviewInputs();
    if (wanted.jobs_of_runtime) return std::nullopt;
    // An UPDATE may need the snapshot, and JobSets are not watched here.
    if (wanted.job_set || subject.is_update) return std::nullopt;
    const auto known = runtimes_.find(subject.runtime);
    if (!known) return ReviewInputs{.runtime_refused = known.error()};
    if (!*known || !(*known)->review_needs().empty()) return std::nullopt;
    return ReviewInputs{.runtime = RuntimeLister::tree_of(*known),
                        .examined = *known,
                        .watched = subject.runtime,
                        .is_well_formed = wanted.runtime};
}

net::Async<> InputReader::take_large(MaybeTurn& large) const {
    if (!turns_ || large) co_return api::Result<>();
    co_return co_await queue_for(turns_->large_objects, large);
}

// Waits for the turn of a larger object, if it is one.
net::Async<std::string> InputReader::read_text(kube::Request request, MaybeTurn& large) const {
    const bool takes_any = !turns_ || large;
    request.max_answer = takes_any ? lookup_limits::largest_object : lookup_limits::usual_object;
    auto answer = co_await server_.send(request);
    if (!takes_any && !answer && answer.error().code == api::Errc::too_large) {
        const auto taken = co_await take_large(large);
        if (!taken) co_return taken.error();
        request.max_answer = lookup_limits::largest_object;
        answer = co_await server_.send(std::move(request));
    }
    if (!answer) co_return answer.error();
    co_return std::move(answer->body);
}

// Returns an object; nullptr if it does not exist. An object that waits for its turn is held as bytes.
net::Async<InputReader::Tree> InputReader::read(kube::Resource resource, api::ObjectKey key, Kept kept,
                                                MaybeTurn& large, MaybeTurn& expensive) const {
    // No object has such a name, and a GET with an empty one would list the collection.
    if (!api::is_dns_subdomain(key.name) || (resource.namespaced && !api::is_dns_label(key.ns)))
        co_return Tree();
    const auto text = co_await read_text(kube::get(resource, key), large);
    if (!text && is_absent(text.error())) co_return Tree();
    if (!text) co_return cannot_read(resource, key, text.error());
    if (kept == Kept::yes && count_values_and_lines(*text) > lookup_limits::usual_values)
        if (const auto taken = co_await take_large(large); !taken)
            co_return cannot_read(resource, key, taken.error());
    if (turns_ && is_expensive(resource, *text)) co_await take_turn(turns_->expensive, expensive);
    auto object = api::parse_json_without(*text, omitted_of(resource));
    if (!object) co_return cannot_read(resource, key, object.error());
    co_return std::make_shared<const api::Json>(std::move(*object));
}

net::Async<InputReader::FoundJobSet> InputReader::read_job_set(api::ObjectKey key) const {
    MaybeTurn large;
    MaybeTurn expensive;
    const auto found = co_await read(kube::resources::job_sets, std::move(key), Kept::no, large, expensive);
    if (!found) co_return found.error();
    FoundJobSet job_set;
    if (!*found) co_return std::move(job_set);
    job_set.job_set = api::parse_job_set(**found);
    job_set.loss_by_new_one = lifecycle::loss(lifecycle::recreation(lifecycle::refused_change(**found)));
    co_return std::move(job_set);
}

// Returns the runtime in the snapshot of the TrainJob; nullptr if no snapshot belongs to the TrainJob, or if
// it is broken, or not the runtime that the TrainJob began with: then the live runtime is used. Fails if the
// runtime is too large here, since the reconciler builds from it.
net::Async<InputReader::Tree> InputReader::snapshot_of(const api::TrainJob& job, MaybeTurn& large) const {
    const api::ObjectKey key = {job.meta.ns, runtime::snapshot_name(job.meta.name)};
    MaybeTurn expensive;
    const auto config_map = co_await read(kube::resources::config_maps, key, Kept::yes, large, expensive);
    if (!config_map) co_return config_map.error();
    if (!*config_map) co_return Tree();
    auto runtime = runtime::read_snapshot(**config_map, job);
    if (!runtime) co_return Tree();
    const bool is_known = !job.runtime_digest.empty();
    if (is_known && net::digest_text(runtime::digested_text(*runtime)) != job.runtime_digest)
        co_return Tree();
    co_return unless_too_large(std::make_shared<const api::Json>(std::move(*runtime)));
}

// Returns a runtime of the watch; nullptr: none. A large one takes its turn first, since its text may have to
// be parsed again.
net::Async<InputReader::Tree> InputReader::watched_runtime(api::ObjectKey key, MaybeTurn& large) const {
    const std::size_t values = turns_ ? runtimes_.values_of(key) : 0;
    if (values > lookup_limits::usual_values)
        if (const auto taken = co_await take_large(large); !taken) co_return taken.error();
    MaybeTurn expensive;
    if (values > expensive_values) co_await take_turn(turns_->expensive, expensive);
    co_return runtimes_.find_tree(key);
}

net::Async<InputReader::Tree> InputReader::live_runtime(const Subject& subject, MaybeTurn& large) const {
    const kube::Resource resource = subject.job.runtime_ref.kind == api::training_runtime_kind
                                        ? kube::resources::training_runtimes
                                        : kube::resources::cluster_training_runtimes;
    MaybeTurn expensive;
    auto found = co_await read(resource, subject.runtime, Kept::yes, large, expensive);
    if (!found || !*found) co_return found;
    co_return unless_too_large(std::move(*found));
}

// Suggests a cached runtime that the TrainJob can use: a cluster-scoped one, or one of its own namespace.
runtime::RuntimeSuggestion InputReader::suggest(const Subject& subject) const {
    const api::ObjectKey& key = subject.runtime;
    const bool namespaced = !key.ns.empty();
    if (const api::ObjectKey other = {namespaced ? "" : subject.job.meta.ns, key.name};
        runtimes_.values_of(other) > 0)
        return {
            .kind = std::string(namespaced ? api::cluster_training_runtime_kind : api::training_runtime_kind),
            .name = key.name};
    return {.kind = subject.job.runtime_ref.kind, .name = runtimes_.nearest(key)};
}

net::Async<> InputReader::look_up_needs(ReviewInputs& inputs, MaybeTurn& large) const {
    const auto needs = runtime::review_needs(*inputs.runtime, pipeline_);
    for (const runtime::Need& need : needs) {
        MaybeTurn expensive;
        const auto object = co_await read(need.resource, need.key, Kept::yes, large, expensive);
        if (!object && need.optional && object.error().http_status == 403) continue;
        if (!object) co_return object.error();
        if (*object) inputs.observed.push_back(**object);
    }
    co_return api::Result<>();
}

net::Async<RuntimeUse> InputReader::use_of_runtime(const Subject& subject) const {
    RuntimeUse found;
    const UsedRuntime runtime = {.kind = subject.kind,
                                 .name = subject.name,
                                 .policy_of_all = subject.policy_of_all ? &*subject.policy_of_all : nullptr,
                                 .now = subject.now};
    std::size_t pages = 0;
    MaybeTurn listing;
    if (turns_)
        if (const auto taken = co_await queue_for(turns_->lists, listing); !taken) co_return taken.error();
    for (const std::string& partition : namespaces_.partitions()) {
        // A namespaced runtime is used in its own namespace only.
        if (!subject.ns.empty() && !kube::covers(partition, subject.ns)) continue;
        const api::ObjectKey collection = {.ns = subject.ns.empty() ? partition : subject.ns};
        std::string next;
        do {
            if (pages++ == subject.most_pages_of_jobs) {
                found.more = true;
                co_return found;
            }
            kube::Request list = kube::get(kube::resources::train_jobs, collection);
            list.target += page_of_jobs;
            if (!next.empty()) list.target += "&continue=" + kube::percent_encode(next);
            list.max_answer = lookup_limits::largest_page;
            const auto answer = co_await server_.send(std::move(list));
            if (!answer && answer.error().code != api::Errc::too_large) co_return answer.error();
            if (!answer || count_values(answer->body) > max_review_values) {
                found.more = true;
                co_return found;
            }
            MaybeTurn expensive;
            if (turns_ && is_expensive(kube::resources::train_jobs, answer->body))
                co_await take_turn(turns_->expensive, expensive);
            const auto page = api::parse_json_without(answer->body, uncounted);
            if (!page) co_return page.error();
            add_jobs_of_runtime(*page, runtime, found);
            next = (*page)["metadata"]["continue"].as_string();
        } while (!next.empty());
    }
    co_return found;
}

net::Async<ReviewInputs> InputReader::look_up_inputs(const Subject& subject, Runtime runtime,
                                                     MaybeTurn& large) const {
    const runtime::RequiredInputs& wanted = subject.required;
    ReviewInputs inputs;
    if (subject.is_large)
        if (const auto taken = co_await take_large(large); !taken) co_return taken.error();
    if (wanted.jobs_of_runtime) {
        const auto use = co_await use_of_runtime(subject);
        if (!use) co_return use.error();
        inputs.use = *use;
        co_return inputs;
    }
    lifecycle::RuntimeSource source = lifecycle::RuntimeSource::live;
    if (subject.is_update) {
        lifecycle::Observed observed = {.job = subject.job};
        if (wanted.job_set || !lifecycle::had_job_set(subject.job)) {
            auto found = co_await read_job_set(subject.job.meta.key());
            if (!found) co_return found.error();
            observed.job_set = std::move(found->job_set);
            inputs.loss_by_new_job_set = found->loss_by_new_one;
            // The next attempt has another JobSet anyway.
            if (lifecycle::is_judged(observed)) {
                observed.job_set.reset();
                inputs.loss_by_new_job_set = {};
            }
        }
        source = lifecycle::runtime_source(observed);
        if (wanted.job_set) inputs.job_set = std::move(observed.job_set);
    }
    if (!wanted.runtime) co_return inputs;

    // The source of the reconciler comes first; without it the other one still tells what is wrong.
    const bool live_first = source == lifecycle::RuntimeSource::live;
    for (int choice = 0; choice < 2 && !inputs.runtime; ++choice) {
        const bool is_live = live_first == (choice == 0);
        if (!is_live && !subject.is_update) continue;
        api::Result<Tree> found = Tree();
        bool is_watched = false;
        if (is_live && runtime == Runtime::known) {
            found = co_await watched_runtime(subject.runtime, large);
            is_watched = found && *found;
        }
        if (found && !*found) {
            // The watch may lag behind: a runtime that has just been created may be used.
            if (is_live)
                found = co_await live_runtime(subject, large);
            else
                found = co_await snapshot_of(subject.job, large);
        }
        if (!found && !is_refusal(found.error())) co_return found.error();
        if (!found) {
            inputs.runtime_refused = found.error();
            co_return inputs;
        }
        inputs.runtime = std::move(*found);
        if (is_watched) inputs.watched = subject.runtime;
    }
    if (!inputs.runtime) {
        inputs.suggestion = suggest(subject);
        co_return inputs;
    }
    if (auto looked_up = co_await look_up_needs(inputs, large); !looked_up) co_return looked_up.error();
    co_return inputs;
}

}  // namespace admission
