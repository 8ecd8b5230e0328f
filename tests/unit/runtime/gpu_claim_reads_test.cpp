// Which objects behind resource claims are read.
#include "gpu_claims.hpp"

TEST_CASE("objects behind claims are needed step by step", "[claims]") {
    const api::TrainJob job = api::parse_train_job(train_job());
    const Json runtime = runtime_with_claim("torch");
    const runtime::Need source = {api::resources::resource_claim_templates, {"ns", "gpus"}, true, {}, {}};
    CHECK(runtime::needs(job, runtime).objects == std::vector{source});
    const Json object = claim_template(
        "[{name: a, exactly: {deviceClassName: nic}}, {name: b, exactly: {deviceClassName: gpu.example}}, "
        "{name: c, firstAvailable: [{name: x, deviceClassName: fpga}, {name: z, deviceClassName: nic}]}]");
    const runtime::Need nic = {api::resources::device_classes, {"", "nic"}, true, {}, {}};
    const runtime::Need fpga = {api::resources::device_classes, {"", "fpga"}, true, {}, {}};
    CHECK(runtime::needs(job, runtime, {object}).objects == std::vector{source, fpga, nic});
}

TEST_CASE("claims of a job with very many of them are not counted and not read", "[claims]") {
    struct Case {
        const char* name;
        int claims;
        int per_source;  // how many claims of the Pod have the same source
        std::size_t reads;
        std::string want;
    };
    const Case cases[] = {
        {"as many as a patch may have", 32, 1, 32, "64"},
        {"one more", 33, 1, 0,
         "1 GPUCountUnknown: devices of a Pod cannot be counted: the container uses more than 32 different "
         "claims"},
        {"twice as many of the same", 64, 2, 32, "128"},
        {"thousands", 5000, 1, 0,
         "1 GPUCountUnknown: devices of a Pod cannot be counted: the container uses more than 32 different "
         "claims"},
    };
    for (const Case& c : cases) DYNAMIC_SECTION(c.name) {
            Json runtime = runtime_with("xgboost");
            Json& pod_spec = at(runtime, pod);
            for (int index = 0; index < c.claims; ++index) {
                Json claim = Json::object({{"name", "c-" + std::to_string(index)}});
                pod_spec["containers"].items()[0]["resources"]["claims"].push_back(claim);
                claim["resourceClaimTemplateName"] = "t-" + std::to_string(index / c.per_source);
                pod_spec["resourceClaims"].push_back(std::move(claim));
            }
            Objects observed;
            const auto needs = runtime::needs(api::parse_train_job(train_job()), runtime).objects;
            for (const runtime::Need& need : needs) {
                observed.push_back(claim_template("[{name: a, exactly: {deviceClassName: gpu, count: 2}}]"));
                observed.back()["metadata"]["name"] = need.key.name;
            }
            CHECK(needs.size() == c.reads);
            CHECK(counted(runtime, observed) == c.want);
        }
}

TEST_CASE("claims for very many classes of devices are not counted, and none of those is read", "[claims]") {
    for (const auto& [count, reads, want] : {std::tuple{64, 64, "1"},
                                             {65, 0,
                                              "1 GPUCountUnknown: devices of a Pod cannot be counted: its "
                                              "claims are for more than 64 classes of "
                                              "devices"}}) {
        CAPTURE(count);
        Json object = claim_template("[]");
        Objects observed;
        for (int index = 0; index < count; ++index) {
            const std::string name = "nic-" + std::to_string(index);
            object["spec"]["spec"]["devices"]["requests"].push_back(
                Json::object({{"name", name}, {"exactly", Json::object({{"deviceClassName", name}})}}));
            observed.push_back(device_class(name.c_str(), ""));
        }
        observed.push_back(object);
        const Json runtime = runtime_with_claim("xgboost");
        const auto needs = runtime::needs(api::parse_train_job(train_job()), runtime, {object}).objects;
        CHECK(static_cast<int>(needs.size()) == 1 + reads);
        CHECK(counted(runtime, observed) == want);
    }
}

TEST_CASE("claims are read for frameworks that count GPUs, and for no others", "[claims]") {
    for (const char* framework : {"torch", "xgboost", "mpi", "flux", "jax", "none"}) {
        CAPTURE(framework);
        std::size_t claims = 0;
        const Json runtime = runtime_with_claim(framework);
        for (const runtime::Need& need : runtime::needs(api::parse_train_job(train_job()), runtime).objects)
            if (need.resource.group == "resource.k8s.io") ++claims;
        const std::string_view name = framework;
        CHECK(claims == (name == "jax" || name == "none" ? 0 : 1));
    }
}
