// Violations that a correct reconciler never breaks.
#include "invariants.hpp"

#include <catch2/catch.hpp>

#include "controller/reconcile/observe.hpp"
#include "leadership.hpp"
#include "runtime/applied_hash.hpp"
#include "world.hpp"

namespace model {
namespace {

using api::Json;
using namespace std::string_view_literals;

Json parsed(const char* text) { return api::parse_json(text).value(); }

Json job_set(const char* name) {
    Json object =
        parsed(R"({"apiVersion":"jobset.x-k8s.io/v1alpha2","kind":"JobSet","metadata":{"namespace":"ns",
        "ownerReferences":[{"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob","name":"job",
        "uid":"foreign","controller":true}]},"spec":{"suspend":true,"replicatedJobs":[{"name":"node",
        "template":{"spec":{"template":{"spec":{}}}}}]}})");
    object["metadata"]["name"] = name;
    return object;
}

/// A reconciler's requests in a cluster, and the complaints of the invariants about them.
struct Trial {
    World world = World();
    Invariants invariants = Invariants(world.api, world.time);

    Trial() {
        world.api.changed = [this](const Kind& kind, const api::ObjectKey& key, const Json& before,
                                   const Json& after) { invariants.changed(kind, key, before, after, true); };
    }
    void ask(const kube::Request& request, int reconciler = 0) {
        Invariants::Meant meant;
        if (const Stored* there = world.api.find_target(request.target)) {
            const api::ObjectMeta meta = api::parse_meta(there->object);
            meant = {meta.uid, meta.resource_version, world.time.wall_seconds()};
        }
        invariants.asked(reconciler, request, true, meant);
        invariants.answered(reconciler, request, world.api.handle(request));
    }
    bool objects(std::string_view to) const {
        for (const std::string& complaint : invariants.complaints())
            if (!to.empty() && complaint.find(to) != std::string::npos) return true;
        return false;
    }
    void delete_job_set(const char* name, int reconciler = 0) {
        ask(kube::remove(kube::resources::job_sets, {"ns", name}, kube::Propagation::background,
                         kube::Unconditional()),
            reconciler);
    }
    void run_a_job_of(const char* name) {
        const Stored* owner = world.api.find("jobsets.jobset.x-k8s.io", {"ns", name});
        Json job =
            parsed(R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"pods","namespace":"ns"}})");
        job["metadata"]["ownerReferences"] = Json::array({Json::object(
            {{"uid", owner->object["metadata"]["uid"]}, {"name", name}, {"controller", true}})});
        const kube::Resource jobs = {"batch", "v1", "jobs", true};
        world.api.handle(kube::create(jobs, job));
    }
};

}  // namespace

TEST_CASE("the invariants forbid two JobSets of one TrainJob, whatever they are called") {
    Trial trial;
    trial.ask(kube::apply_new(kube::resources::job_sets, job_set("job")));
    CHECK_FALSE(trial.objects("two JobSets of one TrainJob"));
    trial.ask(kube::apply_new(kube::resources::job_sets, job_set("job-2")));
    CHECK(trial.objects("two JobSets of one TrainJob: ns/job and ns/job-2"));
}

TEST_CASE("the invariants forbid a JobSet whose predecessor has left Jobs behind") {
    for (const bool has_jobs : {false, true}) {
        CAPTURE(has_jobs);
        Trial trial;
        trial.ask(kube::apply_new(kube::resources::job_sets, job_set("job")));
        if (has_jobs) trial.run_a_job_of("job");
        trial.delete_job_set("job");
        trial.ask(kube::apply_new(kube::resources::job_sets, job_set("job")));
        CHECK(trial.objects("was created while Job ns/pods of one that had been deleted") == has_jobs);
    }
}

