#include "template/open_fields.hpp"

namespace runtime {
namespace {

using api::Json;

const Json& pod_template(const Json& replicated_job) {
    return replicated_job["template"]["spec"]["template"];
}

Json* pod_template(Json& replicated_job) {
    Json* found = &replicated_job;
    for (const char* name : {"template", "spec", "template"})
        if (found = found->find(name); !found) return nullptr;
    return found;
}

// Kubernetes 1.33 refuses an apply that leaves an object empty (kubernetes/kubernetes#117447).
void erase_empty_metadata(Json& pod) {
    if (const Json* metadata = pod.find("metadata"); metadata && metadata->empty()) pod.erase("metadata");
}

}  // namespace

void take(Json& into, std::string_view member, const Json& from) {
    if (const Json* value = from.find(member))
        into[member] = *value;
    else
        into.erase(member);
}

void take_open_fields(Json& job, const Json& from) {
    const auto take_all = [&](const char* part, const auto& names) {
        const Json& wanted = pod_template(from)[part];
        for (const std::string_view name : names)
            if (wanted.contains(name) || pod_template(std::as_const(job))[part].contains(name))
                take(job["template"]["spec"]["template"][part], name, wanted);
    };
    take_all("metadata", open_metadata);
    take_all("spec", open_spec);
    if (Json* pod = pod_template(job)) erase_empty_metadata(*pod);
}

void erase_open_fields(Json& job) {
    Json* pod = pod_template(job);
    if (!pod) return;
    if (Json* metadata = pod->find("metadata")) {
        for (const std::string_view name : open_metadata) metadata->erase(name);
        erase_empty_metadata(*pod);
    }
    if (Json* spec = pod->find("spec"))
        for (const std::string_view name : open_spec) spec->erase(name);
}

}  // namespace runtime
