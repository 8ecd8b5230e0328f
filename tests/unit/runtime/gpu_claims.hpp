#pragma once
#include "fixtures.hpp"

/// Runtimes with resource claims, the objects behind these, and what is built of both.

using api::Json;
using Objects = std::vector<Json>;

inline const char* const pod = "spec.template.spec.replicatedJobs[0].template.spec.template.spec";

/// Returns a runtime whose node container uses claim "gpus", of a template or of a claim of that name.
inline Json runtime_with_claim(const char* framework,
                               const char* source = "{resourceClaimTemplateName: gpus}",
                               const char* references = "[{name: gpus}]") {
    Json runtime = runtime_with(framework);
    Json claim = tree(source);
    claim["name"] = "gpus";
    at(runtime, pod)["resourceClaims"].push_back(claim);
    at(runtime, pod)["containers"].items()[0]["resources"]["claims"] = tree(references);
    return runtime;
}

inline Json claim_template(const char* requests) {
    Json object = tree(
        "{apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {name: gpus, namespace: "
        "ns}}");
    object["spec"]["spec"]["devices"]["requests"] = tree(requests);
    return object;
}

inline Json claim(const char* requests, const char* results) {
    Json object =
        tree("{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: gpus, namespace: ns}}");
    object["spec"]["devices"]["requests"] = tree(requests);
    if (*results) object["status"]["allocation"]["devices"]["results"] = tree(results);
    return object;
}

inline Json device_class(const char* name, const char* extended) {
    Json object = tree("{apiVersion: resource.k8s.io/v1, kind: DeviceClass, spec: {}}");
    object["metadata"]["name"] = name;
    if (*extended) object["spec"]["extendedResourceName"] = extended;
    return object;
}

inline const Objects classes = {device_class("accelerator", "example.com/gpu"), device_class("nic", ""),
                                device_class("mig.nvidia.com", "")};

/// Returns the result for XGBoost, which has one worker per GPU and node: the workers, and the event.
inline std::string counted(const Json& runtime, Objects observed, const Json& job = train_job()) {
    observed.insert(observed.end(), classes.begin(), classes.end());
    const api::TrainJob parsed = api::parse_train_job(job);
    const auto built = runtime::build({.job = parsed, .runtime = runtime, .observed = observed});
    if (!built) return built.error().field + ": " + built.error().message;
    std::string text;
    for (const Json& entry : node_container(built->objects.back().object)["env"].items())
        if (entry["name"].as_string() == "DMLC_NUM_WORKER") text = entry["value"].as_string();
    for (const runtime::BuildWarning& notice : built->warnings)
        text += " " + notice.reason + ": " + notice.note;
    return text;
}

inline std::string unknown(const std::string& why) {
    return "1 GPUCountUnknown: devices of a Pod cannot be counted: claim \"gpus\": " + why;
}

inline std::string processes(const Json& runtime, const Objects& observed) {
    const api::TrainJob parsed = api::parse_train_job(train_job());
    const auto built = runtime::build({.job = parsed, .runtime = runtime, .observed = observed});
    if (!built) return built.error().message;
    CHECK(built->warnings.empty());
    for (const Json& entry : node_container(built->objects.back().object)["env"].items())
        if (entry["name"].as_string() == "PET_NPROC_PER_NODE") return std::string(entry["value"].as_string());
    return "none";
}
