#include "lifecycle/warnings.hpp"

#include "objects.hpp"
#include "text.hpp"

namespace lifecycle {
namespace {

// Its JobSet was made at the start, and has no status yet.
Observed not_begun() {
    Observed observed = running();
    observed.job_set->replicated_jobs.clear();
    return observed;
}

Observed without_pods() {
    Observed observed = running();
    observed.job_set->replicated_jobs = {{.name = "node"}};
    observed.job_set->lacks_pods = "node";
    return observed;
}

Observed with_a_job_to_come() {
    Observed observed = running();
    observed.job_set->replicated_jobs = {{.name = "data", .active = 1}, {.name = "node"}};
    observed.job_set->waits_for_others = true;
    return observed;
}

// It has been found at that time that Jobs or Pods are missing.
Observed since(std::chrono::seconds elapsed, Observed observed) {
    const bool lacks_pods = !observed.job_set->lacks_pods.empty();
    observed.retry_state.stall =
        Stall{.reason = lacks_pods ? "PodsNotCreated" : "JobsNotCreated", .since = start + elapsed};
    return observed;
}

Warning about_job_set(std::string reason, std::string uid = "job-set-1") {
    return {.kind = "JobSet",
            .name = "job",
            .uid = std::move(uid),
            .reason = std::move(reason),
            .message = "no",
            .last = start + 1h};
}

Warning about_job(std::string name, std::string reason = "FailedCreate") {
    return {.kind = "Job",
            .name = std::move(name),
            .reason = std::move(reason),
            .message = "no",
            .last = start + 1h};
}

Warning at(std::chrono::seconds elapsed, Warning warning) {
    warning.last = start + elapsed;
    return warning;
}

}  // namespace

TEST_CASE("a Warning explains what the JobSet does not do now, or nothing", "[stall]") {
    struct Case {
        const char* name;
        Observed observed;
        Warning warning;
        const char* says;
    };
    const Case cases[] = {
        {"a Service that JobSet cannot create", not_begun(), about_job_set("ServiceCreationFailed"), "no"},
        {"a Job that JobSet cannot create", not_begun(), about_job_set("JobCreationFailed"), "no"},
        {"any other reason of a JobSet without Jobs", not_begun(), about_job_set("FailedCreate"), "no"},
        {"its restart", not_begun(), about_job_set("RestartJobSetFailurePolicyAction"), ""},
        {"an earlier JobSet of the name", not_begun(), about_job_set("JobCreationFailed", "job-set-0"), ""},
        {"before its start", not_begun(), at(-1s, about_job_set("JobCreationFailed")), ""},
        {"at its start", not_begun(), at(0s, about_job_set("JobCreationFailed")), "no"},
        {"a Job while there are none", not_begun(), about_job("job-node-0"), ""},
        {"a Job that gets no Pods", without_pods(), about_job("job-node-0"), "job node: no"},
        {"one of its many Jobs", without_pods(), about_job("job-node-11"), "job node: no"},
        {"a Job of another replicated job", without_pods(), about_job("job-data-0"), ""},
        {"a Job of another JobSet", without_pods(), about_job("job-node-x-0"), ""},
        {"a Job of a JobSet whose name begins alike", without_pods(), about_job("job-node-0-node-0"), ""},
        {"a Job whose Pods fail", without_pods(), about_job("job-node-0", "BackoffLimitExceeded"), ""},
        {"Jobs that come later", without_pods(), about_job_set("JobCreationFailed"), "no"},
        {"a failure policy", without_pods(), about_job_set("DefaultFailurePolicy"), ""},
        {"an earlier lack of Pods", without_pods(), at(53min, about_job("job-node-0")), ""},
        {"within the longest pause of a Job", without_pods(), at(54min, about_job("job-node-0")),
         "job node: no"},
        {"that pause before Pods were missing", since(30min, without_pods()),
         at(24min, about_job("job-node-0")), "job node: no"},
        {"longer before", since(30min, without_pods()), at(24min - 1s, about_job("job-node-0")), ""},
        {"before the start", since(1min, without_pods()), at(-1s, about_job("job-node-0")), ""},
        {"a Job whose turn has come", since(30min, with_a_job_to_come()), about_job_set("JobCreationFailed"),
         "no"},
        {"a claim, of which counts do not tell", since(30min, with_a_job_to_come()),
         about_job_set("PVCCreationFailed"), ""},
        {"before the counts changed", since(30min, with_a_job_to_come()),
         at(30min + 1s, about_job_set("JobCreationFailed")), ""},
        {"since they changed", since(30min, with_a_job_to_come()),
         at(30min + 2s, about_job_set("JobCreationFailed")), "no"},
        {"of unknown counts", with_a_job_to_come(), at(59min, about_job_set("JobCreationFailed")), ""},
        {"a JobSet that runs", running(), about_job("job-node-0"), ""},
        {"a job without a JobSet", submitted(), about_job_set("JobCreationFailed"), ""},
    };
    for (const Case& c : cases) {
        INFO(c.name);
        CHECK(explanation(c.observed, std::vector{c.warning}, start + 1h) == c.says);
    }
}

TEST_CASE("of several Warnings the newest explains", "[stall]") {
    std::vector<Warning> warnings = {at(55min, about_job("job-node-0")), at(57min, about_job("job-node-1")),
                                     at(56min, about_job_set("JobCreationFailed")),
                                     at(58min, about_job("job-data-0"))};
    warnings[0].message = "first";
    warnings[1].message = "newest";
    CHECK(explanation(without_pods(), warnings, start + 1h) == "job node: newest");
    warnings[2].last = start + 59min;
    CHECK(explanation(without_pods(), warnings, start + 1h) == "no");
    CHECK(explanation(without_pods(), {}, start + 1h) == "");
}

}  // namespace lifecycle
