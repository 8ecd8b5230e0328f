#include "gang_objects.hpp"

using api::Json;

namespace {

const char* const node = "spec.template.spec.replicatedJobs[0].template.spec.template.spec";

}  // namespace

Json gang_runtime(const char* policy) {
    Json runtime = plain_runtime();
    runtime["spec"]["mlPolicy"] = tree("{numNodes: 2}");
    runtime["spec"]["podGroupPolicy"][policy] = Json::object();
    return runtime;
}

Json with_pod(const char* policy, const char* pod_spec) {
    Json runtime = gang_runtime(policy);
    at(runtime, node) = tree(pod_spec);
    return runtime;
}

api::Result<runtime::Built> build_gang(const Json& runtime, const Objects& observed) {
    const api::TrainJob parsed = api::parse_train_job(train_job());
    return runtime::build({.job = parsed, .runtime = runtime, .observed = observed});
}

Json pod_group(const Json& runtime, const Objects& observed) {
    const auto built = build_gang(runtime, observed);
    if (!built) FAIL(built.error());
    REQUIRE(built->objects.size() == 2);
    CHECK(built->objects.front().when == runtime::ApplyPolicy::with_job_set);
    return built->objects.front().object;
}

void check_group(const Json& group, const char* api_version) {
    CHECK(group["kind"] == Json("PodGroup"));
    CHECK(group["apiVersion"] == Json(api_version));
    CHECK(group["metadata"]["name"] == Json("job"));
    CHECK(group["metadata"]["namespace"] == Json("ns"));
    CHECK(group["metadata"]["ownerReferences"][0]["uid"] == Json("job-uid"));
    CHECK_FALSE(group["metadata"].contains("labels"));
}

const Json& pod_metadata(const Json& job_set) {
    return job_set["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["metadata"];
}

std::string resources_of(const Json& group) {
    std::string text;
    for (const auto& [name, quantity] : group["spec"]["minResources"].members())
        text += (text.empty() ? "" : " ") + name + "=" + std::string(quantity.as_string());
    return text;
}

std::string marked(const Json& job_set) {
    std::string text;
    for (const Json& job : job_set["spec"]["replicatedJobs"].items()) {
        const Json& metadata = job["template"]["spec"]["template"]["metadata"];
        if (metadata["labels"]["scheduling.x-k8s.io/pod-group"].as_string() == "job" ||
            metadata["annotations"]["scheduling.k8s.io/group-name"].as_string() == "job")
            text += (text.empty() ? "" : " ") + std::string(job["name"].as_string());
    }
    return text;
}

Json limit_range(const char* name, const char* limits) {
    Json range = tree("{apiVersion: v1, kind: LimitRange, metadata: {namespace: ns}}");
    range["metadata"]["name"] = name;
    range["spec"]["limits"] = tree(limits);
    return range;
}

Json with_classes(const char* policy, const char* member, int count) {
    Json runtime = gang_runtime(policy);
    for (int index = 1; index < count; ++index) {
        Json job = tree("{template: {spec: {template: {spec: {containers: [{name: a, image: i}]}}}}}");
        job["name"] = "a" + std::to_string(index);
        at(job, "template.spec.template.spec")[member] = "class-" + std::to_string(index);
        at(runtime, "spec.template.spec.replicatedJobs").push_back(std::move(job));
    }
    at(runtime, node)[member] = "class-0";
    return runtime;
}