TEST_CASE("a reconciler may create a JobSet in spite of another one that has found the job to be over") {
    struct Row {
        int deleted_by;
        bool over;
        bool objection;
    };
    for (const Row& row : {Row{0, true, true}, Row{1, false, true}, Row{1, true, false}}) {
        CAPTURE(row.deleted_by, row.over);
        Trial trial;
        Json train_job = parsed(R"({"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob",
            "metadata":{"name":"job","namespace":"ns"},"spec":{}})");
        trial.world.api.handle(kube::create(kube::resources::train_jobs, train_job));
        Json of_it = job_set("job");
        of_it["metadata"]["ownerReferences"].items().front()["uid"] =
            trial.world.api.find("trainjobs.trainer.kubeflow.org", {"ns", "job"})->uid();
        trial.ask(kube::apply_new(kube::resources::job_sets, of_it));
        trial.run_a_job_of("job");
        trial.delete_job_set("job", row.deleted_by);
        if (row.over)
            trial.world.api.handle(kube::merge_patch_status(
                kube::resources::train_jobs, {"ns", "job"},
                parsed(
                    R"({"status":{"conditions":[{"type":"Failed","status":"True","reason":"DeadlineExceeded",
                    "message":"","lastTransitionTime":"2026-01-15T00:00:00Z"}]}})"),
                kube::Unconditional()));
        trial.ask(kube::apply_new(kube::resources::job_sets, of_it));
        CHECK(trial.objects("of one that had been deleted") == row.objection);
    }
}

TEST_CASE("the invariants forbid a JobSet that is built from a tenant's runtime") {
    const Json runtime = parsed(R"({"apiVersion":"trainer.kubeflow.org/v1alpha1",
        "kind":"ClusterTrainingRuntime","metadata":{"name":"plain"},"spec":{"mlPolicy":{"numNodes":1}}})");
    Json forged = runtime;
    forged["spec"]["mlPolicy"]["numNodes"] = 7;
    Json on_host = job_set("job");
    on_host["spec"]["replicatedJobs"] =
        parsed(R"([{"name":"node","template":{"spec":{"template":{"spec":{"hostNetwork":true}}}}}])");
    struct Row {
        const char* title;
        Json made;
        Json of;
        bool objection;
    };
    for (const Row& row : {Row{"an administrator's", job_set("job"), runtime, false},
                           Row{"a tenant's", job_set("job"), forged, true},
                           Row{"a tenant's under a false name", on_host, runtime, true}}) {
        CAPTURE(row.title);
        Trial trial;
        trial.invariants.changed(*kind_of("clustertrainingruntimes.trainer.kubeflow.org"), {"", "plain"},
                                 Json(), runtime, false);
        const runtime::BuildNote note = {.source = "s", .runtime = controller::runtime_digest(row.of)};
        trial.ask(kube::apply_new(kube::resources::job_sets, runtime::with_applied_hash(row.made, note)));
        CHECK(trial.objects("a runtime that no administrator has written") == row.objection);
    }
}

TEST_CASE("the invariants forbid the loss of the snapshot of a JobSet that its writer could have seen") {
    struct Row {
        const char* title;
        int looks, creates;  // the number of the reconciler
        bool objection;
    };
    for (const Row& row : {Row{"no write has looked", -1, 1, true}, Row{"the writer has seen it", 1, 0, true},
                           Row{"the writer has looked before", 0, 1, false}}) {
        CAPTURE(row.title);
        Trial trial;
        const api::ObjectKey key = {"ns", "job"};
        Json snapshot = parsed(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"ns",
            "name":"job-runtime-snapshot"},"data":{"runtime":"first"}})");
        snapshot["metadata"]["ownerReferences"] = job_set("job")["metadata"]["ownerReferences"];
        trial.ask(kube::create(kube::resources::config_maps, snapshot));
        if (row.looks == 0) trial.ask(kube::get(kube::resources::job_sets, key));
        trial.ask(kube::apply_new(kube::resources::job_sets, job_set("job")), row.creates);
        if (row.looks == 1) trial.ask(kube::get(kube::resources::job_sets, key));
        trial.ask(kube::remove(kube::resources::config_maps, {"ns", "job-runtime-snapshot"},
                               kube::Propagation::background, kube::Unconditional()));
        CHECK(trial.objects("the snapshot of JobSet ns/job was taken away") == row.objection);
    }
}

TEST_CASE("the invariants forbid a write that is meant for what was there before") {
    struct Row {
        const char* uid;  // the UID that its writer knew
        const char* version;
        std::string objection;
    };
    for (const Row& row :
         {Row{"another", "", "was meant for another one"}, Row{"", "", "was meant for another one"},
          Row{"known", "1", "did not know of its latest change"}, Row{"known", "known", ""}}) {
        CAPTURE(row.uid, row.version);
        Trial trial;
        trial.ask(kube::apply_new(kube::resources::job_sets, job_set("job")));
        const Stored* there = trial.world.api.find("jobsets.jobset.x-k8s.io", {"ns", "job"});
        const Invariants::Meant meant = {
            .uid = row.uid == "known"sv ? there->uid() : row.uid,
            .version = row.version == "known"sv ? there->version() : row.version};
        const kube::Request request =
            kube::merge_patch(kube::resources::job_sets, {"ns", "job"},
                              parsed(R"({"metadata":{"labels":{"a":"b"}}})"), kube::Unconditional());
        trial.invariants.asked(0, request, true, meant);
        trial.world.api.handle(request);
        CHECK(trial.objects("a write hit") == !row.objection.empty());
        CHECK(trial.objects(row.objection) == !row.objection.empty());
    }
}

