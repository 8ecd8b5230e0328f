// Later attempts without the initializers that have succeeded: their work is in claims of the TrainJob.
#include "runtime/finished_jobs.hpp"
#include "fixtures.hpp"

using api::Json;

namespace {

constexpr const char* jobs_path = "spec.template.spec.replicatedJobs";
constexpr const char* claims_path = "spec.template.spec.volumeClaimPolicies";
constexpr const char* note = "trainer.kubeflow.org/finished-jobs";
const char* const first_pod = "spec.template.spec.replicatedJobs[0].template.spec.template.spec";

// Two steps, each of which writes to the claim "work", and the nodes that wait for both.
Json runtime_with_steps() {
    const auto step = [](const std::string& name) {
        return "{name: " + name +
               ", template: {metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: " + name +
               "}}, spec: {template: {spec: {volumes: [{name: keys, secret: {secretName: s}}, {name: tmp, "
               "emptyDir: {}}], "
               "containers: [{name: " +
               name +
               ", image: i, volumeMounts: [{name: work, mountPath: /work}, {name: keys, mountPath: "
               "/keys}, {name: tmp, mountPath: /tmp}]}]}}}}}";
    };
    Json runtime =
        changed(plain_runtime(), {{"spec.runPolicy.failurePolicy", "{maxRestarts: 3}"},
                                  {claims_path, "[{templates: [{metadata: {name: work}, spec: {}}]}]"}});
    Json& jobs = at(runtime, jobs_path);
    jobs.items().at(0)["dependsOn"] =
        tree("[{name: dataset-initializer, status: Complete}, {name: model-initializer, status: Complete}]");
    jobs.items().insert(jobs.items().begin(),
                        {tree(step("dataset-initializer")), tree(step("model-initializer"))});
    return runtime;
}

// With the status after an attempt whose steps have both succeeded.
Json restarted_job() {
    return changed(train_job(), {{"status.jobsStatus",
                                  "[{name: dataset-initializer, succeeded: 1}, {name: model-initializer, "
                                  "succeeded: 1}, {name: node, failed: 1}]"}});
}

Json claim() {
    return tree(
        "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: work-job, namespace: ns, "
        "creationTimestamp: "
        "'2026-01-01T00:00:00Z', ownerReferences: [{kind: TrainJob, name: job, uid: job-uid, controller: "
        "true}]}}");
}

const api::Time judged = *api::parse_time("2026-01-01T00:10:00Z");

std::string finished(const Json& job, const Json& runtime, const Json& of_work = claim(),
                     api::Time since = judged) {
    const api::TrainJob parsed = api::parse_train_job(job);
    std::string names;
    for (const std::string& name :
         runtime::finished_initializers({.job = parsed, .runtime = runtime, .observed = {of_work}}, since))
        names += name + " ";
    return names;
}

Json job_set_without(std::vector<std::string> jobs) {
    const api::TrainJob job = api::parse_train_job(restarted_job());
    const Json runtime = runtime_with_steps();
    const auto built = runtime::build(
        {.job = job, .runtime = runtime, .restarts_before = {.all = 1}, .finished_jobs = std::move(jobs)});
    if (!built) FAIL(built.error());
    return built->objects.back().object;
}

}  // namespace

TEST_CASE("initializers that have succeeded, and whose claims are there, need not run again", "[failure]") {
    CHECK(finished(restarted_job(), runtime_with_steps()) == "dataset-initializer model-initializer ");
}

TEST_CASE("an initializer runs again if it has not succeeded, or if its work may be lost", "[failure]") {
    const Json runtime = runtime_with_steps();
    const auto of_job = [&](const char* path, const char* value) {
        return finished(changed(restarted_job(), {{path, value}}), runtime);
    };
    CHECK(of_job("status.jobsStatus[0].succeeded", "0") == "model-initializer ");
    CHECK(of_job("status.jobsStatus", "[]").empty());
    CHECK(finished(restarted_job(), changed(runtime, {{"spec.template.spec.replicatedJobs[0].replicas",
                                                       "2"}})) == "model-initializer ");

    INFO("the claim");
    const auto of_claim = [&](const char* path, const char* value) {
        return finished(restarted_job(), runtime, changed(claim(), {{path, value}}));
    };
    CHECK(of_claim("metadata.name", "other").empty());
    CHECK(of_claim("metadata.ownerReferences[0].uid", "other").empty());
    CHECK(of_claim("metadata.ownerReferences", "-").empty());
    CHECK(of_claim("metadata.deletionTimestamp", "'2026-01-01T00:11:00Z'").empty());
    CHECK(finished(restarted_job(), runtime, claim(), *api::parse_time("2026-01-01T00:00:00Z")).empty());
    CHECK(finished(restarted_job(),
                   changed(runtime, {{"spec.template.spec.volumeClaimPolicies[0].retentionPolicy",
                                      "{whenDeleted: Retain}"}}))
              .empty());
}

