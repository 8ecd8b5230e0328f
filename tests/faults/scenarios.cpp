#include "scenarios.hpp"

#include "acts.hpp"
#include "api/job_set.hpp"

namespace faults {
namespace {

const char* const completed = "+JobsCreationSucceeded +AllJobsCompleted; finished; snapshot; 0 active";
const char* const resumed_and_completed =
    "-Resumed +JobsCreationSucceeded +AllJobsCompleted; finished; snapshot; 0 active";
const char* const gone = "gone; no JobSet; no snapshot; 0 active";
const char* const running = "+JobsCreationSucceeded; running; snapshot; 1 active";
const char* const resumed_and_running = "-Resumed +JobsCreationSucceeded; running; snapshot; 1 active";
const char* const held = "+JobsCreationSucceeded +Suspended; suspended; snapshot; 0 active";
const char* const overdue = "+JobsCreationSucceeded +DeadlineExceeded; no JobSet; snapshot; 0 active";
// A reconciler that was away until the deadline had passed never made the JobSet.
const char* const overdue_before_it_began = "+DeadlineExceeded; no JobSet; snapshot; 0 active";
const char* const overdue_before_anything = "+DeadlineExceeded; no JobSet; no snapshot; 0 active";

std::vector<Scenario> beginnings_and_ends() {
    return {
        {"a job runs to its end",
         {{1s, make_runtime()}, {2s, make_job()}},
         {completed},
         {"JobsCreationSucceeded", "AllJobsCompleted"}},
        {"a job fails",
         {{1s, make_runtime()}, {2s, make_job(with(pods_that("5", "failed")))}},
         {"+JobsCreationSucceeded +FailedJobs; finished; snapshot; 0 active"},
         {"FailedJobs"}},
        {"a job goes on running",
         {{1s, make_runtime()}, {2s, make_job(with(pods_that("never")))}},
         {running}},
        {"a runtime that nobody serves",
         {{2s, make_job(set("runtimeRef", R"({"apiGroup":"x.example.com","kind":"Y","name":"z"})"))}},
         {"+TrainingRuntimeNotSupported; no JobSet; no snapshot; 0 active"},
         {"TrainingRuntimeNotSupported"}},
        {"a job that somebody else manages",
         {{1s, make_runtime()}, {2s, make_job(set("managedBy", R"("kueue.x-k8s.io/multikueue")"))}},
         {"no conditions; no JobSet; no snapshot; 0 active"}},
        {"a job is deleted",
         {{1s, make_runtime()}, {2s, make_job(with(pods_that("never")))}, {20s, remove_job("Foreground")}},
         {gone}},
        {"a name is used again at once",
         {{1s, make_runtime()},
          {2s, make_job(with(pods_that("never")))},
          {20s, remove_job("Background")},
          {20s, make_job()}},
         {completed}},
        {"a name is used again while the old JobSet is held",
         {{1s, make_runtime()},
          {2s, make_job(with(pods_that("never")))},
          {15s, hold(job_sets)},
          {20s, remove_job("Background")},
          {21s, make_job()},
          {80s, release(job_sets)}},
         {completed},
         {"JobsCreationFailed"}},
    };
}

std::vector<Scenario> runtimes() {
    return {
        {"a runtime comes late", {{2s, make_job()}, {40s, make_runtime()}}, {completed}, {"JobsBuildFailed"}},
        {"a runtime is broken, then corrected",
         {{0s, refuse_parallelism_over(10)},
          {1s, make_runtime(nodes(50))},
          {2s, make_job()},
          {40s, change_runtime(R"({"spec":{"mlPolicy":{"numNodes":3}}})")}},
         {completed},
         {"JobsCreationFailed"},
         600s,
         job_set_has("parallelism", 3)},
        {"a runtime changes after the start",
         {{1s, make_runtime()},
          {2s, make_job(with(pods_that("60")))},
          {20s, change_runtime(R"({"spec":{"mlPolicy":{"numNodes":7}}})")},
          {30s, remove_runtime()}},
         // Whoever was away until then builds from what is there then.
         {completed, "-JobsBuildFailed; no JobSet; no snapshot; 0 active"}},
        {"a quota refuses, then has room",
         {{0s, limit_job_sets(0)}, {1s, make_runtime()}, {2s, make_job()}, {50s, limit_job_sets(9)}},
         {completed},
         {"JobsCreationFailed"}},
        {"the namespace ends",
         {{0s, end_namespace()}, {1s, make_runtime()}, {2s, make_job()}, {30s, remove_job("Background")}},
         {gone}},
        {"a JobSet of somebody else is in the way",
         {{1s, make_runtime()}, {1s, make_foreign_job_set()}, {2s, make_job()}},
         {"-JobsCreationFailed; foreign suspended; no snapshot; 0 active"},
         {"JobsCreationFailed"}},
        {"a JobSet of somebody else goes away",
         {{1s, make_runtime()},
          {1s, make_foreign_job_set()},
          {2s, make_job()},
          {40s, remove_job_set("Background")}},
         {completed},
         {"JobsCreationFailed"}},
        {"a snapshot of somebody else is in the way",
         {{1s, make_runtime()}, {1s, make_foreign_snapshot()}, {2s, make_job()}},
         {"-JobsCreationFailed; no JobSet; snapshot; 0 active"},
         {"JobsCreationFailed"}},
        {"somebody deletes the JobSet",
         {{1s, make_runtime()},
          {2s, make_job(with(pods_that("never")))},
          {20s, remove_job_set("Background")}},
         {running},
         {"JobSetRecreated"}},
        {"somebody deletes the JobSet in the foreground",
         {{1s, make_runtime()},
          {2s, make_job(with(pods_that("never")))},
          {20s, remove_job_set("Foreground")}},
         {running},
         {"JobSetRecreated"}},
        {"the JobSet loses its owner",
         {{1s, make_runtime()},
          {2s, make_job(with(pods_that("never")))},
          {20s, change_job_set(R"({"metadata":{"ownerReferences":null}})")}},
         // A JobSet that comes later has its owner.
         {"-JobsCreationFailed; foreign running; snapshot; 1 active", running}},
    };
}

std::vector<Scenario> suspending() {
    return {
        {"a job is created suspended",
         {{1s, make_runtime()}, {2s, make_job(set("suspend", "true"))}},
         {held},
         {"Suspended"}},
        {"a job is created suspended and resumed",
         {{1s, make_runtime()},
          {2s, make_job(set("suspend", "true"))},
          {30s, change_job(R"({"spec":{"suspend":false}})")}},
         // Never seen suspended by one who was away.
         {resumed_and_completed, completed},
         {"Suspended", "Resumed"}},
        {"a running job is suspended",
         {{1s, make_runtime()},
          {2s, make_job(with(pods_that("never")))},
          {20s, change_job(R"({"spec":{"suspend":true}})")}},
         {held},
         {"Suspended"},
         600s,
         never_refused()},
        {"a running job is suspended and resumed",
         {{1s, make_runtime()},
          {2s, make_job(with(pods_that("never")))},
          {20s, change_job(R"({"spec":{"suspend":true}})")},
          {60s, change_job(R"({"spec":{"suspend":false}})")}},
         {resumed_and_running, running},
         {"Suspended", "Resumed"},
         600s,
         never_refused()},
        {"a job is suspended and resumed at once",
         {{1s, make_runtime()},
          {2s, make_job(with(pods_that("never")))},
          {20s, change_job(R"({"spec":{"suspend":true}})")},
          {21s, change_job(R"({"spec":{"suspend":false}})")}},
         {resumed_and_running, running}},
        {"a suspended job gets another image",
         {{1s, make_runtime()},
          {2s, make_job(with(pods_that("never")))},
          {20s, change_job(R"({"spec":{"suspend":true,"trainer":{"image":"second"}}})")},
          {30s, once_suspended(change_job(R"({"spec":{"suspend":false}})"))}},
         {resumed_and_running},
         {"JobSetDeleted"},
         900s,
         image_is("second")},
        {"a label is withdrawn from a suspended job",
         {{1s, make_runtime()},
          {2s, make_job(with(pods_that("never"), R"("example.com/ours":"yes")", R"({"zone":"a"})"),
                        set("suspend", "true"))},
          {30s, change_job(with(pods_that("never")))},
          {31s, once_suspended(change_job(R"({"spec":{"suspend":false}})"))}},
         {resumed_and_running},
         {},
         600s,
         pods_have(Json::object({{"signalbox.test/run-seconds", "never"}}), Json())},
        {"volume claims of a job that has run are in the way of a change",
         {{1s, make_runtime(volume_claims())},
          {2s, make_job(with(pods_that("never")))},
          {20s, change_job(R"({"spec":{"suspend":true}})")},
          {50s, change_job(R"({"spec":{"trainer":{"image":"second"}}})")}},
         {"+Suspended -JobsCreationFailed; suspended; snapshot; 0 active", held}},
        {"Kueue admits, evicts and admits elsewhere",
         {{1s, make_runtime()},
          {2s, make_job(with(pods_that("never")), set("suspend", "true"))},
          {10s, once_suspended(
                    change_job(with_kueue(R"({"zone":"a"})", false)), 50s,
                    both(change_job(R"({"spec":{"suspend":true}})"),
                         once_suspended(change_job(with_kueue("null", true)), 5s,
                                        once_suspended(change_job(with_kueue(R"({"zone":"b"})", false))))))}},
         {resumed_and_running},
         {"Suspended", "Resumed"},
         900s,
         pods_have(Json::object({{"signalbox.test/run-seconds", "never"}, {"kueue.x-k8s.io/podset", "node"}}),
                   Json::object({{"zone", "b"}}))},
    };
}

std::vector<Scenario> time_limits() {
    return {
        {"the deadline passes",
         {{1s, make_runtime()}, {2s, make_job(with(pods_that("never")), set("activeDeadlineSeconds", "40"))}},
         {overdue, overdue_before_it_began, overdue_before_anything},
         {"DeadlineExceeded", "JobSetDeleted"}},
        {"the deadline is not reached",
         {{1s, make_runtime()}, {2s, make_job(set("activeDeadlineSeconds", "100"))}},
         {completed, overdue_before_it_began, overdue_before_anything}},
        {"a job is suspended for longer than its deadline",
         {{1s, make_runtime()},
          {2s,
           make_job(with(pods_that("never")), set("activeDeadlineSeconds", "40"), set("suspend", "true"))},
          {150s, change_job(R"({"spec":{"suspend":false}})")}},
         {"-Resumed +JobsCreationSucceeded +DeadlineExceeded; no JobSet; snapshot; 0 active", overdue,
          overdue_before_it_began, overdue_before_anything},
         {"Resumed", "DeadlineExceeded"},
         900s},
        {"a job is resumed twice",
         {{1s, make_runtime()},
          {2s, make_job(with(pods_that("never")), set("activeDeadlineSeconds", "60"))},
          {30s, change_job(R"({"spec":{"suspend":true}})")},
          {100s, change_job(R"({"spec":{"suspend":false}})")},
          {130s, change_job(R"({"spec":{"suspend":true}})")},
          {200s, change_job(R"({"spec":{"suspend":false}})")}},
         {"-Resumed +JobsCreationSucceeded +DeadlineExceeded; no JobSet; snapshot; 0 active", overdue,
          overdue_before_it_began, "-Resumed +DeadlineExceeded; no JobSet; snapshot; 0 active",
          overdue_before_anything},
         {"DeadlineExceeded"},
         900s},
        {"a job being deleted meets its deadline",
         {{1s, make_runtime()},
          {2s, make_job(with(pods_that("never")), set("activeDeadlineSeconds", "60"))},
          {10s, hold(train_jobs)},
          {20s, remove_job("Background")}},
         {"+JobsCreationSucceeded +DeadlineExceeded (deleted); no JobSet; snapshot; 0 active",
          "+DeadlineExceeded (deleted); no JobSet; snapshot; 0 active",
          "+DeadlineExceeded (deleted); no JobSet; no snapshot; 0 active"}},
        {"the TTL passes", {{1s, make_runtime(ttl(30))}, {2s, make_job()}}, {gone}, {"TTLExpired"}},
        {"the TTL is zero", {{1s, make_runtime(ttl(0))}, {2s, make_job()}}, {gone}},
        {"the TTL of a failed job passes",
         {{1s, make_runtime(ttl(30))}, {2s, make_job(with(pods_that("5", "failed")))}},
         {gone}},
        {"the TTL grows after the end",
         {{1s, make_runtime(ttl(60))},
          {2s, make_job()},
          {30s, change_runtime(R"({"spec":{"ttlSecondsAfterFinished":100000}})")}},
         {completed}},
        {"the TTL shrinks after the end",
         {{1s, make_runtime(ttl(100000))},
          {2s, make_job()},
          {30s, change_runtime(R"({"spec":{"ttlSecondsAfterFinished":60}})")}},
         {gone}},
        {"the runtime with the TTL goes before the end",
         {{1s, make_runtime(ttl(60))}, {2s, make_job(with(pods_that("30")))}, {20s, remove_runtime()}},
         {gone, "-JobsBuildFailed; no JobSet; no snapshot; 0 active"}},
        {"a name is used again as the deadline passes",
         {{1s, make_runtime()},
          {2s, make_job(with(pods_that("never")), set("activeDeadlineSeconds", "40"))},
          {42s, remove_job("Background")},
          {42s, make_job(with(pods_that("never")))}},
         {running}},
        {"a name is used again as the TTL passes",
         {{1s, make_runtime(ttl(20))},
          {2s, make_job()},
          {27s, remove_job("Background")},
          {27s, make_job(with(pods_that("never")))}},
         {running}},
        {"somebody deletes the JobSet in the foreground as the deadline passes",
         {{1s, make_runtime()},
          {2s, make_job(with(pods_that("never")), set("activeDeadlineSeconds", "40"))},
          {35s, hold(job_sets)},
          {36s, remove_job_set("Foreground")},
          {120s, release(job_sets)}},
         {overdue, overdue_before_it_began, overdue_before_anything}},
        {"a deadline and a TTL",
         {{1s, make_runtime(ttl(30))},
          {2s, make_job(with(pods_that("never")), set("activeDeadlineSeconds", "40"))}},
         {gone},
         {"DeadlineExceeded", "TTLExpired"}},
        {"a suspended job outlives the TTL",
         {{1s, make_runtime(ttl(5))},
          {2s, make_job(set("suspend", "true"), set("activeDeadlineSeconds", "10"))}},
         {held}},
        {"the deadline of a suspended job waits",
         {{1s, make_runtime()},
          {2s, make_job(with(pods_that("never")), set("activeDeadlineSeconds", "60"))},
          {30s, change_job(R"({"spec":{"suspend":true}})")}},
         {held, overdue, overdue_before_it_began, overdue_before_anything}},
        {"a former leader makes the JobSet again after the end",
         {{1s, make_runtime()},
          {2s, make_job(with(pods_that("never")), set("activeDeadlineSeconds", "40"))},
          {100s, make_late_job_set()}},
         {overdue, overdue_before_it_began, overdue_before_anything,
          "+JobsCreationSucceeded +DeadlineExceeded; no JobSet; no snapshot; 0 active"}},
    };
}

}  // namespace

const std::vector<Scenario>& scenarios() {
    static const std::vector<Scenario> all = [] {
        std::vector<Scenario> list;
        for (auto make : {beginnings_and_ends, runtimes, suspending, time_limits})
            for (Scenario& scenario : make()) list.push_back(std::move(scenario));
        return list;
    }();
    return all;
}

std::vector<std::string> run(const Scenario& scenario, World& world) {
    for (int i = 0; i < world.fault.reconcilers; ++i) world.start_reconciler();
    for (const Scenario::Step& step : scenario.steps)
        world.agenda.after(step.at, [&world, &step] { step.act(world); });
    world.agenda.run_for(scenario.length);

    std::vector<std::string> wrong = world.judge.complaints();
    const std::string end = summary(world.api, the_job);
    if (world.is_unharmed()) {
        if (end != scenario.ends.front())
            wrong.push_back("though nothing failed, it ends in \"" + end + "\"");
        for (const std::string& event : scenario.events)
            if (!world.judge.events().contains(event)) wrong.push_back("there was no event " + event);
    }
    if (std::find(scenario.ends.begin(), scenario.ends.end(), end) == scenario.ends.end())
        wrong.push_back("it ends in \"" + end + "\"");
    else if (scenario.check)
        if (std::string fault = scenario.check(world); !fault.empty()) wrong.push_back(std::move(fault));

    // What has settled stays as it is, also for one who comes new to it. Who waits for others tries again, in
    // vain.
    const bool refused = end.find("-JobsCreationFailed") != std::string::npos;
    const std::uint64_t version = world.api.version();
    const int writes = world.judge.writes();
    world.kill_reconcilers();
    world.start_reconciler();
    world.agenda.run_for(20s);
    if (world.api.version() != version || (!refused && world.judge.writes() != writes))
        wrong.push_back("a settled job was written");
    return wrong;
}

}  // namespace faults
