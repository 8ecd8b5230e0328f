#include "lifecycle/decision.hpp"

#include "objects.hpp"
#include "text.hpp"

namespace lifecycle {
namespace {

struct Case {
    const char* name;
    Observed (*from)();
    void (*change)(Observed&);
    const char* want;
    std::chrono::seconds after = 10s;
};

void check(const Case& c) {
    DYNAMIC_SECTION(c.name) {
        Observed observed = c.from();
        c.change(observed);
        CHECK(text(decide(observed, start + c.after)) == c.want);
    }
}

void nothing(Observed&) {}
Observed running_with_deadline() { return with_deadline(running()); }
Observed completed_job() { return completed(); }
Observed just_completed() { return completed_unseen(); }
void expire(Observed& o) { o.ttl = 0; }
void orphan(Observed& o) { o.job_set->meta.controller_uid.clear(); }
void managed_by_kueue(Observed& o) { o.job->managed_by = "kueue.x-k8s.io/multikueue"; }
void being_deleted(Observed& o) { o.job->meta.deletion = start; }
void job_set_being_deleted(Observed& o) { o.job_set->meta.deletion = start; }
void suspend_job_set(Observed& o) { o.job_set->suspend = true; }
void unsupported(Observed& o) { o.job->runtime_ref.kind = "OtherRuntime"; }
void ask_to_suspend(Observed& o) { o.job->suspend = true; }
void ask_to_resume(Observed& o) { o.job->suspend = false; }
void lose_job_set(Observed& o) { o.job_set.reset(); }

}  // namespace

TEST_CASE("a living job gets what is missing", "[decide]") {
    const Case cases[] = {
        {"a new job is created", submitted, nothing, "run: create"},
        {"a running JobSet is not touched", running, nothing, "run: leave"},
        {"one that a former controller has applied is adopted", running,
         [](Observed& o) { o.job_set->applied_here = false; }, "run: leave, adopts"},
        {"one that is suspended is going to be ours anyway", suspended,
         [](Observed& o) { o.job_set->applied_here = false; }, "run: update"},
        {"one that was deleted to be built anew as it is resumed is no loss", suspended,
         [](Observed& o) {
             lose_job_set(o);
             o.job->suspend = false;
             o.job->conditions.back() =
                 condition("Suspended", "False", "Resumed", start, "TrainJob is resumed");
         },
         "run: create"},
        {"one that has worked since it was resumed is", suspended,
         [](Observed& o) {
             lose_job_set(o);
             o.job->suspend = false;
             o.job->conditions.back() =
                 condition("Suspended", "False", "Resumed", start, "TrainJob is resumed");
             o.job->jobs_status[0] = {.name = "node", .active = 1};
         },
         "run: create, rebuilds"},
        {"a lost JobSet is built again", running, lose_job_set, "run: create, rebuilds"},
        {"jobsStatus alone tells that it was there", running,
         [](Observed& o) {
             lose_job_set(o);
             o.job->conditions.clear();
         },
         "run: create, rebuilds"},
        {"a lost JobSet of a suspended job is worth no warning", running,
         [](Observed& o) {
             lose_job_set(o);
             o.job->suspend = true;
             o.job->conditions.push_back(condition("Suspended", "True", "Suspended"));
         },
         "run: create"},
        {"after a failed first creation nothing was there", submitted,
         [](Observed& o) { o.job->conditions = {condition("Created", "False", "JobsCreationFailed")}; },
         "run: create"},
        {"a JobSet of another owner is refused", running, make_foreign, "run: refuse, no build"},
        {"an orphaned JobSet is another owner's", running, orphan, "run: refuse, no build"},
        {"a JobSet that is being deleted must go first", running, job_set_being_deleted,
         "run: wait until gone"},
        {"an empty managedBy is ours", running, [](Observed& o) { o.job->managed_by.clear(); }, "run: leave"},
    };
    for (const Case& c : cases) check(c);
}

TEST_CASE("suspend and resume", "[decide]") {
    const Case cases[] = {
        {"a wish to suspend is stored first", running, ask_to_suspend, "store transition"},
        {"a job created suspended says so first", submitted, ask_to_suspend, "store transition"},
        {"then the JobSet is suspended", suspended,
         [](Observed& o) {
             o.job_set->suspend = false;
             o.job_set->replicated_jobs[0].active = 1;
         },
         "run: suspend, leave"},
        {"changes wait while a pod is active", suspended,
         [](Observed& o) { o.job_set->replicated_jobs[0].active = 1; }, "run: leave"},
        {"changes are applied when none is", suspended, nothing, "run: update"},
        {"a suspended job without JobSet gets one", suspended,
         [](Observed& o) {
             lose_job_set(o);
             o.job->conditions.erase(o.job->conditions.begin());
             o.job->jobs_status.clear();
         },
         "run: create"},
        {"a wish to resume is stored first", suspended, ask_to_resume, "store transition"},
        {"then the JobSet is resumed", suspended,
         [](Observed& o) {
             o.job->suspend = false;
             o.job->conditions[1] = condition("Suspended", "False", "Resumed");
         },
         "run: resume"},
        {"a JobSet that a user suspended is resumed", running, [](Observed& o) { o.job_set->suspend = true; },
         "run: resume"},
        {"a JobSet that is being deleted can be suspended", suspended,
         [](Observed& o) {
             o.job_set->suspend = false;
             job_set_being_deleted(o);
         },
         "run: suspend, wait until gone"},
        {"another owner's JobSet is not suspended", suspended,
         [](Observed& o) {
             o.job_set->suspend = false;
             make_foreign(o);
         },
         "run: refuse, no build"},
    };
    for (const Case& c : cases) check(c);
}

// Steps 1 and 2 of docs/design/lifecycle.md#the-order-of-decisions, against what the later ones would do.
TEST_CASE("what stops a reconcile wins over everything after it", "[decide]") {
    struct Stop {
        const char* name;
        void (*stop)(Observed&);
        const char* want;
    };
    const Stop stops[] = {
        {"the TrainJob is gone", [](Observed& o) { o.job.reset(); }, "ignore"},
        {"another controller manages it", managed_by_kueue, "ignore"},
    };
    struct Later {
        const char* name;
        Observed (*from)();
        void (*change)(Observed&);
    };
    const Later laters[] = {
        {"being deleted", running, being_deleted},
        {"ended with an unfinished JobSet", failed_by_deadline, nothing},
        {"ended and expired", completed_job, expire},
        {"completed and unseen", just_completed, nothing},
        {"unsupported", running, unsupported},
        {"past its deadline", running_with_deadline, nothing},
        {"to be suspended", running, ask_to_suspend},
        {"to be resumed", suspended, ask_to_resume},
        {"without a JobSet", submitted, nothing},
    };
    for (const Stop& stop : stops)
        for (const Later& later : laters) DYNAMIC_SECTION(stop.name << ", " << later.name) {
                Observed observed = later.from();
                later.change(observed);
                stop.stop(observed);
                CHECK(text(decide(observed, start + 1h)) == stop.want);
            }
}

TEST_CASE("an ended job stays ended whatever happens", "[decide]") {
    const Case cases[] = {
        {"its JobSet is deleted", completed_job, lose_job_set, "clean up"},
        {"its JobSet is another one's now", completed_job, make_foreign, "clean up"},
        {"its JobSet runs", failed_by_deadline, nothing, "clean up: suspend JobSet"},
        {"its JobSet is suspended and its Pods still run", failed_by_deadline, suspend_job_set,
         "clean up: wait for Pods", 89s},
        {"its Pods are not stopped for half a minute", failed_by_deadline, suspend_job_set,
         "clean up: delete JobSet", 90s},
        {"a finalizer would keep its JobSet and its Pods, however late it is", failed_by_deadline,
         [](Observed& o) { o.job_set->meta.finalizers = {"example.com/audit"}; }, "clean up: suspend JobSet",
         1h},
        {"a finalizer would keep its JobSet, and its Pods are being stopped", failed_by_deadline,
         [](Observed& o) {
             suspend_job_set(o);
             o.job_set->meta.finalizers = {"example.com/audit"};
         },
         "clean up: wait for Pods", 1h},
        {"none of its Pods is active any more", failed_by_deadline,
         [](Observed& o) {
             suspend_job_set(o);
             o.job_set->replicated_jobs = {};
         },
         "clean up: delete JobSet"},
        {"Kueue would resume its JobSet", failed_by_deadline, [](Observed& o) { o.job_set->queue = "team"; },
         "clean up: delete JobSet"},
        {"its JobSet completes after the deadline", failed_by_deadline,
         [](Observed& o) { o.job_set->finished = condition("Completed", "True", "AllJobsCompleted"); },
         "clean up"},
        {"a former leader makes the JobSet again", completed_job,
         [](Observed& o) { o.job_set = job_set_of(*o.job); }, "clean up: suspend JobSet"},
        {"another owner's JobSet takes the name", failed_by_deadline, make_foreign, "clean up"},
        {"its JobSet is being deleted already", failed_by_deadline, job_set_being_deleted, "clean up"},
        {"it is suspended", completed_job, ask_to_suspend, "clean up"},
        {"its deadline passes", completed_job, [](Observed& o) { o = with_deadline(o, 1s); }, "clean up", 1h},
        {"its runtimeRef is not supported", completed_job, unsupported, "clean up"},
        {"it is being deleted", failed_by_deadline, being_deleted, "clean up: suspend JobSet"},
        {"its TTL has passed", completed_job, expire, "expire", 30s},
        {"its TTL has passed and its JobSet runs", failed_by_deadline, expire, "expire", 60s},
        {"its TTL has passed and it is being deleted", completed_job,
         [](Observed& o) {
             expire(o);
             being_deleted(o);
         },
         "clean up", 1h},
        {"its TTL has passed and it is suspended", completed_job,
         [](Observed& o) {
             expire(o);
             ask_to_suspend(o);
         },
         "expire", 1h},
    };
    for (const Case& c : cases) check(c);
}

TEST_CASE("how a job ends", "[decide]") {
    const Case cases[] = {
        {"completed", just_completed, nothing, "finish Complete/AllJobsCompleted"},
        {"failed", just_completed,
         [](Observed& o) { o.job_set->finished = condition("Failed", "True", "FailedJobs"); },
         "finish Failed/FailedJobs"},
        {"completed beats a passed deadline", just_completed, [](Observed& o) { o = with_deadline(o, 1s); },
         "finish Complete/AllJobsCompleted", 1h},
        {"completed beats an unsupported runtime", just_completed, unsupported,
         "finish Complete/AllJobsCompleted"},
        {"completed beats a wish to suspend", just_completed, ask_to_suspend,
         "finish Complete/AllJobsCompleted"},
        {"completed while it is being deleted", just_completed, being_deleted,
         "finish Complete/AllJobsCompleted"},
        {"completed while its JobSet is being deleted", just_completed, job_set_being_deleted,
         "finish Complete/AllJobsCompleted"},
        {"another owner's JobSet has no effect", just_completed, make_foreign, "run: refuse, no build"},
        {"an unsupported runtime", submitted, unsupported, "finish Failed/TrainingRuntimeNotSupported"},
        {"an unsupported runtime beats the deadline", running_with_deadline, unsupported,
         "finish Failed/TrainingRuntimeNotSupported", 1h},
        {"the deadline has passed", running_with_deadline, nothing, "finish Failed/DeadlineExceeded", 60s},
        {"the deadline is a second away", running_with_deadline, nothing, "run: leave", 59s},
        {"the deadline passes without a JobSet", running_with_deadline, lose_job_set,
         "finish Failed/DeadlineExceeded", 1h},
        {"the deadline passes while another owner's JobSet has the name", running_with_deadline, make_foreign,
         "finish Failed/DeadlineExceeded", 1h},
        {"an unsupported runtime while another owner's JobSet has the name", running,
         [](Observed& o) {
             unsupported(o);
             make_foreign(o);
         },
         "finish Failed/TrainingRuntimeNotSupported"},
        {"a wish to suspend comes in time, however late we see it", running_with_deadline, ask_to_suspend,
         "store transition", 1h},
        {"the deadline holds while a finalizer sticks", running_with_deadline, being_deleted,
         "finish Failed/DeadlineExceeded", 1h},
    };
    for (const Case& c : cases) check(c);
}

TEST_CASE("a job that is being deleted gets nothing new", "[decide]") {
    const Case cases[] = {
        {"no JobSet", submitted, being_deleted, "run: leave, no build"},
        {"no lost JobSet", running,
         [](Observed& o) {
             lose_job_set(o);
             being_deleted(o);
         },
         "run: leave, no build"},
        {"no resume", suspended,
         [](Observed& o) {
             ask_to_resume(o);
             being_deleted(o);
         },
         "run: leave, no build"},
        {"no resume that was already stored", suspended,
         [](Observed& o) {
             ask_to_resume(o);
             being_deleted(o);
             o.job->conditions[1] = condition("Suspended", "False", "Resumed");
         },
         "run: leave, no build"},
        {"but it is suspended", suspended,
         [](Observed& o) {
             o.job_set->suspend = false;
             being_deleted(o);
         },
         "run: suspend, leave, no build"},
        {"and what runs is said to run, so that its deadline counts", suspended,
         [](Observed& o) {
             ask_to_resume(o);
             o.job_set->suspend = false;
             being_deleted(o);
         },
         "store transition"},
    };
    for (const Case& c : cases) check(c);
}

TEST_CASE("what cannot be undone needs a live view", "[decide]") {
    struct Row {
        const char* name;
        Decision decision;
        Live want;
    };
    const Row rows[] = {
        {"ignoring", Ignore{}, Live::nothing},
        {"storing a transition", StoreTransition{}, Live::nothing},
        {"an end that the JobSet tells of", Finish{.from_job_set = true}, Live::nothing},
        {"an end of our own", Finish{}, Live::all},
        {"cleaning up", CleanUp{}, Live::nothing},
        {"suspending the JobSet of an ended job", CleanUp{EndOfJobSet::suspend}, Live::all},
        {"waiting for its Pods", CleanUp{EndOfJobSet::wait}, Live::nothing},
        {"deleting it", CleanUp{EndOfJobSet::remove}, Live::all},
        {"deleting the TrainJob", Expire{}, Live::all},
        {"leaving a JobSet alone", Run{}, Live::nothing},
        {"suspending", Run{.suspend_job_set = true}, Live::all},
        {"suspending one of a former size", Run{.resizes = true}, Live::all},
        {"creating the first JobSet", Run{.job_set = JobSetAction::create}, Live::job_and_runtime},
        {"creating it again", Run{.job_set = JobSetAction::create, .runtime = RuntimeSource::snapshot},
         Live::all},
        {"resuming", Run{.job_set = JobSetAction::resume}, Live::all},
        {"waiting for Pods of before", Run{.job_set = JobSetAction::wait_until_stopped}, Live::all},
        {"refusing", Run{.job_set = JobSetAction::refuse}, Live::all},
        {"updating what is suspended", Run{.job_set = JobSetAction::update}, Live::nothing},
        {"waiting", Run{.job_set = JobSetAction::wait_until_gone}, Live::nothing},
    };
    for (const Row& row : rows) {
        INFO(row.name);
        CHECK(needs_live(row.decision, submitted()) == row.want);
        // What is not known of the TrainJob would be lost.
        Observed abridged = submitted();
        abridged.is_abridged = true;
        const bool writes = !std::holds_alternative<Ignore>(row.decision);
        CHECK(needs_live(row.decision, abridged) == (writes ? Live::all : Live::nothing));
    }
}

TEST_CASE(
    "that nothing of a suspended job is active is said only of a JobSet that was read after its TrainJob",
    "[decide]") {
    struct Row {
        const char* name;
        bool suspend, stored;
        int said, there;  // active pods: in the status, and of the JobSet; -1 without one
        Live want;
    };
    const Row rows[] = {
        {"it runs, and its JobSet is not to be seen", false, false, 1, -1, Live::nothing},
        {"it is to be suspended while pods are active", true, false, 1, 1, Live::nothing},
        {"it is to be suspended, and its JobSet is not to be seen", true, false, 1, -1, Live::in_order},
        {"the same, of which nothing was said yet", true, false, 0, -1, Live::in_order},
        {"it is to be suspended, and its pods are not to be seen", true, false, 1, 0, Live::in_order},
        {"its pods have ended", true, true, 1, 0, Live::in_order},
        {"its JobSet is gone", true, true, 1, -1, Live::in_order},
        {"it rests, as its status says", true, true, 0, 0, Live::nothing},
    };
    for (const Row& row : rows) {
        INFO(row.name);
        Observed seen = running();
        seen.job->suspend = row.suspend;
        if (row.stored)
            seen.job->conditions = {{.type = "Suspended", .status = "True", .reason = "Suspended"}};
        seen.job->jobs_status = {{.name = "node", .active = row.said}};
        seen.job_set->replicated_jobs = {{.name = "node", .active = row.there}};
        if (row.there < 0) seen.job_set.reset();
        CHECK(needs_live(StoreTransition{}, seen) == row.want);
        CHECK(needs_live(Ignore{}, seen) == Live::nothing);
    }
}

TEST_CASE("a job that has ended needs no proof that its Pods are gone", "[decide]") {
    Observed seen = running();
    seen.job->suspend = true;
    seen.job->jobs_status = {{.name = "node", .active = 0}};
    seen.job_set.reset();
    REQUIRE(needs_live(StoreTransition{}, seen) == Live::in_order);
    seen.job->conditions = {{.type = "Complete", .status = "True", .reason = "JobsCompleted"}};
    CHECK(needs_live(StoreTransition{}, seen) == Live::nothing);
}

TEST_CASE("possible Pods of an unseen JobSet ask for a live read", "[decide]") {
    struct Row {
        const char* name;
        Outcome outcome;
        bool want;
    };
    const api::Error lost = {.code = api::Errc::unavailable, .message = "connection lost"};
    const api::Error taken = {.code = api::Errc::conflict, .message = "exists", .http_status = 409};
    const api::Error refused = {
        .code = api::Errc::forbidden, .message = "exceeded quota", .http_status = 403};
    const Row rows[] = {
        {"all went well", {.result = Done{}}, false},
        {"something could not be read", {.result = ReadFailed{"ConfigMap ns/job", lost}}, false},
        {"a write got no answer", {.result = WriteFailed{"JobSet ns/job", lost}}, false},
        {"the name is taken", {.result = WriteFailed{"JobSet ns/job", taken}}, true},
        {"an object was refused", {.result = WriteFailed{"ConfigMap ns/job", refused}}, true},
        {"nothing can be built", {.result = BuildFailed{api::invalid("spec", "x")}}, true},
        {"an object is another owner's", {.result = ForeignObject{"PodGroup ns/job"}}, true},
        {"a claim is there", {.result = WaitingForDeletion{{"PersistentVolumeClaim ns/data-job"}}}, true},
    };
    for (const Row& row : rows) {
        INFO(row.name);
        CHECK(may_come_of_unseen_job_set(row.outcome) == row.want);
    }
}

}  // namespace lifecycle
