#include "fixtures.hpp"
#include "runtime/validation.hpp"

using api::Json;

namespace {

Json queued(const std::vector<Change>& changes) {
    return changed(changed(train_job(), {{"metadata.labels.\"kueue.x-k8s.io/queue-name\"", "team"}}),
                   changes);
}

}  // namespace

TEST_CASE("queued jobs that use a changed or deleted runtime are counted", "[admission]") {
    const Json before = plain_runtime();
    const Json edited = changed(before, {{"spec.mlPolicy.numNodes", "2"}});
    const Json other_ttl = changed(
        before, {{"spec.ttlSecondsAfterFinished", "2"}, {"spec.runPolicy", "{activeDeadlineSeconds: 1}"}});
    CHECK(runtime::lookups_for_runtime(edited, before) == runtime::RequiredInputs{.queued_jobs = true});
    CHECK(runtime::lookups_for_runtime(Json(), before) == runtime::RequiredInputs{.queued_jobs = true});
    CHECK(runtime::lookups_for_runtime(other_ttl, before) == runtime::RequiredInputs());
    CHECK(runtime::lookups_for_runtime(before, Json()) == runtime::RequiredInputs());

    const Json ended = *api::parse_json(R"({"conditions": [{"type": "Complete", "status": "True"}]})");
    Json done = queued({});
    done["status"] = ended;
    const Json page = Json::object(
        {{"items", Json::array({queued({}), train_job(), done, queued({{"spec.runtimeRef.name", "other"}}),
                                queued({{"spec.runtimeRef.kind", "TrainingRuntime"}})})}});
    runtime::QueuedJobs jobs;
    runtime::count_queued_jobs(page, "ClusterTrainingRuntime", "runtime", jobs);
    CHECK(jobs == runtime::QueuedJobs{.count = 1});

    CHECK(runtime::warning_of_queued_jobs(edited, {}).empty());
    CHECK(runtime::warning_of_queued_jobs(edited, jobs) ==
          "1 queued TrainJob uses it: Kueue counts by what it is now; those that were built run as before");
    CHECK(runtime::warning_of_queued_jobs(edited, {.count = 900, .more = true}) ==
          "900 or more queued TrainJobs use it: Kueue counts by what it is now; those that were built run as "
          "before");
    CHECK(runtime::warning_of_queued_jobs(Json(), {.count = 3}) ==
          "3 queued TrainJobs use it: Kueue cannot count their Pods any more; delete those first");
}
