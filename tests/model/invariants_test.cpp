// Violations that a correct reconciler never breaks.
#include "invariants.hpp"

#include <catch2/catch.hpp>
#include <functional>

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
    bool by_reconciler = true;

    Trial() {
        world.api.changed = [this](const Kind& kind, const api::ObjectKey& key, const Json& before,
                                   const Json& after) {
            invariants.changed(kind, key, before, after, by_reconciler);
        };
    }
    void ask(const kube::Request& request, int reconciler = 0) {
        Invariants::Meant meant = {.looked = world.time.wall_seconds()};
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

/// The same, of a TrainJob with a failure policy.
struct Attempts : Trial {
    explicit Attempts(int max_restarts = 3) {
        world.api.handle(kube::create(kube::resources::train_jobs, parsed(R"({
            "apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob",
            "metadata":{"name":"job","namespace":"ns","finalizers":["example.com/hold"]},"spec":{}})")));
        Json snapshot = parsed(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"ns",
            "name":"job-runtime-snapshot"}})");
        snapshot["data"]["runtime"] = R"({"spec":{"runPolicy":{"failurePolicy":{"maxRestarts":)" +
                                      std::to_string(max_restarts) + "}}}}";
        world.api.handle(kube::create(kube::resources::config_maps, snapshot));
    }
    const Stored& job() const { return *world.api.find("trainjobs.trainer.kubeflow.org", {"ns", "job"}); }
    Json attempt(int number) const {
        Json object = job_set("job");
        object["metadata"]["ownerReferences"].items().front()["uid"] = job().uid();
        object["metadata"]["annotations"]["trainer.kubeflow.org/attempt"] = std::to_string(number);
        if (number > 0)
            object["metadata"]["annotations"]["trainer.kubeflow.org/restarts-before"] =
                std::to_string(number) + "," + std::to_string(number);
        object["spec"]["suspend"] = false;
        object["spec"]["failurePolicy"]["maxRestarts"] = 0;
        return object;
    }
    void make(const Json& object) { ask(kube::apply_new(kube::resources::job_sets, object)); }
    void fail() {
        world.api.handle(kube::merge_patch_status(
            kube::resources::job_sets, {"ns", "job"},
            parsed(R"({"status":{"conditions":[{"type":"Failed","status":"True","reason":"ReachedMaxRestarts",
                "message":"","lastTransitionTime":"2026-01-15T00:00:00Z"}]}})"),
            kube::Unconditional()));
    }
    void write_status(const std::string& status) {
        ask(kube::merge_patch_status(kube::resources::train_jobs, {"ns", "job"},
                                     parsed((R"({"status":)" + status + "}").c_str()),
                                     kube::Unconditional()));
    }
    void change_job(const char* patch) {
        world.api.handle(kube::merge_patch(kube::resources::train_jobs, {"ns", "job"}, parsed(patch),
                                           kube::Unconditional()));
        world.time.run_for(std::chrono::seconds(2));
    }
    void delete_job() {
        world.api.handle(kube::remove(kube::resources::train_jobs, {"ns", "job"},
                                      kube::Propagation::background, kube::Unconditional()));
        world.time.run_for(std::chrono::seconds(2));
    }
};

const char* const counted = R"({"restarts":1,"restartsCountTowardsMax":1,"failures":[
    {"attempt":0,"time":"2026-01-15T00:00:00Z","decision":"Restart"}]})";

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

TEST_CASE("the invariants forbid a count of attempts that is not theirs") {
    struct Row {
        const char* title;
        std::vector<std::string> statuses;  // of a job whose first attempt has failed
        const char* objection = "";
        bool fails = true;
        int max_restarts = 3;
    };
    const std::string twice = R"({"restarts":2,"restartsCountTowardsMax":2})";
    for (
        const Row& row :
        {Row{"once", {counted}}, Row{"nothing new", {counted, counted}},
         Row{"twice", {counted, twice}, "counts a restart that no attempt has caused"},
         Row{"two at once", {twice}, "counts a restart that no attempt has caused"},
         Row{"before it fails", {counted}, "counts a restart that no attempt has caused", false},
         Row{"taken back", {counted, R"({"restarts":0})"}, "counts a restart that no attempt has caused"},
         Row{"without the failure", {R"({"restarts":1})"}, "does not tell of the failure that it counts"},
         Row{"the failure alone",
             {R"({"failures":[{"attempt":0,"time":"2026-01-15T00:00:00Z"}]})"},
             "tells of a failure that is not counted"},
         Row{"against the judgement",
             {R"({"restarts":1,"failures":[{"attempt":0,"time":"2026-01-15T00:00:00Z","decision":"Restart"}]})"},
             "counts a restart against its judgement"},
         Row{"without a budget", {counted}, "starts again although its budget is spent", true, 0}}) {
        CAPTURE(row.title);
        Attempts trial(row.max_restarts);
        trial.make(trial.attempt(0));
        if (row.fails) trial.fail();
        for (const std::string& status : row.statuses) trial.write_status(status);
        const bool any = trial.objects("counts a restart") || trial.objects("the failure that it counts") ||
                         trial.objects("not counted") || trial.objects("budget");
        CHECK(any == (*row.objection != '\0'));
        if (any) CHECK(trial.objects(row.objection));
    }
}

