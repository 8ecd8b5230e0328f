#include "runtime/source.hpp"

#include "api/train_job_reader.hpp"
#include "fixtures.hpp"

using api::Json;

TEST_CASE("a JobSet's source is all that it is built from, but for whether it runs", "[runtime]") {
    const Json job = tree("{metadata: {name: a, uid: u}, spec: {suspend: true, trainer: {numNodes: 2}}}");
    const Json runtime = tree("{metadata: {resourceVersion: '1'}, spec: {mlPolicy: {numNodes: 1}}}");
    const Json claim = tree("{kind: ResourceClaim, metadata: {name: c, resourceVersion: '1'}, spec: {a: b}}");
    const auto source = [](const Json& object, const Json& of, std::vector<Json> observed = {}) {
        const api::TrainJob parsed = api::take_train_job(object);
        return runtime::source_of({.job = parsed, .runtime = of, .observed = std::move(observed)});
    };
    const std::string one = source(job, runtime, {claim});
    CHECK(one.size() == 16);
    CHECK(source(changed(job, {{"spec.suspend", "false"}}), runtime, {claim}) == one);
    CHECK(source(changed(job, {{"metadata.labels", "{a: b}"}}), runtime, {claim}) == one);
    CHECK(source(job, changed(runtime, {{"metadata.resourceVersion", "'2'"}}), {claim}) == one);
    CHECK(source(job, runtime, {changed(claim, {{"metadata.resourceVersion", "'2'"}})}) == one);
    const Json ours = tree(
        "{kind: Secret, metadata: {name: s, ownerReferences: [{uid: u, controller: true}]}, "
        "data: {a: b}}");
    CHECK(source(job, runtime, {claim, ours}) == one);
    CHECK(source(changed(job, {{"spec.trainer.numNodes", "3"}}), runtime, {claim}) != one);
    CHECK(source(job, changed(runtime, {{"spec.mlPolicy.numNodes", "3"}}), {claim}) != one);
    CHECK(source(job, runtime, {changed(claim, {{"spec.a", "c"}})}) != one);
    CHECK(source(job, runtime) != one);
}
