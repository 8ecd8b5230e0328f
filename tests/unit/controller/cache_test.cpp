#include "controller/cache/cache.hpp"

#include <catch2/catch.hpp>
#include <ctime>
#include <set>

#include "support/printers.hpp"

using api::Json;
using namespace std::chrono_literals;

namespace {

Json object(std::string_view text) { return api::parse_json(text).value(); }

Json train_job(std::string_view kind, std::string_view runtime) {
    Json job = object(R"({"metadata":{"name":"job","namespace":"ns","uid":"u1","resourceVersion":"5"},
                          "spec":{"runtimeRef":{}}})");
    job["spec"]["runtimeRef"]["kind"] = kind;
    job["spec"]["runtimeRef"]["name"] = runtime;
    return job;
}

const Json runtime_object =
    object(R"({"metadata":{"name":"torch","uid":"r1","resourceVersion":"7"},"spec":{}})");

// What brings what is in that namespace.
template <class Facts>
kube::Sink& sink(kube::Store<Facts>& store, std::string_view ns = "ns") {
    for (const kube::Partition& partition : store.partitions())
        if (kube::covers(partition.ns, ns)) return partition.sink;
    throw std::logic_error("no partition for " + std::string(ns));
}

struct Enqueued {
    std::vector<std::string> keys = {};
    kube::Namespaces namespaces = {};
    controller::Cache cache{
        [this](const api::ObjectKey& key, const controller::Change&) { keys.push_back(to_string(key)); },
        namespaces};

    /// The PodGroups of the two ways of gang scheduling.
    auto& coscheduling() { return *cache.owned_kinds().at(0).objects; }
    auto& volcano() { return *cache.owned_kinds().at(1).objects; }
    std::vector<std::string> take() { return std::exchange(keys, {}); }
    /// As if each runtime that changed had its turn at once.
    std::vector<std::string> take_users() {
        for (kube::SteadyTime now{}; const auto next = cache.enqueue_users(now);) now = std::max(now, *next);
        return take();
    }
};

// What runtimes were there before is of no interest then.
void list_runtimes(Enqueued& enqueued) {
    for (auto* store : {&enqueued.cache.training_runtimes(), &enqueued.cache.cluster_training_runtimes()})
        for (const kube::Partition& partition : store->partitions()) {
            partition.sink.begin_replace();
            partition.sink.end_replace("1");
        }
}

}  // namespace

TEST_CASE("a change of a runtime enqueues the TrainJobs that use it, and no others") {
    Enqueued enqueued;
    list_runtimes(enqueued);
    sink(enqueued.cache.train_jobs())
        .upsert({"ns", "uses"}, "1", train_job("ClusterTrainingRuntime", "torch"));
    sink(enqueued.cache.train_jobs())
        .upsert({"ns", "other"}, "2", train_job("ClusterTrainingRuntime", "jax"));
    sink(enqueued.cache.train_jobs()).upsert({"ns", "local"}, "3", train_job("TrainingRuntime", "torch"));
    CHECK(enqueued.take() == std::vector<std::string>{"ns/uses", "ns/other", "ns/local"});

    sink(enqueued.cache.cluster_training_runtimes()).upsert({"", "torch"}, "7", runtime_object);
    CHECK(enqueued.take().empty());
    CHECK(enqueued.take_users() == std::vector<std::string>{"ns/uses"});
    sink(enqueued.cache.training_runtimes()).upsert({"ns", "torch"}, "8", runtime_object);
    CHECK(enqueued.take_users() == std::vector<std::string>{"ns/local"});
    sink(enqueued.cache.training_runtimes()).upsert({"elsewhere", "torch"}, "9", runtime_object);
    CHECK(enqueued.take_users().empty());
}

TEST_CASE("runtimes of the first list enqueue nothing, since nothing was built before") {
    Enqueued enqueued;
    sink(enqueued.cache.train_jobs())
        .upsert({"ns", "job"}, "1", train_job("ClusterTrainingRuntime", "torch"));
    enqueued.take();
    auto& runtimes = sink(enqueued.cache.cluster_training_runtimes());
    runtimes.begin_replace();
    runtimes.upsert({"", "torch"}, "7", runtime_object);
    runtimes.end_replace("7");
    CHECK(enqueued.take_users().empty());
    runtimes.begin_replace();
    runtimes.end_replace("8");
    CHECK(enqueued.take_users() == std::vector<std::string>{"ns/job"});
}