TEST_CASE("the invariants forbid a status with other restarts than its attempt, unless others wrote them") {
    for (const bool is_forged : {false, true}) {
        CAPTURE(is_forged);
        Attempts trial;
        trial.make(trial.attempt(0));
        trial.fail();
        trial.write_status(counted);
        trial.delete_job_set("job");
        trial.make(trial.attempt(is_forged ? 1 : 2));
        CHECK(trial.objects("began with other restarts") == !is_forged);
        trial.by_reconciler = !is_forged;
        if (is_forged) trial.write_status(R"({"restarts":7})");
        trial.by_reconciler = true;
        trial.write_status(R"({"jobsStatus":[{"name":"node","ready":1}]})");
        CHECK(trial.objects("has other restarts than the attempt that runs") == !is_forged);
    }
}

TEST_CASE("the invariants forbid to delete an attempt that the next one must not follow yet") {
    struct Row {
        const char* title;
        std::function<void(Attempts&)> happens;
        std::string objection = "";
    };
    const auto fails = [](Attempts& trial) { trial.fail(); };
    const auto is_counted = [](Attempts& trial) {
        trial.fail();
        trial.write_status(counted);
    };
    for (const Row& row :
         {Row{"it has failed, and is counted", is_counted},
          Row{"it runs", [](Attempts&) {}, "the running JobSet ns/job of an unfinished TrainJob was deleted"},
          Row{"it runs although it was counted", [](Attempts& trial) { trial.write_status(counted); },
              "the running JobSet ns/job of an unfinished TrainJob was deleted"},
          Row{"a late write of a dead process has made it again",
              [](Attempts& trial) {
                  trial.write_status(counted);
                  trial.invariants.late_by = std::chrono::seconds(60);
              }},
          Row{"it is not counted", fails, "made way before its failure was counted"},
          Row{"it is not told", fails, "made way before its first failure was told"},
          Row{"it is suspended",
              [&](Attempts& trial) {
                  is_counted(trial);
                  trial.change_job(R"({"spec":{"suspend":true}})");
              },
              "made way although its TrainJob is suspended"},
          Row{"its TrainJob is being deleted",
              [&](Attempts& trial) {
                  is_counted(trial);
                  trial.delete_job();
              },
              "made way although its TrainJob is being deleted"},
          Row{"its TrainJob has ended",
              [&](Attempts& trial) {
                  is_counted(trial);
                  trial.write_status(R"({"conditions":[{"type":"Failed","status":"True","message":"",
                      "reason":"DeadlineExceeded","lastTransitionTime":"2026-01-15T00:00:00Z"}]})");
                  trial.world.time.run_for(std::chrono::seconds(2));
              },
              "the finished JobSet ns/job was deleted"},
          Row{"its back-off is not over",
              [&](Attempts& trial) {
                  is_counted(trial);
                  trial.write_status(R"({"nextAttemptTime":"2026-01-15T01:00:00Z"})");
                  trial.invariants.unharmed = true;
              },
              "made way before its back-off was over"}}) {
        CAPTURE(row.title);
        Attempts trial;
        trial.make(trial.attempt(0));
        row.happens(trial);
        trial.delete_job_set("job");
        const bool any = trial.objects("made way") || trial.objects("was deleted");
        CHECK(any == !row.objection.empty());
        if (any) CHECK(trial.objects(row.objection));
    }
}

TEST_CASE("the invariants forbid an attempt with a budget of its own, or of a job that is being deleted") {
    Attempts trial;
    Json budgeted = trial.attempt(0);
    budgeted["spec"]["failurePolicy"]["maxRestarts"] = 3;
    trial.make(budgeted);
    CHECK(trial.objects("is no attempt under the failure policy"));
    trial.delete_job_set("job");
    Json misnamed = trial.attempt(0);
    misnamed["metadata"]["annotations"]["trainer.kubeflow.org/attempt"] = "1";
    trial.make(misnamed);
    CHECK(trial.objects("is another attempt than its restarts tell"));
    trial.delete_job_set("job");
    CHECK_FALSE(trial.objects("was made although its TrainJob is being deleted"));
    trial.delete_job();
    trial.make(trial.attempt(0));
    CHECK(trial.objects("was made although its TrainJob is being deleted"));
}

TEST_CASE("the invariants forbid that the volume claim of attempts goes") {
    const Json claim =
        parsed(R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"data-job",
        "namespace":"ns","labels":{"jobset.sigs.k8s.io/jobset-name":"job"}},"spec":{}})");
    for (const bool is_deleted : {false, true}) {
        CAPTURE(is_deleted);
        Attempts trial;
        trial.make(trial.attempt(0));
        trial.world.api.handle(kube::create(kube::resources::volume_claims, claim));
        if (is_deleted) trial.delete_job();
        trial.by_reconciler = false;
        trial.world.api.handle(kube::remove(kube::resources::volume_claims, {"ns", "data-job"},
                                            kube::Propagation::background, kube::Unconditional()));
        CHECK(trial.objects("the volume claim ns/data-job of a job with attempts was deleted") ==
              !is_deleted);
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
