// What a cache keeps of each object.
#include "cached.hpp"

TEST_CASE("of a JobSet that no TrainJob controls only its identity is shown, and it enqueues no other") {
    Enqueued enqueued;
    Json job_set = object(R"({"metadata":{"name":"job","namespace":"ns","uid":"j1","resourceVersion":"5"}})");
    sink(enqueued.cache.job_sets()).upsert({"ns", "job"}, "5", job_set);
    CHECK(enqueued.take().empty());
    const auto shown = enqueued.cache.job_set({"ns", "job"});
    REQUIRE(shown);
    CHECK(shown->meta.uid == "j1");
    CHECK(shown->meta.resource_version == "5");
    CHECK(shown->meta.controller_uid.empty());

    job_set["metadata"]["ownerReferences"] = Json::array({object(
        R"({"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob","name":"job","uid":"u1","controller":true})")});
    sink(enqueued.cache.job_sets()).upsert({"ns", "job"}, "6", job_set);
    CHECK(enqueued.take() == std::vector<std::string>{"ns/job"});
    REQUIRE(enqueued.cache.job_set({"ns", "job"}));
    CHECK(enqueued.cache.job_set({"ns", "job"})->meta.controller_uid == "u1");
}

TEST_CASE("what is kept of a JobSet is all that decisions need, and little of the rest") {
    const Json whole = object(R"({
        "apiVersion":"jobset.x-k8s.io/v1alpha2","kind":"JobSet",
        "metadata":{"name":"job","namespace":"ns","uid":"j1","resourceVersion":"50","generation":3,
            "creationTimestamp":"2026-01-15T10:00:00Z","deletionTimestamp":"2026-01-15T11:00:00Z",
            "finalizers":["foregroundDeletion"],"annotations":{"team":"vision","trainer.kubeflow.org/restarts-before":"3,1"},"labels":{"a":"b"},
            "ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"x","uid":"n1"},
                {"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob","name":"job","uid":"u1",
                 "controller":true,"blockOwnerDeletion":true}]},
        "spec":{"suspend":true,"replicatedJobs":[{"name":"node","template":{}}]},
        "status":{"restarts":2,"restartsCountTowardsMax":1,"terminalState":"Failed",
            "conditions":[{"type":"StartupPolicyCompleted","status":"True"},
                {"type":"Failed","status":"True","reason":"FailedJobs","message":"node failed",
                 "lastTransitionTime":"2026-01-15T10:30:00Z"}],
            "replicatedJobsStatus":[{"name":"node","ready":1,"succeeded":2,"failed":3,"active":4,"suspended":5}]}})");
    Enqueued enqueued;
    sink(enqueued.cache.job_sets()).upsert({"ns", "job"}, "50", whole);
    const auto kept = enqueued.cache.job_set({"ns", "job"});
    REQUIRE(kept);
    const api::JobSet want = api::parse_job_set(whole);
    const auto reported = [](const api::ObjectMeta& meta) {
        return std::tuple(meta.name, meta.ns, meta.uid, meta.resource_version, meta.generation, meta.creation,
                          meta.deletion, meta.controller_uid, meta.finalizers);
    };
    CHECK(reported(kept->meta) == reported(want.meta));
    CHECK(kept->suspend);
    CHECK(kept->taken_over == want.taken_over);
    CHECK(kept->finished == want.finished);
    CHECK(kept->restarts_before == api::Restarts{.all = 3, .counted = 1});
    CHECK(kept->restarts == api::Restarts{.all = 5, .counted = 2});
    CHECK(kept->replicated_jobs == want.replicated_jobs);
    const auto bytes = enqueued.cache.job_sets().find({"ns", "job"})->object.bytes();
    for (const char* part : {"replicatedJobs\"", "team", "labels", "terminalState", "Node", "\"u2\""})
        CHECK(bytes.find(part) == bytes.npos);
}

