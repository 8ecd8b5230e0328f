#include "lifecycle/stall.hpp"

#include "lifecycle/state.hpp"
#include "story.hpp"

namespace lifecycle {
namespace {

// TrainJob and JobSet are read from the API server, which takes a cause to the condition at once.
Observed read_live(Observed observed) {
    observed.is_live = true;
    return observed;
}

// Its JobSet was made at the start, and has no status yet.
Observed not_begun() {
    Observed observed = read_live(running());
    observed.job_set->replicated_jobs.clear();
    observed.job->jobs_status.clear();
    return observed;
}

Observed without_pods() {
    Observed observed = read_live(running());
    observed.job_set->replicated_jobs = {{.name = "node"}};
    observed.job_set->lacks_pods = "node";
    observed.job->jobs_status = observed.job_set->replicated_jobs;
    return observed;
}

// Its first job runs, and the second one waits for that.
Observed with_a_job_to_come() {
    Observed observed = read_live(running());
    observed.job_set->replicated_jobs = {{.name = "data", .active = 1}, {.name = "node"}};
    observed.job_set->waits_for_others = true;
    observed.job->jobs_status = observed.job_set->replicated_jobs;
    return observed;
}

Outcome events_say(std::string explanation) { return {.explanation = std::move(explanation)}; }

const api::Error no_permission = {
    .code = api::Errc::forbidden,
    .message = "jobsets.jobset.x-k8s.io \"job\" is forbidden: User \"u\" cannot patch resource \"jobsets\"",
    .http_status = 403};

Conclusion look(Story& story, std::chrono::seconds elapsed, const Outcome& outcome = {}) {
    story.now = start + elapsed;
    return story.reconcile(outcome);
}

bool wants(const Observed& observed, std::chrono::seconds elapsed) {
    return wants_warnings(observed, decide(observed, start + elapsed), {}, start + elapsed);
}

}  // namespace

TEST_CASE("a JobSet without a status stalls its TrainJob after 30 seconds", "[stall]") {
    Story story{.observed = not_begun()};
    CHECK(look(story, 0s).requeue_after == 30s);
    CHECK(look(story, 29s).requeue_after == 1s);
    CHECK_FALSE(wants(story.observed, 29s));
    CHECK(story.says() == "Created=True/JobsCreationSucceeded");
    CHECK(wants(story.observed, 30s));
    const Conclusion stalled =
        look(story, 30s, events_say("jobs.batch \"job-node-0\" is forbidden: exceeded quota"));
    CHECK(story.says() == "Created=True/JobsCreationSucceeded Stalled=True/JobsNotCreated");
    CHECK(story.message("Stalled") == "jobs.batch \"job-node-0\" is forbidden: exceeded quota");
    CHECK(stalled.requeue_after == 60s);
    CHECK(story.reported == "30 JobsNotCreated");
    CHECK(stalled.events.front().type == EventType::warning);
}

TEST_CASE("where no event says why Jobs are missing, Stalled says that", "[stall]") {
    Story story{.observed = not_begun()};
    look(story, 0s);
    look(story, 30s, events_say(""));
    CHECK(story.message("Stalled") == "JobSet has created no Jobs, and no event was found that says why");
    look(story, 90s, events_say("exceeded quota"));
    CHECK(story.message("Stalled") == "exceeded quota");
}

TEST_CASE("while another job reads the events, nothing is said and nothing is taken back", "[stall]") {
    Story story{.observed = not_begun()};
    look(story, 0s);
    CHECK(look(story, 30s).requeue_after == 5s);
    CHECK(story.says() == "Created=True/JobsCreationSucceeded");
    CHECK(wants(story.observed, 35s));
    look(story, 35s, events_say("exceeded quota"));
    CHECK(look(story, 95s).requeue_after == 5s);
    CHECK(story.message("Stalled") == "exceeded quota");
    CHECK(wants(story.observed, 100s));
}

TEST_CASE("what cached counts show is said only of live ones", "[stall]") {
    struct Case {
        const char* name;
        Observed observed;
        std::chrono::seconds lasts;
        Outcome outcome;
        bool wants;
    };
    const Case cases[] = {
        {"no Jobs", not_begun(), 30s, events_say(""), true},
        {"no Jobs, for less long", not_begun(), 29s, events_say(""), false},
        {"no Jobs, before the events are known", not_begun(), 30s, {}, false},
        {"no Pods, with an event", without_pods(), 30s, events_say("exceeded quota"), true},
        {"no Pods, without an event", without_pods(), 599s, events_say(""), false},
        {"no Pods for long", without_pods(), 600s, events_say(""), true},
        {"a job to come", with_a_job_to_come(), 3h, events_say(""), false},
        {"a job to come, with an event", with_a_job_to_come(), 300s, events_say("exceeded quota"), true},
    };
    for (const Case& c : cases) {
        INFO(c.name);
        Story story{.observed = c.observed};
        story.observed.is_live = false;
        look(story, 0s);
        const api::Time then = start + c.lasts;
        CHECK(wants_live_view(story.observed, decide(story.observed, then), c.outcome, then) == c.wants);
        look(story, c.lasts, c.outcome);
        CHECK(story.says() == "Created=True/JobsCreationSucceeded");
        story.observed.is_live = true;
        CHECK_FALSE(wants_live_view(story.observed, decide(story.observed, then), c.outcome, then));
        look(story, c.lasts, c.outcome);
        CHECK((story.says() != "Created=True/JobsCreationSucceeded") == c.wants);
    }
}

TEST_CASE("missing Pods are named by their replicated job", "[stall]") {
    Story story{.observed = without_pods()};
    look(story, 0s);
    look(story, 30s, events_say("job node: pods \"job-node-0-0-x\" is forbidden: exceeded quota"));
    CHECK(story.says() == "Created=True/JobsCreationSucceeded Stalled=True/PodsNotCreated");
    CHECK(story.message("Stalled") == "job node: pods \"job-node-0-0-x\" is forbidden: exceeded quota");
}

TEST_CASE("Pods that are missing for less than ten minutes stall no TrainJob unless an event says why",
          "[stall]") {
    Story story{.observed = without_pods()};
    look(story, 0s);
    CHECK(wants(story.observed, 30s));
    CHECK(look(story, 30s, events_say("")).requeue_after == 60s);
    CHECK_FALSE(wants(story.observed, 89s));
    story.until(599s, events_say(""));
    CHECK(story.says() == "Created=True/JobsCreationSucceeded");
    CHECK(wants(story.observed, 600s));
    SECTION("they come") {
        story.observed.job_set = running().job_set;
        CHECK_FALSE(look(story, 600s).retry_state.stall);
    }
    SECTION("there is an event") {
        look(story, 600s, events_say("job node: exceeded quota"));
        CHECK(story.message("Stalled") == "job node: exceeded quota");
        look(story, 1200s, events_say(""));
        CHECK(story.message("Stalled") == "job node: exceeded quota");
    }
    SECTION("there is none") {
        look(story, 600s, events_say(""));
        CHECK(story.message("Stalled") ==
              "job node: its Pods are not there, and no event was found that says why");
    }
}

TEST_CASE("the timer begins when the JobSet is created", "[stall]") {
    Story story;
    CHECK(look(story, 5s, {.job_set_written = true}).requeue_after == 30s);
    story.observed.job_set = job_set_of(*story.observed.job);
    story.observed.job_set->replicated_jobs.clear();
    CHECK(wants(story.observed, 35s));
}

TEST_CASE("events are read less often the longer a stall lasts", "[stall]") {
    for (const auto& [lasted, pause] :
         {std::pair(1min, 1min), std::pair(10min, 5min), std::pair(600min, 30min)}) {
        INFO(lasted.count());
        Story story{.observed = not_begun()};
        look(story, 0s);
        CHECK(look(story, lasted, events_say("exceeded quota")).requeue_after == pause);
        CHECK_FALSE(wants(story.observed, lasted + pause - 1s));
        CHECK(wants(story.observed, lasted + pause));
    }
}

TEST_CASE("events are read once a minute at first, and an unchanged text is no write", "[stall]") {
    Story story{.observed = not_begun()};
    look(story, 0s);
    look(story, 30s, events_say("first"));
    CHECK_FALSE(wants(story.observed, 89s));
    CHECK(wants(story.observed, 90s));
    CHECK_FALSE(look(story, 60s).status_changed);
    CHECK_FALSE(look(story, 90s, events_say("first")).status_changed);
    look(story, 150s, events_say("second"));
    CHECK(story.message("Stalled") == "second");
}

TEST_CASE("warnings of a stall come at once, after five minutes and every half an hour", "[stall]") {
    Story story{.observed = not_begun()};
    for (std::chrono::seconds elapsed = 0s; elapsed <= 75min; elapsed += 30s)
        look(story, elapsed, events_say("no"));
    CHECK(story.reported ==
          "30 JobsNotCreated, 300 JobsNotCreated, 2100 JobsNotCreated, 3900 JobsNotCreated");
}

TEST_CASE("a stall ends with its cause, with a suspension, and with the job", "[stall]") {
    struct Case {
        const char* name;
        void (*ends)(Observed& observed);
        const char* says;
    };
    const Case cases[] = {
        {"Pods", [](Observed& o) { o.job_set->replicated_jobs = {{.name = "node", .active = 1}}; },
         "Created=True/JobsCreationSucceeded"},
        {"a suspension", [](Observed& o) { o.job->suspend = o.job_set->suspend = true; },
         "Created=True/JobsCreationSucceeded Suspended=True/Suspended"},
        {"the end",
         [](Observed& o) { o.job_set->finished = condition("Failed", "True", "FailedJobs", start + 40s); },
         "Failed=True/FailedJobs"},
    };
    for (const Case& c : cases) {
        INFO(c.name);
        Story story{.observed = not_begun()};
        look(story, 0s);
        look(story, 30s, events_say("no"));
        c.ends(story.observed);
        look(story, 45s);
        if (story.observed.job->suspend) look(story, 46s);
        CHECK(story.says() == c.says);
        CHECK_FALSE(story.observed.retry_state.stall);
    }
}

TEST_CASE("a cause begins anew after another one", "[stall]") {
    Story story{.observed = not_begun()};
    look(story, 0s);
    look(story, 30s, events_say("no"));
    story.observed.job_set = without_pods().job_set;
    CHECK(look(story, 40s).requeue_after == 30s);
    CHECK(story.says() == "Created=True/JobsCreationSucceeded");
    CHECK(wants(story.observed, 70s));
}

TEST_CASE("a stall that is stored outlasts a restart, and has no second warning at once", "[stall]") {
    Story story{.observed = not_begun()};
    look(story, 0s);
    look(story, 30s, events_say("no"));
    story.observed.retry_state = {};
    story.reported.clear();
    CHECK(wants(story.observed, 40s));
    look(story, 40s, events_say("no"));
    CHECK(story.says() == "Created=True/JobsCreationSucceeded Stalled=True/JobsNotCreated");
    CHECK(story.reported.empty());
}

TEST_CASE("a resume that cannot be applied stalls the job after 15 seconds", "[stall]") {
    struct Case {
        api::Error error;
        const char* reason;
    };
    for (const Case& c : {Case{lost_connection, "APIServerError"}, Case{no_permission, "PermissionDenied"}}) {
        INFO(c.reason);
        Story story{.observed = suspended()};
        story.observed.job->suspend = false;
        story.observed.job->conditions = {created(), condition("Suspended", "False", "Resumed")};
        story.until(14s, refused(c.error));
        CHECK(story.says().find("Stalled") == std::string::npos);
        story.until(20s, refused(c.error));
        CHECK(story.says() == "Suspended=False/Resumed Created=True/JobsCreationSucceeded Stalled=True/" +
                                  std::string(c.reason));
        CHECK(story.message("Stalled") == "JobSet default/job: " + api::describe(c.error));
        story.observed.job_set->suspend = false;
        look(story, 60s);
        CHECK(story.says() == "Suspended=False/Resumed Created=True/JobsCreationSucceeded");
    }
}

TEST_CASE("a conflict neither states a stall nor takes it back", "[stall]") {
    Story story{.observed = not_begun()};
    look(story, 0s);
    look(story, 30s, events_say("no"));
    const api::Error conflict = {.code = api::Errc::conflict, .message = "changed", .http_status = 409};
    look(story, 40s, refused(conflict));
    CHECK(story.says() == "Created=True/JobsCreationSucceeded Stalled=True/JobsNotCreated");
}

TEST_CASE("a wait for Pods or a deletion that lasts five minutes is a stall", "[stall]") {
    struct Case {
        Outcome outcome;
        bool deleted;
        const char* reason;
    };
    for (const Case& c :
         {Case{{.result = Waiting{"spec.replicatedJobs must not change"}}, false, "WaitingForPods"},
          Case{{}, true, "WaitingForDeletion"}}) {
        INFO(c.reason);
        Story story{.observed = suspended()};
        if (c.deleted) story.observed.job_set->meta.deletion = start;
        CHECK(look(story, 0s, c.outcome).requeue_after == 300s);
        look(story, 299s, c.outcome);
        CHECK(story.says().find("Stalled") == std::string::npos);
        look(story, 300s, c.outcome);
        CHECK(story.says().ends_with(std::string("Stalled=True/") + c.reason));
    }
}

TEST_CASE("Jobs that are not created again for five minutes stall the TrainJob", "[stall]") {
    const Outcome waits = {
        .result = JobsReplaced{.why = "a label was withdrawn", .waits_for = "Job ns/job-node-0"}};
    Story story{.observed = suspended()};
    look(story, 0s, waits);
    look(story, 299s, waits);
    CHECK(story.says().find("Stalled") == std::string::npos);
    look(story, 300s, waits);
    CHECK(story.says().ends_with("Stalled=True/WaitingForDeletion"));
    CHECK(story.message("Stalled") ==
          "The job goes on once its Jobs have been created again; it waits for Job ns/job-node-0");
    look(story, 310s, {.result = JobsReplaced{.why = "a label was withdrawn", .any_removed = true}});
    CHECK(story.says().find("Stalled") == std::string::npos);
}

TEST_CASE("a JobSet that is suspended and runs on for five minutes stalls its TrainJob", "[stall]") {
    Observed observed = suspended();
    observed.job_set->replicated_jobs = {{.name = "node", .active = 1}};
    observed.job->jobs_status = observed.job_set->replicated_jobs;
    Story story{.observed = observed};
    CHECK(look(story, 0s).requeue_after == 300s);
    const auto wants_live = [&](std::chrono::seconds elapsed) {
        return wants_live_view(story.observed, decide(story.observed, start + elapsed), {}, start + elapsed);
    };
    CHECK_FALSE(wants_live(299s));
    CHECK(wants_live(300s));
    look(story, 300s);
    CHECK(story.says().find("Stalled") == std::string::npos);
    story.observed.is_live = true;
    CHECK(look(story, 301s).requeue_after == 30min);
    story.observed.is_live = false;
    CHECK_FALSE(wants_live(302s));
    CHECK(story.says().ends_with("Stalled=True/WaitingForPods"));
    CHECK(story.message("Stalled").find("job node still run") != std::string::npos);
    story.observed.job_set->replicated_jobs = {{.name = "node", .suspended = 1}};
    look(story, 303s);
    CHECK(story.says().find("Stalled") == std::string::npos);
}

TEST_CASE("Jobs that stay suspended after a resume stall the TrainJob after ten minutes", "[stall]") {
    Story story{.observed = without_pods()};
    story.observed.job_set->replicated_jobs = {{.name = "node", .suspended = 1}};
    story.observed.job->jobs_status = story.observed.job_set->replicated_jobs;
    look(story, 0s);
    look(story, 599s, events_say(""));
    CHECK(story.says().find("Stalled") == std::string::npos);
    look(story, 600s, events_say(""));
    CHECK(story.message("Stalled") ==
          "job node: its Jobs are still suspended, and no event was found that says why");
}

TEST_CASE("an event tells of Jobs that JobSet cannot create when it is their turn", "[stall]") {
    Story story{.observed = with_a_job_to_come()};
    CHECK(look(story, 0s).requeue_after == 300s);
    CHECK_FALSE(wants(story.observed, 299s));
    CHECK(wants(story.observed, 300s));
    CHECK(look(story, 300s, events_say("")).requeue_after == 150s);
    CHECK(story.says().find("Stalled") == std::string::npos);
    CHECK(look(story, 600s, events_say("exceeded quota")).requeue_after == 300s);
    CHECK(story.says().ends_with("Stalled=True/JobsNotCreated"));
    CHECK(story.message("Stalled") == "exceeded quota");
    look(story, 900s, events_say(""));
    CHECK(story.message("Stalled") == "exceeded quota");
    // Another job waits still.
    story.observed.job_set->replicated_jobs.front() = {.name = "data", .succeeded = 1};
    CHECK(look(story, 1000s).requeue_after == 300s);
    CHECK(story.says().find("Stalled") == std::string::npos);
}

TEST_CASE("the state of a stalled job is blocked", "[stall]") {
    Observed observed = not_begun();
    observed.job->conditions.push_back(condition("Stalled", "True", "JobsNotCreated"));
    CHECK(state_of(*observed.job) == State::blocked);
}

}  // namespace lifecycle
