// Which TrainJobs a JobSet or a PodGroup enqueues when it comes, changes or goes.
#include "cached.hpp"

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

TEST_CASE("what happens to the PodGroup of a TrainJob enqueues it, but not what its scheduler says of it") {
    Enqueued enqueued;
    const char* const group_text =
        R"({"metadata":{"name":"job","namespace":"ns","uid":"g1","generation":1,"ownerReferences":[
        {"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob","name":"job","uid":"u1","controller":true}]}})";
    for (auto* store : {&enqueued.coscheduling(), &enqueued.volcano()}) {
        const auto enqueues = [&](const char* version, void (*change)(Json & metadata)) {
            Json group = object(group_text);
            change(group["metadata"]);
            sink(*store).upsert({"ns", "job"}, version, group);
            return !enqueued.take().empty();
        };
        CHECK(enqueues("5", [](Json&) {}));
        CHECK_FALSE(enqueues("6", [](Json& metadata) { metadata["resourceVersion"] = "6"; }));  // its status
        CHECK(enqueues("7", [](Json& metadata) { metadata["generation"] = 2; }));
        CHECK(enqueues("8", [](Json& metadata) { metadata["uid"] = "g2"; }));
        CHECK(enqueues("9", [](Json& metadata) { metadata.erase("ownerReferences"); }));
        CHECK_FALSE(enqueues("10", [](Json& metadata) { metadata.erase("ownerReferences"); }));
        CHECK(enqueues("11", [](Json&) {}));
        CHECK(store->find({"ns", "job"})->object.bytes().empty());
        sink(*store).remove({"ns", "job"}, "12");
        CHECK(enqueued.take() == std::vector<std::string>{"ns/job"});
    }
}
