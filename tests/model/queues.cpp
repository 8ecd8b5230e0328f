// JobSets that are in a queue of Kueue by a label of their own: Kueue suspends and resumes them.
#include "acts.hpp"
#include "api/job_set.hpp"
#include "api/names.hpp"
#include "scenario_lists.hpp"

namespace model {
namespace {

using namespace ends;

void in_queue(Json& runtime) { runtime["spec"]["template"]["metadata"]["labels"][api::queue_label] = "team"; }

bool has_queue(const Json& object) { return !object["metadata"]["labels"][api::queue_label].is_null(); }

// Kueue leaves the JobSet of a TrainJob that it manages alone.
bool is_of_kueue(const World& world, const Json& job_set) {
    const Stored* job = world.api.find("trainjobs.trainer.kubeflow.org", the_job);
    return has_queue(job_set) && !(job && has_queue(job->object));
}

// Lets a JobSet in a queue run while it is admitted, and suspends it otherwise, whatever others want. At each
// of these times an admission begins or ends.
Action kueue_decides(std::vector<std::chrono::seconds> times) {
    return [times](World& world) {
        bool admitted = false;
        for (const std::chrono::seconds time : times)
            if (world.time.now() - VirtualTime::start >= time) admitted = !admitted;
        const Stored* stored = world.api.find("jobsets.jobset.x-k8s.io", the_job);
        const api::JobSet job_set = stored ? api::parse_job_set(stored->object) : api::JobSet();
        if (stored && is_of_kueue(world, stored->object) && !job_set.meta.deletion &&
            job_set.suspend == admitted)
            change_job_set(admitted ? R"({"spec":{"suspend":false}})"
                                    : R"({"spec":{"suspend":true}})")(world);
        world.time.after(500ms, [times, &world] { kueue_decides(times)(world); });
    };
}

// With Kueue's webhook, which suspends JobSets as they are created.
Action kueue(std::vector<std::chrono::seconds> times) {
    const Action webhook = [](World& world) {
        change_new_job_sets([&world](Json& job_set) {
            if (is_of_kueue(world, job_set)) job_set["spec"]["suspend"] = true;
        })(world);
    };
    return both(webhook, kueue_decides(std::move(times)));
}

Check resumed_at_most(int count) {
    return [count](const World& world) -> std::string {
        int resumed = 0;
        bool was_suspended = false;
        for (const Change& change : world.api.history("jobsets.jobset.x-k8s.io")) {
            const Json job_set = api::parse_json(*change.text).value();
            const bool is_suspended = job_set["spec"]["suspend"].bool_or(false);
            resumed += was_suspended && !is_suspended;
            was_suspended = is_suspended;
        }
        return resumed <= count ? "" : "its JobSet was resumed " + std::to_string(resumed) + " times";
    };
}

}  // namespace

std::vector<Scenario> queues() {
    return {
        {"a JobSet is in a queue itself: it waits, runs, is evicted, and runs again",
         {{0s, kueue({60s, 120s, 180s})},
          {1s, make_runtime(in_queue)},
          {2s, make_job(with(pods_that("never")))}},
         {running},
         {"JobsCreationSucceeded", "WaitingForQueue"},
         600s,
         all_of({same_job_set(), never_refused(), resumed_at_most(2)})},
        {"a TrainJob is suspended, whose JobSet Kueue resumes",
         {{0s, kueue({20s})},
          {1s, make_runtime(in_queue)},
          {2s, make_job(with(pods_that("never")))},
          {60s, change_job(R"({"spec":{"suspend":true}})")},
          {200s, change_job(R"({"spec":{"suspend":false}})")}},
         // A reconciler that was down did not see it suspended.
         {resumed_and_running, running},
         {"JobsCreationSucceeded", "Resumed", "ResumedByQueue", "Suspended", "WaitingForQueue"},
         600s,
         all_of({same_job_set(), resumed_at_most(2)})},
        {"a TrainJob is suspended, whose JobSet Kueue runs until its deadline",
         {{0s, kueue({20s})},
          {1s, make_runtime(in_queue)},
          {2s, make_job(with(pods_that("never")), set("activeDeadlineSeconds", "100"))},
          {60s, change_job(R"({"spec":{"suspend":true}})")}},
         {"+Suspended +DeadlineExceeded; no JobSet; snapshot; 0 active", overdue, overdue_before_anything},
         {"DeadlineExceeded", "JobSetDeleted", "JobsCreationSucceeded", "ResumedByQueue", "Suspended",
          "WaitingForQueue"},
         600s},
        {"a JobSet waits in a queue for longer than its TrainJob may run",
         {{0s, kueue({200s})},
          {1s, make_runtime(in_queue)},
          {2s, make_job(with(pods_that("never")), set("activeDeadlineSeconds", "100"))}},
         {overdue, overdue_before_anything},
         {"DeadlineExceeded", "JobSetDeleted", "JobsCreationSucceeded", "WaitingForQueue"},
         900s,
         resumed_at_most(1)},
        {"a TrainJob whose JobSet waits in a queue is suspended and resumed",
         {{0s, kueue({120s})},
          {1s, make_runtime(in_queue)},
          {2s, make_job(with(pods_that("never")))},
          {40s, change_job(R"({"spec":{"suspend":true}})")},
          {80s, change_job(R"({"spec":{"suspend":false}})")}},
         // A reconciler that was down did not see it suspended.
         {resumed_and_running, running},
         {"JobsCreationSucceeded", "Resumed", "Suspended", "WaitingForQueue"},
         600s,
         all_of({same_job_set(), resumed_at_most(2)})},
        {"a TrainJob comes into the queue in which its JobSet waits by itself",
         {{0s, kueue({3600s})},
          {1s, make_runtime(in_queue)},
          {2s, make_job(with(pods_that("never")))},
          {40s, change_job(R"({"metadata":{"labels":{"kueue.x-k8s.io/queue-name":"team"}}})")}},
         {running},
         // A reconciler that was down did not see it wait.
         {"JobsCreationSucceeded", "WaitingForQueue"},
         600s,
         same_job_set()},
        label_withdrawn(
            "a label is withdrawn from a suspended job whose JobSet is in a queue, and there is no Kueue",
            in_queue),
        {"a JobSet has the label of a queue, and there is no Kueue",
         {{1s, make_runtime(in_queue)},
          {2s, make_job(with(pods_that("never")))},
          {40s, change_job(R"({"spec":{"suspend":true}})")},
          {80s, change_job(R"({"spec":{"suspend":false}})")}},
         {resumed_and_running, running},
         {"JobsCreationSucceeded", "Resumed", "Suspended"},
         600s,
         same_job_set()},
    };
}

}  // namespace model