TEST_CASE("a changed runtime enqueues some of ten thousand users at a time, and each of them once") {
    Enqueued enqueued;
    list_runtimes(enqueued);
    int calls = 0;
    enqueued.cache.on_runtime([&] { ++calls; });
    for (int i = 0; i < 10'000; ++i)
        sink(enqueued.cache.train_jobs())
            .upsert({"ns", "job-" + std::to_string(i)}, "1", train_job("TrainingRuntime", "torch"));
    enqueued.take();
    Json runtime = runtime_object;
    for (int i = 0; i < 64; ++i) {
        runtime["spec"]["ttlSecondsAfterFinished"] = i;
        sink(enqueued.cache.training_runtimes()).upsert({"ns", "torch"}, std::to_string(i + 7), runtime);
    }
    CHECK(calls == 64);
    CHECK(enqueued.take().empty());
    std::size_t turns = 0;
    std::set<std::string> all;
    kube::SteadyTime now{};
    for (bool more = true; more; ++turns) {
        const auto next = enqueued.cache.enqueue_users(now);
        const auto some = enqueued.take();
        CHECK(some.size() <= controller::Cache::users_in_a_row);
        for (const std::string& key : some) CHECK(all.insert(key).second);
        if (next) now = std::max(now, *next);
        more = next.has_value();
    }
    CHECK(turns == 40);
    CHECK(all.size() == 10'000);
    CHECK(now > kube::SteadyTime(8s));
    // One that is deleted in between does not end it.
    runtime["spec"]["ttlSecondsAfterFinished"] = 100;
    sink(enqueued.cache.training_runtimes()).upsert({"ns", "torch"}, "100", runtime);
    now += 1h;
    enqueued.cache.enqueue_users(now);
    for (const std::string& key : enqueued.take())
        sink(enqueued.cache.train_jobs()).remove({"ns", key.substr(3)}, "101");
    enqueued.take();
    CHECK(enqueued.take_users().size() == 10'000 - controller::Cache::users_in_a_row);
}

TEST_CASE("a runtime of which only what no reconcile reads has changed enqueues nothing") {
    Enqueued enqueued;
    list_runtimes(enqueued);
    sink(enqueued.cache.train_jobs())
        .upsert({"ns", "uses"}, "1", train_job("ClusterTrainingRuntime", "torch"));
    Json runtime = runtime_object;
    auto& runtimes = sink(enqueued.cache.cluster_training_runtimes());
    runtimes.upsert({"", "torch"}, "7", runtime);
    enqueued.take_users();
    runtime["metadata"]["labels"]["a"] = "b";
    runtime["status"]["a"] = 1;
    runtimes.upsert({"", "torch"}, "8", runtime);
    CHECK(enqueued.take_users().empty());
    runtime["spec"]["ttlSecondsAfterFinished"] = 60;
    runtimes.upsert({"", "torch"}, "9", runtime);
    CHECK(enqueued.take_users() == std::vector<std::string>{"ns/uses"});
    runtime["metadata"]["uid"] = "another";
    runtimes.upsert({"", "torch"}, "10", runtime);
    CHECK(enqueued.take_users() == std::vector<std::string>{"ns/uses"});
    runtimes.remove({"", "torch"}, "11");
    CHECK(enqueued.take_users() == std::vector<std::string>{"ns/uses"});
}

TEST_CASE("a TrainJob that names another runtime, or is gone, is enqueued by the former one no more") {
    Enqueued enqueued;
    list_runtimes(enqueued);
    auto& jobs = sink(enqueued.cache.train_jobs());
    auto& runtimes = sink(enqueued.cache.cluster_training_runtimes());
    for (const char* name : {"a", "b", "c"})
        jobs.upsert({"ns", name}, "1", train_job("ClusterTrainingRuntime", "torch"));
    jobs.upsert({"ns", "b"}, "2", train_job("ClusterTrainingRuntime", "jax"));
    jobs.upsert({"ns", "c"}, "3", train_job("ClusterTrainingRuntime", "torch"));
    jobs.remove({"ns", "a"}, "4");
    enqueued.take();
    runtimes.upsert({"", "torch"}, "7", runtime_object);
    CHECK(enqueued.take_users() == std::vector<std::string>{"ns/c"});
    runtimes.upsert({"", "jax"}, "8", runtime_object);
    CHECK(enqueued.take_users() == std::vector<std::string>{"ns/b"});
}

TEST_CASE("what an event of a runtime takes does not grow with the TrainJobs of others") {
    const auto seconds_with = [](int jobs) {
        Enqueued enqueued;
        for (int i = 0; i < jobs; ++i) {
            const std::string number = std::to_string(i);
            sink(enqueued.cache.train_jobs())
                .upsert({"ns", "job-" + number}, "1", train_job("TrainingRuntime", "of-" + number));
        }
        const std::clock_t began = std::clock();
        for (int i = 0; i < 3'000; ++i)
            sink(enqueued.cache.training_runtimes())
                .upsert({"elsewhere", "r-" + std::to_string(i)}, "7", runtime_object);
        return static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC;
    };
    const double few = seconds_with(10);
    CHECK(seconds_with(6'000) < 2 * few + 0.05);
}

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
            "annotations":{"team":"vision","trainer.kubeflow.org/written-suspend":"false"},
            "labels":{"a":"b","kueue.x-k8s.io/queue-name":"team"},
            "ownerReferences":[{"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob","name":"job",
                                "uid":"u1","controller":true}]},
        "spec":{"suspend":true}})"));
    const auto kept = enqueued.cache.job_set({"ns", "job"});
    REQUIRE(kept);
    CHECK(kept->queue == "team");
    CHECK(kept->written_suspend == false);
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
            "jobsStatus":[{"name":"node","ready":1}],"runPolicy":{"activeDeadlineSeconds":9},
            "startTime":"2026-01-15T10:00:00Z","completionTime":"2026-01-15T11:00:00Z","trainerStatus":{"progressPercentage":3}}})");
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
    CHECK(kept->start_time == want.start_time);
    CHECK(kept->completion_time == want.completion_time);
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
    }
    SECTION("managed by others") { job["spec"]["managedBy"] = "kueue.x-k8s.io/multikueue"; }
    Enqueued enqueued;
    sink(enqueued.cache.train_jobs()).upsert({"ns", "job"}, "7", job);
    const auto* entry = enqueued.cache.train_jobs().find({"ns", "job"});
    CHECK(entry->object.bytes().size() < 350);
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

