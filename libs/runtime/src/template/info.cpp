#include "runtime/info.hpp"

#include <algorithm>

#include "api/hash.hpp"
#include "api/job_set_names.hpp"
#include "api/names.hpp"
#include "template/edit.hpp"
#include "template/replicated_jobs.hpp"

namespace runtime {

using api::Json;

namespace {

// Returns a list of the Pod; nullptr if there is none. Reading must not create it: a null would be sent.
Json* list_of_pod(Json& job_template, std::string_view name) {
    Json* step = &job_template;
    for (const std::string_view member :
         {std::string_view("spec"), std::string_view("template"), std::string_view("spec"), name})
        if (step) step = step->find(member);
    return step;
}

bool names_it(std::string_view text) { return text.find(std::to_string(usual_rendezvous_port)) != text.npos; }

bool any_names_it(const Json& words) {
    return std::any_of(words.items().begin(), words.items().end(),
                       [](const Json& word) { return names_it(word.as_string()); });
}

}  // namespace

bool names_usual_port(const Json& command, const Json& args, const Json& env, std::string_view overwritten) {
    return any_names_it(command) || any_names_it(args) ||
           std::any_of(env.items().begin(), env.items().end(), [&](const Json& variable) {
               return variable["name"] != Json(overwritten) && names_it(variable["value"].as_string());
           });
}

PodSet* Info::trainer_pod_set() {
    for (PodSet& pods : pod_sets)
        if (pods.ancestor == api::ancestor_trainer) return &pods;
    return nullptr;
}

PodSet* Info::pod_set(std::string_view name) {
    for (PodSet& pods : pod_sets)
        if (pods.name == name) return &pods;
    return nullptr;
}

Json& Info::job_template(const PodSet& pods) {
    return spec["replicatedJobs"].items()[pods.index]["template"];
}

Json& Info::pod_template(const PodSet& pods) { return job_template(pods)["spec"]["template"]; }

Json& Info::pod_spec(const PodSet& pods) { return pod_template(pods)["spec"]; }

Json* Info::container(const PodSet& pods, std::string_view name) {
    return find_named(list_of_pod(job_template(pods), "containers"), name);
}

Json* Info::init_container(const PodSet& pods, std::string_view name) {
    return find_named(list_of_pod(job_template(pods), "initContainers"), name);
}

api::Result<> Info::upsert_port(const PodSet& pods, std::string_view name, Json port) {
    Json* found = container(pods, name);
    if (!found) return {};
    auto done = runtime::upsert_port(*found, std::move(port));
    if (done) return done;
    const Json::Array& containers = pod_spec(pods)["containers"].items();
    return api::invalid(pod_spec_path(pods.index) + ".containers[" +
                            std::to_string(found - containers.data()) + "]." + done.error().field,
                        done.error().message);
}

std::string Info::endpoint(std::string_view pods, std::int64_t replica, std::int64_t index) const {
    return api::job_set_names::address(job.meta.name, spec, pods, replica, index);
}

void Info::note_unknown_devices() {
    if (!devices.known)
        warnings.push_back({"GPUCountUnknown", "devices of a Pod cannot be counted: " + devices.why});
}

// 20000 to 28999 is below the ports of Services and of outgoing connections. The hash is the same in every
// build, as the port must be.
std::int64_t Info::rendezvous_port(const PodSet& pods) const {
    if (!pod_spec_of(spec["replicatedJobs"][pods.index])["hostNetwork"].bool_or(false))
        return usual_rendezvous_port;
    return 20000 + static_cast<std::int64_t>(api::fnv1a(job.meta.ns + "/" + job.meta.name) % 9000);
}

// Two Pods of a node cannot both have the usual port, and a scheduler waits for one that is only declared. A
// program that names it listens there, so that the scheduler has to know.
api::Result<> Info::declare_rendezvous_port(const PodSet& pods) {
    Json* node = container(pods, api::node_container);
    if (!node) return {};
    const std::int64_t port = rendezvous_port(pods);
    const Json& own = *node;
    const auto of_job = [&](std::string_view member) -> const Json& {
        return trainer[member].is_null() ? own[member] : trainer[member];
    };
    const bool is_named = names_usual_port(of_job("command"), of_job("args"), own["env"]) ||
                          names_usual_port(Json(), Json(), trainer["env"]);
    if (Json* ports = node->find("ports"); ports && port != usual_rendezvous_port && !is_named)
        std::erase_if(ports->items(), [](const Json& declared) {
            return declared["containerPort"] == Json(usual_rendezvous_port) &&
                   declared["protocol"] != "UDP" && declared["protocol"] != "SCTP";
        });
    return upsert_port(pods, api::node_container, Json::object({{"containerPort", port}}));
}

std::string Info::first_endpoint() {
    const PodSet* pods = trainer_pod_set();
    return endpoint(pods ? std::string_view(pods->name) : api::node_container, 0, 0);
}

}  // namespace runtime