TEST_CASE("of a JobSet in a queue of its own the queue and the last written suspend are kept") {
    Enqueued enqueued;
    sink(enqueued.cache.job_sets()).upsert({"ns", "job"}, "50", object(R"({
        "apiVersion":"jobset.x-k8s.io/v1alpha2","kind":"JobSet",
        "metadata":{"name":"job","namespace":"ns","uid":"j1","resourceVersion":"50",
            "annotations":{"team":"vision","trainer.kubeflow.org/written-suspend":"false",
                "trainer.kubeflow.org/attempt":"2","trainer.kubeflow.org/excluded-nodes":"gpu-1,gpu-2",
                "trainer.kubeflow.org/finished-jobs":"init"},
            "labels":{"a":"b","kueue.x-k8s.io/queue-name":"team"},
            "ownerReferences":[{"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob","name":"job",
                                "uid":"u1","controller":true}]},
        "spec":{"suspend":true}})"));
    const auto kept = enqueued.cache.job_set({"ns", "job"});
    REQUIRE(kept);
    CHECK(kept->queue == "team");
    CHECK(kept->written_suspend == false);
    CHECK(kept->is_attempt);
    CHECK(kept->excluded_nodes == std::vector<std::string>{"gpu-1", "gpu-2"});
    CHECK(kept->finished_jobs == std::vector<std::string>{"init"});
    const auto bytes = enqueued.cache.job_sets().find({"ns", "job"})->object.bytes();
    for (const char* part : {"\"a\"", "vision"}) CHECK(bytes.find(part) == bytes.npos);
}

TEST_CASE("of a JobSet that runs it is kept which of its Jobs are due") {
    Enqueued enqueued;
    sink(enqueued.cache.job_sets()).upsert({"ns", "job"}, "50", object(R"({
        "apiVersion":"jobset.x-k8s.io/v1alpha2","kind":"JobSet",
        "metadata":{"name":"job","namespace":"ns","uid":"j1","resourceVersion":"50","ownerReferences":[
            {"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob","name":"job","uid":"u1",
             "controller":true}]},
        "spec":{"failurePolicy":{"maxRestarts":7,"rules":[{"name":"a","action":"FailJobSet"}]},
            "startupPolicy":{"startupPolicyOrder":"InOrder"},"replicatedJobs":[
            {"name":"launcher","groupName":"default"},{"name":"node","dependsOn":[{"name":"launcher"}]}]},
        "status":{"replicatedJobsStatus":[{"name":"launcher"},{"name":"node"}]}})"));
    CHECK(enqueued.cache.job_set({"ns", "job"})->lacks_pods == "launcher");
    CHECK_FALSE(enqueued.cache.job_set({"ns", "job"})->all_started);
    const auto bytes = enqueued.cache.job_sets().find({"ns", "job"})->object.bytes();
    CHECK(bytes.find("groupName") == bytes.npos);
    CHECK(enqueued.cache.job_set({"ns", "job"})->max_restarts == 7);
    CHECK(bytes.find("FailJobSet") == bytes.npos);
}

TEST_CASE(
    "what is kept of a TrainJob is all that a reconcile needs, and not what others wrote into its metadata") {
    const Json whole = object(R"({
        "apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob",
        "metadata":{"name":"job","namespace":"ns","uid":"u1","resourceVersion":"7","generation":3,
            "creationTimestamp":"2026-01-15T10:00:00Z","deletionTimestamp":"2026-01-15T11:00:00Z",
            "finalizers":["foregroundDeletion"],"labels":{"a":"b"},
            "annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{as long as the rest}"}},
        "spec":{"suspend":true,"activeDeadlineSeconds":60,"runtimeRef":{"name":"torch"},
            "trainer":{"args":["x"]},"unknown":1},
        "status":{"conditions":[{"type":"Created","status":"True","reason":"r","message":"m"}],
            "jobsStatus":[{"name":"node","ready":1}],"runPolicy":{"activeDeadlineSeconds":9},"runtimeDigest":"sha256:a",
            "startTime":"2026-01-15T10:00:00Z","completionTime":"2026-01-15T11:00:00Z",
            "restarts":2,"restartsCountTowardsMax":1,"attemptStartTime":"2026-01-15T10:10:00Z",
            "nextAttemptTime":"2026-01-15T10:20:00Z","consecutiveFailures":2,"consecutiveUncounted":1,
            "failures":[{"attempt":1,"time":"2026-01-15T10:15:00Z","decision":"Restart","node":"a"}],"trainerStatus":{"progressPercentage":3}}})");
    Enqueued enqueued;
    sink(enqueued.cache.train_jobs()).upsert({"ns", "job"}, "7", whole);
    const auto kept = enqueued.cache.train_job({"ns", "job"});
    REQUIRE(kept);
    const api::TrainJob want = api::parse_train_job(whole);
    const auto reported = [](const api::TrainJob& job) {
        const api::ObjectMeta& meta = job.meta;
        return std::tuple(meta.name, meta.ns, meta.uid, meta.resource_version, meta.generation, meta.creation,
                          meta.deletion, job.runtime_ref.name, job.runtime_ref.kind, job.suspend,
                          job.active_deadline_seconds, job.managed_by);
    };
    CHECK(reported(*kept) == reported(want));
    CHECK(kept->spec == want.spec);
    CHECK(kept->conditions == want.conditions);
    CHECK(kept->jobs_status == want.jobs_status);
    CHECK(kept->run_policy == want.run_policy);
    CHECK(kept->runtime_digest == want.runtime_digest);
    CHECK(kept->start_time == want.start_time);
    CHECK(kept->completion_time == want.completion_time);
    CHECK(kept->restarts == want.restarts);
    REQUIRE(want.attempt.next);
    CHECK(kept->attempt == want.attempt);
    REQUIRE(want.failures.size() == 1);
    CHECK(kept->failures == want.failures);
    const auto bytes = enqueued.cache.train_jobs().find({"ns", "job"})->object.bytes();
    CHECK(bytes.find("last-applied") == bytes.npos);
}