TEST_CASE("a JobSet of another owner enqueues the TrainJob of its name when it comes and when it goes") {
    Enqueued enqueued;
    sink(enqueued.cache.train_jobs())
        .upsert({"ns", "job"}, "1", train_job("ClusterTrainingRuntime", "torch"));
    enqueued.take();
    Json job_set = object(R"({"metadata":{"name":"job","namespace":"ns","uid":"j1","resourceVersion":"5"}})");
    sink(enqueued.cache.job_sets()).upsert({"ns", "job"}, "5", job_set);
    CHECK(enqueued.take() == std::vector<std::string>{"ns/job"});
    CHECK(enqueued.cache.job_set({"ns", "job"})->meta.controller_uid.empty());
    CHECK(enqueued.cache.job_sets().find({"ns", "job"})->object.bytes().empty());
    CHECK(!enqueued.cache.job_sets().find({"ns", "job"})->index.of_train_job);

    // What becomes of it meanwhile is of no interest.
    sink(enqueued.cache.job_sets()).upsert({"ns", "job"}, "6", job_set);
    CHECK(enqueued.take().empty());
    sink(enqueued.cache.job_sets()).remove({"ns", "job"}, "7");
    CHECK(enqueued.take() == std::vector<std::string>{"ns/job"});
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

TEST_CASE("a JobSet that loses its owner enqueues the TrainJob, which takes it for gone") {
    Enqueued enqueued;
    sink(enqueued.cache.train_jobs())
        .upsert({"ns", "job"}, "1", train_job("ClusterTrainingRuntime", "torch"));
    Json job_set = object(R"({"metadata":{"name":"job","namespace":"ns","uid":"j1","ownerReferences":[
        {"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob","uid":"u1","controller":true}]}})");
    sink(enqueued.cache.job_sets()).upsert({"ns", "job"}, "5", job_set);
    REQUIRE(enqueued.cache.job_set({"ns", "job"}));
    enqueued.take();
    job_set["metadata"].erase("ownerReferences");
    sink(enqueued.cache.job_sets()).upsert({"ns", "job"}, "6", job_set);
    CHECK(enqueued.take() == std::vector<std::string>{"ns/job"});
    CHECK(enqueued.cache.job_set({"ns", "job"})->meta.controller_uid.empty());
}

