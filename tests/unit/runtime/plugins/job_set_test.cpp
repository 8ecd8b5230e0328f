// The JobSet of a TrainJob.
#include "fixtures.hpp"

using api::Json;

TEST_CASE("a JobSet belongs to its TrainJob and has its name", "[runtime]") {
    const Json job_set = build_job_set(train_job(), plain_runtime()).value();
    CHECK(job_set["apiVersion"] == "jobset.x-k8s.io/v1alpha2");
    CHECK(job_set["kind"] == "JobSet");
    CHECK(job_set["metadata"] == tree(R"({name: job, namespace: ns, ownerReferences: [{
        apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, name: job, uid: job-uid, controller: true,
        blockOwnerDeletion: true}]})"));
    CHECK(job_set["spec"]["suspend"] == false);
}

TEST_CASE("the JobSet is suspended if the TrainJob is", "[runtime]") {
    const auto suspend = [](const Json& job, const Json& runtime) {
        const Json job_set = build_job_set(job, runtime).value();
        return job_set["spec"]["suspend"];
    };
    CHECK(suspend(train_job(), changed(plain_runtime(), {{"spec.template.spec.suspend", "true"}})) == false);
    CHECK(suspend(changed(train_job(), {{"spec.suspend", "true"}}), plain_runtime()) == true);
}

TEST_CASE("labels and annotations come from the runtime and its patches, never from the TrainJob",
          "[runtime]") {
    const Json runtime = changed(
        plain_runtime(),
        {{"metadata.labels", "{runtime: no}"},
         {"spec.template.metadata",
          "{labels: {a: \"1\", b: \"1\"}, annotations: {c: \"1\"}, finalizers: [f]}"},
         {"spec.template.spec.replicatedJobs[0].template.metadata.annotations", "{d: \"1\"}"},
         {"spec.template.spec.replicatedJobs[0].template.spec.template.metadata", "{labels: {e: \"1\"}}"}});
    const Json job = changed(train_job(), {{"metadata.labels", "{kueue.x-k8s.io/queue-name: q}"},
                                           {"metadata.annotations", "{mine: x}"},
                                           {"spec.runtimePatches", R"([
        {manager: a.io/x, trainingRuntimeSpec: {template: {metadata: {name: n, labels: {b: "2", g: "2"}},
          spec: {replicatedJobs: [{name: node, template: {metadata: {finalizers: [f], labels: {h: "2"}},
            spec: {template: {metadata: {namespace: x, annotations: {i: "2"}}}}}}]}}}},
        {manager: a.io/y, trainingRuntimeSpec: {template: {metadata: {labels: {g: "3"}, annotations: {j: "3"}}}}}])"}});
    const Json job_set = build_job_set(job, runtime).value();
    CHECK(job_set["metadata"]["labels"] == tree("{a: \"1\", b: \"2\", g: \"3\"}"));
    CHECK(job_set["metadata"]["annotations"] == tree("{c: \"1\", j: \"3\"}"));
    CHECK(job_set["metadata"]["finalizers"].is_null());
    const Json& replicated = job_set["spec"]["replicatedJobs"][0]["template"];
    CHECK(replicated["metadata"] ==
          tree("{labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer, h: \"2\"}, "
               "annotations: {d: \"1\"}}"));
    CHECK(replicated["spec"]["template"]["metadata"] ==
          tree("{labels: {e: \"1\"}, annotations: {i: \"2\"}}"));
}

TEST_CASE("unknown fields pass through; null and empty structs are not sent", "[runtime]") {
    const Json runtime =
        changed(plain_runtime(), {{"spec.template.spec.fromTheFuture", "{a: [1, {b: c}]}"},
                                  {"spec.template.spec.replicatedJobs[0].template.spec.template",
                                   "{metadata: {creationTimestamp: null}, spec: {hostNetwork: null, "
                                   "containers: [{name: node, image: i, resources: {}, x: {}}]}}"}});
    const Json job_set = build_job_set(train_job(), runtime).value();
    CHECK(job_set["spec"]["fromTheFuture"] == tree("{a: [1, {b: c}]}"));
    CHECK(job_set["spec"]["replicatedJobs"][0]["template"]["spec"]["template"] ==
          tree("{spec: {containers: [{name: node, image: i, x: {}}]}}"));
}

TEST_CASE("a template without a Pod is sent unchanged", "[runtime]") {
    for (const char* framework : {"torch", "jax", "xgboost", "mpi"})
        for (const char* pod :
             {"{}", "{spec: {template: {}}}", "{spec: {template: {metadata: {labels: {a: b}}}}}"}) {
            DYNAMIC_SECTION(framework << " with " << pod) {
                Json runtime = runtime_with(framework);
                Json& job = at(runtime, "spec.template.spec.replicatedJobs[0]");
                job["name"] = "trainer";
                job["template"] = tree(pod);
                job["template"]["metadata"] =
                    tree("{labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}");
                const Json job_set = build_job_set(train_job(), runtime).value();
                CHECK(to_json(job_set).find("null") == std::string::npos);
            }
        }
}