TEST_CASE("of a TrainJob that has ended, or is managed by others, little is kept however large it is") {
    Json job = object(R"({
        "metadata":{"name":"job","namespace":"ns","uid":"u1","resourceVersion":"7"},
        "spec":{"suspend":true,"activeDeadlineSeconds":60,"runtimeRef":{"name":"torch","kind":"TrainingRuntime"},
            "ttlSecondsAfterFinished":30,"labels":{"a":"b"}}})");
    job["spec"]["trainer"]["args"].push_back(std::string(1'400'000, 'x'));
    SECTION("ended") {
        job["status"] = object(
            R"({"conditions":[{"type":"Complete","status":"True"}],"runPolicy":{"ttlSecondsAfterFinished":9}})");
        job["status"]["runtimeDigest"] = "sha256:" + std::string(64, 'a');
    }
    SECTION("managed by others") { job["spec"]["managedBy"] = "kueue.x-k8s.io/multikueue"; }
    Enqueued enqueued;
    sink(enqueued.cache.train_jobs()).upsert({"ns", "job"}, "7", job);
    const auto* entry = enqueued.cache.train_jobs().find({"ns", "job"});
    CHECK(entry->object.bytes().size() < 350);
    CHECK(entry->object.bytes().find("sha256") == std::string_view::npos);
    CHECK(entry->object.bytes().find("labels") == std::string_view::npos);
    const auto kept = enqueued.cache.train_job({"ns", "job"});
    const api::TrainJob want = api::parse_train_job(job);
    CHECK(kept->ttl_seconds_after_finished == 30);
    CHECK(kept->run_policy == want.run_policy);
    CHECK(kept->runtime_ref == want.runtime_ref);
    CHECK(kept->suspend);
    CHECK(kept->active_deadline_seconds == 60);
    CHECK(kept->managed_by == want.managed_by);
    CHECK(kept->conditions == want.conditions);

    CHECK_FALSE(enqueued.cache.is_abridged({"ns", "job"}));

    // Should it go on after all, the watch brings it as a whole.
    job["spec"].erase("managedBy");
    job.erase("status");
    sink(enqueued.cache.train_jobs()).upsert({"ns", "job"}, "8", job);
    CHECK(enqueued.cache.train_job({"ns", "job"})->spec == job["spec"]);
}