TEST_CASE("a list of JobSets enqueues the unfinished TrainJobs whose own is not in it") {
    Enqueued enqueued;
    const auto submit = [&](const char* name, const char* status) {
        Json job = train_job("ClusterTrainingRuntime", "torch");
        job["metadata"]["name"] = name;
        job["status"] = object(status);
        sink(enqueued.cache.train_jobs()).upsert({"ns", name}, "1", job);
    };
    const char* const created = R"({"conditions":[{"type":"Created","status":"True"}]})";
    submit("gone", created);
    submit("there", created);
    submit("refused", R"({"conditions":[{"type":"Created","status":"False"}]})");
    submit("ended",
           R"({"conditions":[{"type":"Created","status":"True"},{"type":"Failed","status":"True"}]})");
    enqueued.take();
    const auto list = [&](const char* version) {
        sink(enqueued.cache.job_sets()).begin_replace();
        sink(enqueued.cache.job_sets())
            .upsert({"ns", "there"}, "3",
                    object(R"({"metadata":{"name":"there","namespace":"ns","uid":"j1","ownerReferences":[
            {"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob","uid":"u2","controller":true}]}})"));
        sink(enqueued.cache.job_sets()).end_replace(version);
    };
    list("4");
    CHECK(enqueued.take() == std::vector<std::string>{"ns/there", "ns/gone"});
    list("9");
    CHECK(enqueued.take() == std::vector<std::string>{"ns/gone"});
}

TEST_CASE("a list of PodGroups enqueues the suspended TrainJobs that have none in it") {
    Enqueued enqueued;
    const auto submit = [&](const char* name, bool suspend, const char* condition) {
        Json job = train_job("ClusterTrainingRuntime", "torch");
        job["metadata"]["name"] = name;
        job["spec"]["suspend"] = suspend;
        job["status"]["conditions"] = Json::array({Json::object({{"type", condition}, {"status", "True"}})});
        sink(enqueued.cache.train_jobs()).upsert({"ns", name}, "1", job);
    };
    submit("robbed", true, "Suspended");
    submit("complete", true, "Suspended");
    submit("running", false, "Created");
    submit("ended", true, "Failed");
    enqueued.take();
    for (auto* groups : {&enqueued.coscheduling(), &enqueued.volcano()}) {
        sink(*groups).begin_replace();
        sink(*groups).upsert(
            {"ns", "complete"}, "3",
            object(R"({"metadata":{"name":"complete","namespace":"ns","uid":"p1","ownerReferences":[
            {"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob","uid":"u1","controller":true}]}})"));
        CHECK(enqueued.take() == std::vector<std::string>{"ns/complete"});
        sink(*groups).end_replace("4");
        CHECK(enqueued.take() == std::vector<std::string>{"ns/robbed"});
    }
}

TEST_CASE("a list of PodGroups enqueues no suspended TrainJob whose runtime wants none of that kind") {
    Enqueued enqueued;
    const std::pair<const char*, const char*> policies[] = {
        {"coscheduled", R"({"coscheduling":{}})"}, {"volcanic", R"({"volcano":{}})"}, {"plain", "null"}};
    for (const auto& [name, policy] : policies) {
        Json made =
            object(R"({"metadata":{"uid":"r1"},"spec":{"podGroupPolicy":)" + std::string(policy) + "}}");
        made["metadata"]["name"] = name;
        sink(enqueued.cache.cluster_training_runtimes()).upsert({"", name}, "1", made);
        Json job = train_job("ClusterTrainingRuntime", name);
        job["metadata"]["name"] = name;
        job["spec"]["suspend"] = true;
        sink(enqueued.cache.train_jobs()).upsert({"ns", name}, "1", job);
    }
    enqueued.take();
    sink(enqueued.coscheduling()).begin_replace();
    sink(enqueued.coscheduling()).end_replace("4");
    CHECK(enqueued.take() == std::vector<std::string>{"ns/coscheduled"});
    sink(enqueued.volcano()).begin_replace();
    sink(enqueued.volcano()).end_replace("5");
    CHECK(enqueued.take() == std::vector<std::string>{"ns/volcanic"});
}

TEST_CASE("nothing is concluded from an absence before every list is complete") {
    Enqueued enqueued;
    CHECK(!enqueued.cache.synced("ns"));
    for (kube::Sink* part : std::initializer_list<kube::Sink*>{&sink(enqueued.cache.train_jobs()),
                                                               &sink(enqueued.cache.job_sets()),
                                                               &sink(enqueued.cache.training_runtimes())}) {
        part->begin_replace();
        part->end_replace("1");
        CHECK(!enqueued.cache.synced("ns"));
        CHECK(!enqueued.cache.synced_somewhere());
    }
    sink(enqueued.cache.cluster_training_runtimes()).begin_replace();
    sink(enqueued.cache.cluster_training_runtimes()).end_replace("1");
    CHECK(enqueued.cache.synced("ns"));
    CHECK(enqueued.cache.synced_somewhere());
}

