#include "resources/resource_errors.hpp"

#include "fixtures.hpp"
#include "runtime/validation.hpp"

using api::Json;

namespace {

std::string errors(const char* resources) {
    std::string text;
    for (const runtime::ResourceError& error : runtime::resource_errors(tree(resources)))
        text += (text.empty() ? "" : "; ") + error.place() + " " + error.rule;
    return text;
}

}  // namespace

TEST_CASE("names and quantities that Pods can have are no errors", "[resources]") {
    for (const char* resources :
         {"null", "{}", "{limits: {}, requests: {}}", "{claims: [{name: a}]}",
          "{limits: {cpu: 1500m, memory: 1.5Gi, ephemeral-storage: 1e9}}",
          "{requests: {cpu: 0.1, memory: 1}}",
          "{limits: {nvidia.com/gpu: 8}, requests: {nvidia.com/gpu: \"8\"}}", "{limits: {nvidia.com/gpu: 0}}",
          "{limits: {amd.com/gpu: 2000m}}", "{limits: {nvidia.com/mig-1g.5gb: 1, gpu.intel.com/i915: 1}}",
          "{limits: {example.com/A_b.C-d: 1}}", "{limits: {localhost/x: 1}}",
          "{limits: {hugepages-2Mi: 4Mi, cpu: 1}}",
          "{limits: {hugepages-1Gi: 0}, requests: {hugepages-1Gi: 0, memory: 1}}",
          "{limits: {deviceclass.resource.kubernetes.io/gpu.nvidia.com: 2}}",
          // The scheduler knows no such resource, but Pods may have it.
          "{requests: {kubernetes.io/x: 0.5}}",
          // Of these the schema tells.
          "{limits: {cpu: many}}"}) {
        CAPTURE(resources);
        CHECK(errors(resources).empty());
    }
}

TEST_CASE("a name that no container has is an error, and says what is meant", "[resources]") {
    struct Case {
        const char* name;
        const char* meant;
    };
    const Case cases[] = {
        {"gpu", "nvidia.com/gpu"},
        {"GPUs", "nvidia.com/gpu"},
        {"nvidia", "nvidia.com/gpu"},
        {"nvidia-gpu", "nvidia.com/gpu"},
        {"NVIDIA.com/gpu", "nvidia.com/gpu"},
        {"nvidia.com/gpu/", "nvidia.com/gpu"},
        {"requests.nvidia.com/gpu", "nvidia.com/gpu"},
        {"tpu", "google.com/tpu"},
        {"CPU", "cpu"},
        {"cpus", "cpu"},
        {"mem", "memory"},
        {"Memory", "memory"},
        {"memroy", "memory"},
        {"storage", "ephemeral-storage"},
        {"hugepages", "hugepages-2Mi"},
    };
    for (const Case& c : cases) {
        CAPTURE(c.name);
        Json resources;
        resources["requests"][c.name] = 1;
        const auto found = runtime::resource_errors(resources);
        REQUIRE(found.size() == 1);
        CHECK(found[0].place() == "requests[" + std::string(c.name) + "]");
        CHECK(found[0].value == Json(c.name));
        CHECK(found[0].rule ==
              "is no resource of a container; did you mean \"" + std::string(c.meant) + "\"?");
    }
    CHECK(errors("{limits: {gpu: 8, amd.com/gpu: 4}}") ==
          "limits[gpu] is no resource of a container; did you mean \"amd.com/gpu\"?");
    for (const char* name : {"pods", "rdma", "a b/c", "/x", "x/", "-a.io/b", "a.io/-b", "hugepages-"}) {
        CAPTURE(name);
        Json resources;
        resources["limits"][name] = 1;
        const auto found = runtime::resource_errors(resources);
        REQUIRE(found.size() == 1);
        CHECK_THAT(found[0].rule, Catch::StartsWith("is no resource of a container"));
    }
}

TEST_CASE("a quantity that Pods refuse is an error", "[resources]") {
    struct Case {
        const char* resources;
        const char* want;
    };
    const Case cases[] = {
        {"{limits: {cpu: -1}}", "limits[cpu] must not be negative"},
        {"{requests: {memory: -1Gi}}", "requests[memory] must not be negative"},
        {"{limits: {nvidia.com/gpu: 500m}}", "limits[nvidia.com/gpu] must be a whole number"},
        {"{limits: {nvidia.com/gpu: 0.1m}}", "limits[nvidia.com/gpu] must be a whole number"},
        {"{requests: {nvidia.com/gpu: 1}}", "requests[nvidia.com/gpu] must have the same limit beside it"},
        {"{limits: {nvidia.com/gpu: 2}, requests: {nvidia.com/gpu: 1}}",
         "requests[nvidia.com/gpu] must be the same as its limit, 2"},
        {"{limits: {hugepages-2Mi: 3Mi, cpu: 1}}",
         "limits[hugepages-2Mi] must be a multiple of the page size in its name"},
        {"{limits: {hugepages-big: 2Mi, cpu: 1}}",
         "limits[hugepages-big] must have the size of a page in its name, such as hugepages-2Mi"},
        {"{limits: {hugepages-2Mi: 2Mi}}",
         "limits[hugepages-2Mi] must have cpu or memory beside it: Pods have no huge pages alone"},
    };
    for (const Case& c : cases) {
        CAPTURE(c.resources);
        CHECK(errors(c.resources) == c.want);
    }
}

TEST_CASE("a TrainJob whose Pods cannot be created is not built", "[resources]") {
    const Json job = changed(train_job(), {{"spec.trainer.resourcesPerNode", "{requests: {gpu: 8}}"}});
    const auto built = build_job_set(job, runtime_with("torch"));
    REQUIRE_FALSE(built);
    CHECK(built.error().field == "spec.trainer.resourcesPerNode.requests[gpu]");
    CHECK_THAT(built.error().message, Catch::Contains("did you mean \"nvidia.com/gpu\"?"));
    // Nothing takes them.
    CHECK(build_job_set(job, plain_runtime()));
}
