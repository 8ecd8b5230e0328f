#include "api/train_job.hpp"
#include "fixtures.hpp"
#include "runtime/applied_hash.hpp"

using api::Json;

TEST_CASE("the source of a JobSet is everything it is built from, except suspend", "[runtime]") {
    const Json job = tree("{metadata: {name: a, uid: u}, spec: {suspend: true, trainer: {numNodes: 2}}}");
    const Json runtime = tree("{metadata: {resourceVersion: '1'}, spec: {mlPolicy: {numNodes: 1}}}");
    const Json claim = tree("{kind: ResourceClaim, metadata: {name: c, resourceVersion: '1'}, spec: {a: b}}");
    const auto source = [](const Json& object, const Json& of, std::vector<Json> observed = {}) {
        const api::TrainJob parsed = api::parse_train_job(object);
        return runtime::source_of({.job = parsed, .runtime = of, .observed = std::move(observed)});
    };
    const std::string one = source(job, runtime, {claim});
    CHECK(one.size() == 16);
    CHECK(source(changed(job, {{"spec.suspend", "false"}}), runtime, {claim}) == one);
    CHECK(source(changed(job, {{"metadata.labels", "{a: b}"}}), runtime, {claim}) == one);
    CHECK(source(changed(job, {{"spec.ttlSecondsAfterFinished", "5"}}), runtime, {claim}) == one);
    CHECK(source(job, changed(runtime, {{"metadata.resourceVersion", "'2'"}}), {claim}) == one);
    CHECK(source(job, runtime, {changed(claim, {{"metadata.resourceVersion", "'2'"}})}) == one);
    const Json ours = tree(
        "{kind: Secret, metadata: {name: s, ownerReferences: [{uid: u, controller: true}]}, "
        "data: {a: b}}");
    CHECK(source(job, runtime, {claim, ours}) == one);
    CHECK(source(changed(job, {{"spec.trainer.numNodes", "3"}}), runtime, {claim}) != one);
    CHECK(source(job, changed(runtime, {{"spec.mlPolicy.numNodes", "3"}}), {claim}) != one);
    CHECK(source(job, changed(runtime, {{"spec.runPolicy.gracePeriodSeconds", "60"}}), {claim}) != one);
    CHECK(source(job, runtime, {changed(claim, {{"spec.a", "c"}})}) != one);
    CHECK(source(job, runtime) != one);
}

TEST_CASE("fields that may change in a suspended JobSet are no part of its source", "[runtime]") {
    const Json runtime = tree("{spec: {mlPolicy: {numNodes: 1}}}");
    const auto source = [&](const std::string& patches, const std::string& more = "") {
        const api::TrainJob parsed = api::parse_train_job(
            tree("{metadata: {name: a, uid: u}, spec: {runtimePatches: [" + patches + "]" + more + "}}"));
        return runtime::source_of({.job = parsed, .runtime = runtime});
    };
    const auto kueue = [](const std::string& pod, const std::string& more = "") {
        return "{manager: kueue.x-k8s.io/manager, " + more +
               "trainingRuntimeSpec: {template: {spec: {replicatedJobs: "
               "[{name: node, template: {spec: {template: " +
               pod + "}}}]}}}}";
    };
    const std::string none = source("");
    CHECK(source("{manager: kueue.x-k8s.io/manager}") == none);
    CHECK(source("{manager: kueue.x-k8s.io/manager, time: now}") == none);
    CHECK(source(kueue("{metadata: {labels: {a: b}, annotations: {c: d}}, spec: {nodeSelector: {zone: a}, "
                       "tolerations: [{key: k}], schedulingGates: [{name: g}]}}",
                       "time: now, ")) == none);
    CHECK(source("", ", labels: {a: b}, annotations: {c: d}") == none);
    const std::string claims = source(kueue("{spec: {serviceAccountName: a}}"));
    CHECK(claims != none);
    CHECK(source(kueue("{spec: {serviceAccountName: a, nodeSelector: {zone: a}}}", "time: now, ")) == claims);
    CHECK(source(kueue("{spec: {serviceAccountName: b}}")) != claims);
    // The last entry counts.
    CHECK(source("{manager: x.io/a, trainingRuntimeSpec: {a: 1}}, {manager: x.io/b, trainingRuntimeSpec: {a: "
                 "2}}") != source("{manager: x.io/b, trainingRuntimeSpec: {a: 2}}, {manager: x.io/a, "
                                  "trainingRuntimeSpec: {a: 1}}"));
}

TEST_CASE("a JobSet notes what it was built from: what is fixed, and what may change at rest", "[runtime]") {
    const auto job = [](const std::string& spec) {
        return api::parse_train_job(tree("{metadata: {name: a, uid: u}, spec: {" + spec + "}}"));
    };
    const auto pod = [](const std::string& fields) {
        return "runtimePatches: [{manager: x.io/a, trainingRuntimeSpec: {template: {spec: {replicatedJobs: "
               "[{name: node, template: {spec: {template: {spec: {" +
               fields + "}}}}}]}}}}]";
    };
    const std::string placed = runtime::inputs_note(job(pod("nodeSelector: {a: b}")), false);
    CHECK(placed.size() == 33);
    CHECK(runtime::inputs_note(job(pod("nodeSelector: {a: b}") + ", suspend: true"), false) == placed);
    CHECK(runtime::inputs_note(job(pod("nodeSelector: {a: b}")), true) == placed + "+");
    CHECK(runtime::inputs_note(job("runtimePatches: []"), false) == runtime::inputs_note(job(""), false));
    for (const std::string& other :
         {pod("nodeSelector: {a: c}"), pod("nodeSelector: {a: b}, affinity: {a: {}}"), std::string(),
          pod("nodeSelector: {a: b}") + ", labels: {a: b}",
          pod("nodeSelector: {a: b}") + ", trainer: {image: a}"})
        CHECK(runtime::inputs_note(job(other), false) != placed);

    CHECK(runtime::has_same_fixed_inputs(placed, job("")));
    CHECK(runtime::has_same_fixed_inputs(placed + "+", job("labels: {a: b}")));
    CHECK_FALSE(runtime::has_same_fixed_inputs("", job("")));
    CHECK_FALSE(runtime::has_same_fixed_inputs(placed, job("trainer: {image: a}")));
    CHECK_FALSE(runtime::has_same_fixed_inputs(placed, job(pod("affinity: {nodeAffinity: {a: b}}"))));
}