TEST_CASE("caches of some namespaces know of each by itself") {
    Enqueued enqueued{.namespaces = kube::Namespaces({"a", "b"})};
    controller::Cache& cache = enqueued.cache;
    const auto list = [](kube::Sink& of) {
        of.begin_replace();
        of.end_replace("1");
    };
    SECTION("what may be concluded in one does not wait for another") {
        list(sink(cache.cluster_training_runtimes()));
        list(sink(cache.train_jobs(), "a"));
        list(sink(cache.job_sets(), "a"));
        list(sink(cache.training_runtimes(), "b"));
        CHECK(!cache.synced_somewhere());
        list(sink(cache.training_runtimes(), "a"));
        CHECK(cache.synced_somewhere());
        CHECK(cache.synced("a"));
        CHECK(!cache.synced("b"));
        CHECK(!cache.synced("c"));
    }
    SECTION("a list enqueues those of its namespace") {
        Json job = train_job("ClusterTrainingRuntime", "torch");
        job["spec"]["suspend"] = true;
        job["status"] = object(R"({"conditions":[{"type":"Created","status":"True"}]})");
        for (const char* ns : {"a", "b"}) sink(cache.train_jobs(), ns).upsert({ns, "job"}, "1", job);
        enqueued.take();
        list(sink(cache.job_sets(), "b"));
        CHECK(enqueued.take() == std::vector<std::string>{"b/job"});
        list(sink(enqueued.coscheduling(), "a"));
        CHECK(enqueued.take() == std::vector<std::string>{"a/job"});
        list(sink(enqueued.volcano(), "b"));
        CHECK(enqueued.take() == std::vector<std::string>{"b/job"});
    }
    SECTION("a cluster's runtime enqueues those of all") {
        const Json job = train_job("ClusterTrainingRuntime", "torch");
        for (const char* ns : {"a", "b"}) sink(cache.train_jobs(), ns).upsert({ns, "job"}, "1", job);
        enqueued.take();
        list_runtimes(enqueued);
        sink(cache.cluster_training_runtimes()).upsert({"", "torch"}, "7", runtime_object);
        CHECK(enqueued.take_users() == std::vector<std::string>{"a/job", "b/job"});
    }
}

TEST_CASE("TrainJobs are counted by their state as they come, change and go") {
    using lifecycle::State;
    Enqueued enqueued;
    const auto counts = [&] {
        std::vector<std::size_t> all;
        for (std::size_t state = 0; state < lifecycle::state_count; ++state)
            all.push_back(enqueued.cache.count(static_cast<State>(state)));
        return all;
    };
    Json job = train_job("ClusterTrainingRuntime", "torch");
    sink(enqueued.cache.train_jobs()).upsert({"ns", "a"}, "1", job);
    sink(enqueued.cache.train_jobs()).upsert({"ns", "b"}, "2", job);
    CHECK(counts() == std::vector<std::size_t>{2, 0, 0, 0, 0, 0, 0});

    job["status"]["conditions"] = Json::array({object(R"({"type":"Complete","status":"True"})")});
    sink(enqueued.cache.train_jobs()).upsert({"ns", "a"}, "3", job);
    CHECK(counts() == std::vector<std::size_t>{1, 0, 0, 0, 1, 0, 0});

    job["spec"]["managedBy"] = "kueue.x-k8s.io/multikueue";
    sink(enqueued.cache.train_jobs()).upsert({"ns", "c"}, "4", job);
    std::vector<std::string> gone;
    enqueued.cache.on_delete([&](const api::ObjectKey& key, std::string_view uid) {
        gone.push_back(to_string(key) + " " + std::string(uid));
    });
    sink(enqueued.cache.train_jobs()).remove({"ns", "b"}, "5");
    CHECK(gone == std::vector<std::string>{"ns/b u1"});
    job["metadata"]["uid"] = "u2";
    sink(enqueued.cache.train_jobs()).upsert({"ns", "a"}, "6", job);
    CHECK(gone.back() == "ns/a u1");
    gone.clear();
    job["metadata"]["uid"] = "u1";
    sink(enqueued.cache.train_jobs()).upsert({"ns", "a"}, "7", job);
    CHECK(gone == std::vector<std::string>{"ns/a u2"});
    CHECK(counts() == std::vector<std::size_t>{0, 0, 0, 0, 0, 0, 2});

    sink(enqueued.cache.train_jobs()).begin_replace();
    sink(enqueued.cache.train_jobs()).end_replace("9");
    CHECK(counts() == std::vector<std::size_t>(lifecycle::state_count));
}
