// `spec.networkPolicy`: a NetworkPolicy that keeps others off the Pods of the job.
#include "fixtures.hpp"

using api::Json;

namespace {

// Returns the NetworkPolicy; null if there is none.
Json policy(const Json& runtime, const std::vector<Change>& of_job = {}) {
    const api::TrainJob job = api::parse_train_job(changed(train_job(), of_job));
    auto built = runtime::build({.job = job, .runtime = runtime});
    if (!built) FAIL(built.error());
    Json found;
    for (std::size_t i = 0; i < built->objects.size(); ++i)
        if (built->objects[i].object["kind"] == "NetworkPolicy") {
            CHECK(found.is_null());
            CHECK(i + 1 < built->objects.size());
            CHECK(built->objects[i].when == runtime::ApplyPolicy::always);
            found = std::move(built->objects[i].object);
        }
    return found;
}

}  // namespace

TEST_CASE("under Isolated only Pods of the job reach its Pods, at any port, and they reach everything",
          "[network]") {
    for (const char* framework : {"torch", "jax", "xgboost", "flux"}) {
        CAPTURE(framework);
        const Json made = policy(changed(runtime_with(framework), {{"spec.networkPolicy", "Isolated"}}));
        CHECK(made["apiVersion"] == "networking.k8s.io/v1");
        CHECK(made["metadata"]["name"] == "job");
        CHECK(made["metadata"]["namespace"] == "ns");
        CHECK(made["metadata"]["ownerReferences"][0]["uid"] == "job-uid");
        CHECK(made["spec"] == tree("{podSelector: {matchLabels: {jobset.sigs.k8s.io/jobset-name: job}}, "
                                   "policyTypes: [Ingress], ingress: [{from: [{podSelector: {matchLabels: "
                                   "{jobset.sigs.k8s.io/jobset-name: job}}}]}]}"));
    }
}

TEST_CASE("the NetworkPolicy is the same for each size, and for a suspended job", "[network]") {
    const Json runtime = changed(plain_runtime(), {{"spec.networkPolicy", "Isolated"}});
    CHECK(policy(runtime, {{"spec.trainer.numNodes", "3"}}) == policy(runtime));
    CHECK(policy(runtime, {{"spec.suspend", "true"}}) == policy(runtime));
}

TEST_CASE("a runtime without a network policy has no NetworkPolicy", "[network]") {
    CHECK(policy(plain_runtime()).is_null());
    for (const char* value : {"null", "\"\"", "{}", "false"}) {
        CAPTURE(value);
        CHECK(policy(changed(plain_runtime(), {{"spec.networkPolicy", value}})).is_null());
    }
}