TEST_CASE("the invariants forbid the loss of what pods have written") {
    for (const char* retention : {"Delete", "Retain"}) {
        CAPTURE(retention);
        Trial trial;
        const Json train_job = parsed(R"({"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob",
            "metadata":{"name":"job","namespace":"ns"},"spec":{}})");
        trial.world.api.handle(kube::create(kube::resources::train_jobs, train_job));
        Json with_claims = job_set("job");
        with_claims["metadata"]["ownerReferences"].items().front()["uid"] =
            trial.world.api.find("trainjobs.trainer.kubeflow.org", {"ns", "job"})->uid();
        with_claims["spec"]["suspend"] = false;
        with_claims["spec"]["volumeClaimPolicies"] = parsed(R"([{"retentionPolicy":{}}])");
        with_claims["spec"]["volumeClaimPolicies"].items().front()["retentionPolicy"]["whenDeleted"] =
            retention;
        trial.ask(kube::apply_new(kube::resources::job_sets, with_claims));
        trial.delete_job_set("job");
        CHECK(trial.objects("with the volume claims that its pods had written to") ==
              (std::string(retention) == "Delete"));
    }
}

TEST_CASE("the invariants forbid a stall that is over before the reconciler reads it") {
    struct Row {
        const char* title;
        const char* reason;
        bool has_jobs;
        bool objection;
    };
    for (const Row& row : {Row{"its Jobs are there", "JobsNotCreated", true, true},
                           Row{"there are no Jobs", "JobsNotCreated", false, false},
                           Row{"its Pods are there", "PodsNotCreated", true, true},
                           Row{"another cause", "WaitingForPods", true, false}}) {
        CAPTURE(row.title);
        Trial trial;
        trial.world.api.handle(kube::create(kube::resources::train_jobs, parsed(R"({
            "apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob",
            "metadata":{"name":"job","namespace":"ns"},"spec":{}})")));
        Json running = job_set("job");
        running["metadata"]["ownerReferences"].items().front()["uid"] =
            trial.world.api.find("trainjobs.trainer.kubeflow.org", {"ns", "job"})->uid();
        running["spec"]["suspend"] = false;
        trial.ask(kube::apply_new(kube::resources::job_sets, running));
        if (row.has_jobs)
            trial.world.api.handle(kube::merge_patch_status(
                kube::resources::job_sets, {"ns", "job"},
                parsed(R"({"status":{"replicatedJobsStatus":[{"name":"node","active":1}]}})"),
                kube::Unconditional()));
        trial.world.time.run_for(std::chrono::seconds(40));
        Json status = parsed(R"({"status":{"conditions":[{"type":"Stalled","status":"True","message":"",
            "lastTransitionTime":"2026-01-15T00:00:00Z"}]}})");
        status["status"]["conditions"].items().front()["reason"] = row.reason;
        trial.ask(kube::merge_patch_status(kube::resources::train_jobs, {"ns", "job"}, std::move(status),
                                           kube::Unconditional()));
        CHECK(trial.objects("reported as stalled although its JobSet had started") == row.objection);
    }
}

TEST_CASE("an observer knows which reconciler may write by which was granted the lease, and when") {
    using namespace std::chrono_literals;
    constexpr kube::SteadyTime start = VirtualTime::start;
    Leadership leadership;
    CHECK(leadership.fault_of(0, false, start) == "a replica that never had the lease reconciled");
    leadership.granted(0, start);
    CHECK(leadership.fault_of(0, true, start + 9s).empty());
    CHECK(leadership.fault_of(0, true, start + 10s) == "a write was sent after the lease had lapsed");
    CHECK(leadership.fault_of(0, false, start + 10s).empty());
    leadership.granted(1, start + 1s);
    CHECK(leadership.fault_of(0, true, start + 2s) == "a write was sent while another replica had the lease");
    CHECK(leadership.fault_of(1, true, start + 2s).empty());
    leadership.deleted();
    CHECK(leadership.fault_of(0, true, start + 2s).empty());
}

}  // namespace model