TEST_CASE("an initializer runs again if it may have written elsewhere", "[failure]") {
    const auto with = [](const std::string& below_pod, const char* value) {
        return finished(restarted_job(), changed(runtime_with_steps(),
                                                 {{(std::string(first_pod) + below_pod).c_str(), value}}));
    };
    const std::string both = "dataset-initializer model-initializer ", second = "model-initializer ";
    CHECK(with(".volumes[0]", "{name: keys, configMap: {name: c}}") == both);
    CHECK(with(".volumes[0]", "{name: keys, hostPath: {path: /d}}") == second);
    CHECK(with(".volumes[0]", "{name: keys, nfs: {server: s, path: /d}}") == second);
    CHECK(with(".volumes[0]", "{name: keys, persistentVolumeClaim: {claimName: shared}}") == second);
    // Which it only reads.
    CHECK(with(".containers[0].volumeMounts[1].readOnly", "true") == both);
    CHECK(with(".containers[0].volumeMounts[0].readOnly", "true") == second);
    CHECK(with(".containers[0].volumeMounts", "[]") == second);
    // A volume of the Pod has the name of the claim.
    CHECK(with(".volumes[1]", "{name: work, emptyDir: {}}") == second);
}

TEST_CASE("an initializer runs again if another part of the JobSet names it", "[failure]") {
    const auto with = [](const char* path, const char* value) {
        return finished(restarted_job(), changed(runtime_with_steps(), {{path, value}}));
    };
    CHECK(with("spec.template.spec.successPolicy",
               "{operator: All, targetReplicatedJobs: [node, dataset-initializer]}") == "model-initializer ");
    CHECK(with("spec.template.spec.coordinator", "{replicatedJob: model-initializer}") ==
          "dataset-initializer ");
}

TEST_CASE("an initializer runs again with one that it waits for", "[failure]") {
    constexpr const char* waits = "spec.template.spec.replicatedJobs[1].dependsOn";
    const auto chain = [&](const Json& job, const char* first_volume) {
        return finished(job, changed(runtime_with_steps(),
                                     {{waits, "[{name: dataset-initializer, status: Complete}]"},
                                      {(std::string(first_pod) + ".volumes[0]").c_str(), first_volume}}));
    };
    CHECK(chain(restarted_job(), "{name: keys, secret: {secretName: s}}") ==
          "dataset-initializer model-initializer ");
    // The nodes wait for the first one through the second one.
    CHECK(chain(restarted_job(), "{name: keys, hostPath: {path: /d}}").empty());
}

TEST_CASE("an initializer that others need while they run is not left out", "[failure]") {
    const Json runtime = changed(runtime_with_steps(),
                                 {{"spec.template.spec.replicatedJobs[2].dependsOn[0].status", "Ready"}});
    CHECK(finished(restarted_job(), runtime) == "model-initializer ");
}

TEST_CASE("torchrun's variables are not missed in an initializer that is left out", "[failure]") {
    const api::TrainJob job = api::parse_train_job(restarted_job());
    const Json runtime = changed(
        runtime_with_steps(),
        {{"spec.mlPolicy",
          "{numNodes: 1, torch: {envInjection: {targets: [{jobName: dataset-initializer, containerNames: "
          "[dataset-initializer]}, {jobName: node, containerNames: [node]}]}}}"}});
    CHECK(runtime::build({.job = job, .runtime = runtime}));
    CHECK(runtime::build({.job = job, .runtime = runtime, .finished_jobs = {"dataset-initializer"}}));
}

TEST_CASE("nodes and other jobs always run again", "[failure]") {
    const Json job = changed(restarted_job(), {{"status.jobsStatus[2]", "{name: node, succeeded: 1}"}});
    CHECK(finished(job, runtime_with_steps()) == "dataset-initializer model-initializer ");
    CHECK(finished(job, changed(runtime_with_steps(),
                                {{"spec.template.spec.replicatedJobs[0].template.metadata", "-"}})) ==
          "model-initializer ");
}

TEST_CASE("a JobSet lacks the jobs that have finished, and nothing waits for them", "[failure]") {
    const Json job_set = job_set_without({"dataset-initializer", "model-initializer"});
    const Json& jobs = job_set["spec"]["replicatedJobs"];
    REQUIRE(jobs.items().size() == 1);
    CHECK(jobs[std::size_t(0)]["name"] == Json("node"));
    CHECK_FALSE(jobs[0].contains("dependsOn"));
    CHECK(job_set["metadata"]["annotations"][note] == Json("dataset-initializer,model-initializer"));

    const Json half = job_set_without({"model-initializer"});
    CHECK(half["spec"]["replicatedJobs"].items().size() == 2);
    CHECK(half["spec"]["replicatedJobs"][std::size_t(1)]["dependsOn"] ==
          tree("[{name: dataset-initializer, status: Complete}]"));
    CHECK_FALSE(job_set_without({})["metadata"]["annotations"].contains(note));
}

TEST_CASE("a template cannot say that jobs have finished", "[failure]") {
    const api::TrainJob job = api::parse_train_job(train_job());
    const Json runtime =
        changed(runtime_with_steps(), {{"spec.template.metadata.annotations",
                                        "{trainer.kubeflow.org/finished-jobs: dataset-initializer}"}});
    const auto built = runtime::build({.job = job, .runtime = runtime});
    REQUIRE(built);
    const Json& job_set = built->objects.back().object;
    CHECK_FALSE(job_set["metadata"]["annotations"].contains(note));
    CHECK(job_set["spec"]["replicatedJobs"].items().size() == 3);
}
