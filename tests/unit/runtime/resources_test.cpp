// Counting the devices and CPUs of a container, and setting its resources.
#include "resources/resources.hpp"

#include "fixtures.hpp"

using api::Json;

TEST_CASE("devices are counted by name, requests before limits", "[runtime]") {
    struct Case {
        const char* name;
        const char* resources;
        std::int64_t want;
    };
    const Case cases[] = {
        {"none", "{}", 0},
        {"NVIDIA's", "{limits: {nvidia.com/gpu: 4}}", 4},
        {"as text", "{limits: {nvidia.com/gpu: \"4\"}}", 4},
        {"requests", "{requests: {amd.com/gpu: 2}, limits: {amd.com/gpu: 3}}", 2},
        {"limits when the requests have none", "{requests: {cpu: 8}, limits: {amd.com/gpu: 3}}", 3},
        {"limits when the requests are zero", "{requests: {amd.com/gpu: 0}, limits: {amd.com/gpu: 3}}", 3},
        {"in capitals", "{limits: {example.com/GPU: 2}}", 2},
        {"of a device class", "{limits: {deviceclass.resource.kubernetes.io/gpu.nvidia.com: 2}}", 2},
        {"two kinds add up", "{limits: {nvidia.com/gpu: 2, amd.com/gpu: 3}}", 5},
        {"nonsense does not count", "{limits: {nvidia.com/gpu: many}}", 0},
        {"a negative number does not count", "{limits: {nvidia.com/gpu: -3}}", 0},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) {
            const auto counted = runtime::devices_in(tree(c.resources), runtime::DeviceTable());
            CHECK(counted.count == c.want);
            CHECK(counted.known);
        }
    }
}

TEST_CASE("claims make the number of devices unknown, unless there are devices besides", "[runtime]") {
    const auto devices = [](const char* resources) {
        return runtime::devices_in(tree(resources), runtime::DeviceTable());
    };
    CHECK_FALSE(devices("{claims: [{name: a}]}").known);
    CHECK(devices("{claims: [{name: a}], limits: {nvidia.com/gpu: 1}}").known);
    CHECK(devices("{claims: [{name: a}], limits: {google.com/tpu: 1}}").known);
    CHECK(devices("{claims: []}").known);
}

TEST_CASE("CPUs are requests, else limits, rounded up", "[runtime]") {
    struct Case {
        const char* resources;
        std::int64_t want;
    };
    const Case cases[] = {
        {"{}", 0},
        {"{requests: {cpu: 500m}}", 1},
        {"{requests: {cpu: 1500m}}", 2},
        {"{requests: {cpu: 2.5}}", 3},
        {"{requests: {cpu: \"4\"}}", 4},
        {"{requests: {cpu: 2}, limits: {cpu: 8}}", 2},
        {"{requests: {cpu: 0}, limits: {cpu: 8}}", 8},
        {"{limits: {cpu: 8}}", 8},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.resources) { CHECK(runtime::cpus(tree(c.resources)) == c.want); }
    }
}

TEST_CASE("resources per node merge into those of the runtime", "[runtime]") {
    struct Case {
        const char* name;
        const char* runtime;
        const char* per_node;
        const char* want;
    };
    const Case cases[] = {
        {"nothing over something", "{limits: {cpu: 1}}", "null", "{limits: {cpu: 1}}"},
        {"something over nothing", "null", "{limits: {cpu: 1}}", "{limits: {cpu: 1}}"},
        {"per key", "{limits: {cpu: 1, memory: 2Gi}, requests: {cpu: 1}}", "{limits: {cpu: 4}}",
         "{limits: {cpu: 4, memory: 2Gi}, requests: {cpu: 1}}"},
        {"claims by name", "{claims: [{name: a}, {name: b}]}",
         "{claims: [{name: b, request: r}], limits: {cpu: 1}}",
         "{claims: [{name: a}, {name: b, request: r}], limits: {cpu: 1}}"},
        {"claims survive", "{claims: [{name: a}]}", "{limits: {cpu: 1}}",
         "{claims: [{name: a}], limits: {cpu: 1}}"},
        {"a device's request follows its limit",
         "{limits: {nvidia.com/gpu: 2}, requests: {nvidia.com/gpu: 2}}", "{limits: {nvidia.com/gpu: 4}}",
         "{limits: {nvidia.com/gpu: 4}, requests: {nvidia.com/gpu: 4}}"},
        {"a device's limit follows its request", "{limits: {nvidia.com/gpu: 2}}",
         "{requests: {nvidia.com/gpu: 4}}", "{limits: {nvidia.com/gpu: 4}, requests: {nvidia.com/gpu: 4}}"},
        {"huge pages too", "{limits: {hugepages-2Mi: 4Mi}, requests: {hugepages-2Mi: 4Mi}}",
         "{limits: {hugepages-2Mi: 8Mi}}", "{limits: {hugepages-2Mi: 8Mi}, requests: {hugepages-2Mi: 8Mi}}"},
        {"a device that is only requested is limited too", "{limits: {cpu: 1}}",
         "{requests: {nvidia.com/gpu: 4}}",
         "{limits: {cpu: 1, nvidia.com/gpu: 4}, requests: {nvidia.com/gpu: 4}}"},
        {"so are huge pages that are only requested", "null", "{requests: {hugepages-2Mi: 8Mi}}",
         "{limits: {hugepages-2Mi: 8Mi}, requests: {hugepages-2Mi: 8Mi}}"},
        {"CPUs that are only requested stay without a limit", "null", "{requests: {cpu: 4}}",
         "{requests: {cpu: 4}}"},
        {"CPUs need not agree", "{requests: {cpu: 1}}", "{limits: {cpu: 4}}",
         "{limits: {cpu: 4}, requests: {cpu: 1}}"},
        {"both as given", "{limits: {a.b/c: 1}, requests: {a.b/c: 1}}",
         "{limits: {a.b/c: 3}, requests: {a.b/c: 2}}", "{limits: {a.b/c: 3}, requests: {a.b/c: 2}}"},
        {"a limit alone is the request, as Kubernetes has it", "{limits: {a.b/c: 1}}", "{limits: {a.b/c: 3}}",
         "{limits: {a.b/c: 3}}"},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) {
            CHECK(runtime::merged_resources(tree(c.runtime), tree(c.per_node)).value() == tree(c.want));
        }
    }
}