TEST_CASE("of a TrainJob that has ended, or is managed by others, no list takes much") {
    const bool has_ended = GENERATE(true, false);
    Json job = train_job("TrainingRuntime", "torch");
    Json& status = job["status"];
    const auto add_condition = [&](std::string_view type, std::string message) {
        status["conditions"].push_back(Json::object({{"type", type},
                                                     {"status", "True"},
                                                     {"reason", "Because"},
                                                     {"message", std::move(message)},
                                                     {"lastTransitionTime", "2026-01-15T10:30:00Z"}}));
    };
    if (has_ended) add_condition("Failed", "failed");
    if (!has_ended) job["spec"]["managedBy"] = "kueue.x-k8s.io/multikueue";
    bool is_abridged = false;
    SECTION("owners") {
        for (int i = 0; i < 4'500; ++i)
            job["metadata"]["ownerReferences"].push_back(Json::object({{"apiVersion", "v1"},
                                                                       {"kind", "ConfigMap"},
                                                                       {"name", std::string(200, 'n')},
                                                                       {"uid", std::to_string(i)}}));
    }
    SECTION("finalizers") {
        for (int i = 0; i < 4'500; ++i)
            job["metadata"]["finalizers"].push_back("a.io/" + std::string(200, 'f') + std::to_string(i));
    }
    SECTION("conditions") {
        add_condition(has_ended ? "Complete" : "Failed", std::string(32'768, 'm'));
        for (int i = 0; i < 6; ++i) add_condition("a.io/" + std::to_string(i), std::string(32'768, 'm'));
        is_abridged = true;
    }
    SECTION("counts") {
        for (int i = 0; i < 100; ++i)
            status["jobsStatus"].push_back(
                Json::object({{"name", std::string(250, 'n') + std::to_string(i)}, {"succeeded", 1}}));
        is_abridged = true;
    }
    Enqueued enqueued;
    sink(enqueued.cache.train_jobs()).upsert({"ns", "job"}, "7", job);
    const auto* entry = enqueued.cache.train_jobs().find({"ns", "job"});
    CHECK(entry->object.bytes().size() < 400);
    CHECK(enqueued.cache.is_abridged({"ns", "job"}) == is_abridged);

    const auto kept = enqueued.cache.train_job({"ns", "job"});
    const api::TrainJob want = api::parse_train_job(job);
    CHECK(kept->managed_by == want.managed_by);
    const api::Condition* ended = api::terminal_condition(*kept);
    REQUIRE((ended != nullptr) == (api::terminal_condition(want) != nullptr));
    if (ended) CHECK(ended->last_transition == api::terminal_condition(want)->last_transition);
}

TEST_CASE("of the owners and finalizers of a JobSet few are kept") {
    Json job_set = object(R"({"metadata":{"name":"job","namespace":"ns","uid":"j1"}})");
    Json& metadata = job_set["metadata"];
    for (int i = 0; i < 4'500; ++i) {
        metadata["finalizers"].push_back("a.io/f-" + std::to_string(i));
        metadata["ownerReferences"].push_back(
            Json::object({{"kind", "ConfigMap"}, {"uid", std::to_string(i)}}));
    }
    metadata["ownerReferences"].push_back(object(
        R"({"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob","uid":"u1","controller":true})"));
    Enqueued enqueued;
    sink(enqueued.cache.job_sets()).upsert({"ns", "job"}, "7", job_set);
    CHECK(enqueued.cache.job_sets().find({"ns", "job"})->object.bytes().size() < 400);
    CHECK(enqueued.cache.job_set({"ns", "job"})->meta.controller_uid == "u1");
    CHECK(enqueued.cache.job_set({"ns", "job"})->meta.finalizers.front() == "a.io/f-0");
}

TEST_CASE(
    "what a reconcile may read is as large as its TrainJob, the runtime that this names, and its JobSet") {
    Enqueued enqueued;
    const api::ObjectKey key = {"ns", "job"};
    const auto bytes = [&] { return enqueued.cache.bytes_of(key); };
    CHECK(bytes() == 0);
    sink(enqueued.cache.train_jobs()).upsert(key, "1", train_job("ClusterTrainingRuntime", "torch"), 1'000);
    CHECK(bytes() == 1'000);
    sink(enqueued.cache.training_runtimes()).upsert({"ns", "torch"}, "7", runtime_object, 70'000);
    CHECK(bytes() == 1'000);
    sink(enqueued.cache.cluster_training_runtimes()).upsert({"", "torch"}, "8", runtime_object, 50'000);
    CHECK(bytes() == 51'000);
    // Others can make a JobSet large; not all of that is kept.
    sink(enqueued.cache.job_sets()).upsert(key, "9", object(R"({"metadata":{"uid":"j1"}})"), 300'000);
    CHECK(bytes() == 351'000);
    sink(enqueued.cache.cluster_training_runtimes()).remove({"", "torch"}, "10");
    CHECK(bytes() == 301'000);
}

TEST_CASE("each TrainJob sees its runtime as it is now") {
    Enqueued enqueued;
    const auto text = [&](std::string_view kind, std::string_view name) {
        const auto runtime = enqueued.cache.runtime(api::parse_train_job(train_job(kind, name)));
        return runtime ? api::to_json((*runtime)["spec"]) : "none";
    };
    Json runtime = runtime_object;
    sink(enqueued.cache.cluster_training_runtimes()).upsert({"", "torch"}, "7", runtime);
    sink(enqueued.cache.training_runtimes())
        .upsert({"ns", "torch"}, "7", object(R"({"metadata":{"uid":"r2"},"spec":{"local":1}})"));
    CHECK(text("ClusterTrainingRuntime", "torch") == "{}");
    CHECK(text("TrainingRuntime", "torch") == R"({"local":1})");
    CHECK(text("ClusterTrainingRuntime", "torch") == "{}");
    runtime["spec"]["new"] = 1;
    sink(enqueued.cache.cluster_training_runtimes()).upsert({"", "torch"}, "8", runtime);
    CHECK(text("ClusterTrainingRuntime", "torch") == R"({"new":1})");
    sink(enqueued.cache.cluster_training_runtimes()).remove({"", "torch"}, "9");
    CHECK(text("ClusterTrainingRuntime", "torch") == "none");
}
