#include "story.hpp"

#include "text.hpp"

namespace lifecycle {
namespace {

void finish_job_set(Story& story, std::string_view type, std::string_view reason) {
    story.cluster.job_set->finished = condition(type, "True", reason, story.now);
    story.cluster.job_set->replicated_jobs = {
        {.name = "node", .succeeded = type == "Completed", .failed = type == "Failed"}};
}
void complete(Story& story) { finish_job_set(story, "Completed", "AllJobsCompleted"); }
void fail(Story& story) { finish_job_set(story, "Failed", "FailedJobs"); }
void suspend(Story& story) {
    story.cluster.job->suspend = true;
    ++story.cluster.job->meta.generation;
}
void resume(Story& story) {
    story.cluster.job->suspend = false;
    ++story.cluster.job->meta.generation;
}
void lose_job_set(Story& story) { story.cluster.job_set.reset(); }
template <int seconds>
void wait(Story& story) {
    story.now += std::chrono::seconds(seconds);
}
template <int seconds>
void set_ttl(Story& story) {
    story.cluster.ttl = seconds;
}
template <int seconds>
void set_deadline(Story& story) {
    story.cluster.job->active_deadline_seconds = seconds;
}
void ask_to_delete(Story& story) {
    story.cluster.job->meta.deletion = story.now;
    story.cluster.job->meta.finalizers = {"example.com/hold"};
}

// What happens, one thing after the other; the reconciler settles in between.
struct Scenario {
    const char* name;
    std::vector<void (*)(Story&)> happenings;
    const char* ending;
};

const Scenario scenarios[] = {
    {"a job runs", {}, "Created=True/JobsCreationSucceeded | node: 1 ready 1 active | JobSet runs"},
    {"a job completes",
     {complete},
     "Created=True/JobsCreationSucceeded Complete=True/AllJobsCompleted | node: 1 succeeded | JobSet "
     "finished"},
    {"a job fails",
     {fail},
     "Created=True/JobsCreationSucceeded Failed=True/FailedJobs | node: 1 failed | JobSet finished"},
    {"a job is suspended",
     {suspend},
     "Created=True/JobsCreationSucceeded Suspended=True/Suspended | node: 1 suspended | JobSet suspended"},
    {"a job is suspended and resumed",
     {suspend, resume},
     "Suspended=False/Resumed Created=True/JobsCreationSucceeded | node: 1 ready 1 active | JobSet runs"},
    {"a deadline passes",
     {set_deadline<60>, wait<60>},
     "Created=True/JobsCreationSucceeded Failed=True/DeadlineExceeded | node: | no JobSet"},
    {"a deadline is not reached",
     {set_deadline<60>, wait<59>, complete, wait<60>},
     "Created=True/JobsCreationSucceeded Complete=True/AllJobsCompleted | node: 1 succeeded | JobSet "
     "finished"},
    {"suspended for longer than the deadline",
     {set_deadline<60>, wait<30>, suspend, wait<600>, resume},
     "Suspended=False/Resumed Created=True/JobsCreationSucceeded | node: 1 ready 1 active | JobSet runs"},
    {"a resume starts a full new period",
     {set_deadline<60>, wait<30>, suspend, wait<600>, resume, wait<59>},
     "Suspended=False/Resumed Created=True/JobsCreationSucceeded | node: 1 ready 1 active | JobSet runs"},
    {"and that period ends",
     {set_deadline<60>, wait<30>, suspend, wait<600>, resume, wait<60>},
     "Suspended=False/Resumed Created=True/JobsCreationSucceeded Failed=True/DeadlineExceeded | node: | no "
     "JobSet"},
    {"resumed twice",
     {set_deadline<60>, suspend, wait<50>, resume, wait<50>, suspend, wait<50>, resume, wait<59>},
     "Suspended=False/Resumed Created=True/JobsCreationSucceeded | node: 1 ready 1 active | JobSet runs"},
    {"a TTL passes", {set_ttl<10>, complete, wait<10>}, "nothing is left"},
    {"a TTL does not pass",
     {set_ttl<10>, complete, wait<9>},
     "Created=True/JobsCreationSucceeded Complete=True/AllJobsCompleted | node: 1 succeeded | JobSet "
     "finished"},
    {"a TTL of zero", {set_ttl<0>, fail}, "nothing is left"},
    {"a TTL waits for a running job",
     {set_ttl<0>, wait<3600>},
     "Created=True/JobsCreationSucceeded | node: 1 ready 1 active | JobSet runs"},
    {"a TTL waits for a suspended job",
     {set_ttl<0>, suspend, wait<3600>},
     "Created=True/JobsCreationSucceeded Suspended=True/Suspended | node: 1 suspended | JobSet suspended"},
    {"deadline and TTL", {set_ttl<10>, set_deadline<60>, wait<60>, wait<10>}, "nothing is left"},
    {"a TTL set after the end", {complete, wait<600>, set_ttl<60>}, "nothing is left"},
    {"a lost JobSet is built again",
     {lose_job_set},
     "Created=True/JobsCreationSucceeded | node: 1 ready 1 active | JobSet runs"},
    {"the JobSet of an ended job is lost",
     {complete, lose_job_set, wait<60>},
     "Created=True/JobsCreationSucceeded Complete=True/AllJobsCompleted | node: 1 succeeded | no JobSet"},
    {"an ended job is suspended and resumed",
     {complete, suspend, resume},
     "Created=True/JobsCreationSucceeded Complete=True/AllJobsCompleted | node: 1 succeeded | JobSet "
     "finished"},
    {"a finalizer outlives the deadline",
     {set_deadline<60>, ask_to_delete, wait<60>},
     "Created=True/JobsCreationSucceeded Failed=True/DeadlineExceeded | node: | no JobSet"},
    {"a finalizer outlives the TTL",
     {set_ttl<0>, ask_to_delete, complete, wait<60>},
     "Created=True/JobsCreationSucceeded Complete=True/AllJobsCompleted | node: 1 succeeded | JobSet "
     "finished"},
    {"a deleted job's JobSet is not built again",
     {ask_to_delete, lose_job_set},
     "Created=True/JobsCreationSucceeded | node: | no JobSet"},
    {"the clock steps back an hour",
     {set_deadline<60>, wait<30>, wait<-3600>, wait<3600>, wait<29>},
     "Created=True/JobsCreationSucceeded | node: 1 ready 1 active | JobSet runs"},
    {"the clock steps forward an hour",
     {set_deadline<60>, wait<3600>, wait<-3600>},
     "Created=True/JobsCreationSucceeded Failed=True/DeadlineExceeded | node: | no JobSet"},
    {"a deadline at the end of time",
     {[](Story& s) { s.cluster.job->active_deadline_seconds = std::numeric_limits<std::int64_t>::max(); },
      wait<1'000'000'000>},
     "Created=True/JobsCreationSucceeded | node: 1 ready 1 active | JobSet runs"},
};

Story tell(const Scenario& scenario, Options options, int dies_after = std::numeric_limits<int>::max()) {
    Story story(submitted());
    story.options = options;
    story.dies_after = dies_after;
    story.settle();
    for (const auto happening : scenario.happenings) {
        happening(story);
        story.settle();
    }
    return story;
}

// A list of words without one of them.
std::string without(std::string text, const std::string& word) {
    const auto at = text.find(word);
    if (at == std::string::npos) return text;
    text.erase(at, word.size());
    // The list ends before " |".
    const bool last = text.compare(at, 2, " |") == 0;
    if (!last)
        text.erase(at, 1);
    else if (at > 0)
        text.erase(at - 1, 1);
    return text;
}

}  // namespace

TEST_CASE("every story ends as it should, whatever write the reconciler dies after", "[story]") {
    for (const Scenario& scenario : scenarios) DYNAMIC_SECTION(scenario.name) {
            const Story whole = tell(scenario, {});
            CHECK(whole.ending() == scenario.ending);
            for (int write = 1; write <= static_cast<int>(whole.writes.size()); ++write) {
                INFO("dies after write " << write << ", " << whole.writes[write - 1]);
                CHECK(tell(scenario, {}, write).ending() == scenario.ending);
            }
        }
}

TEST_CASE("a restart over a settled job writes nothing", "[story]") {
    for (const Scenario& scenario : scenarios) DYNAMIC_SECTION(scenario.name) {
            Story story = tell(scenario, {});
            story.cluster.episode = {};
            const auto writes = story.writes.size();
            const auto events = story.events.size();
            story.pass();
            CHECK(story.writes.size() == writes);
            CHECK(story.events.size() == events);
        }
}

TEST_CASE("with on-failure nobody ever sees Created as True", "[story]") {
    for (const Scenario& scenario : scenarios) DYNAMIC_SECTION(scenario.name) {
            const Story story = tell(scenario, {.created_condition = CreatedCondition::on_failure});
            CHECK(story.ending() == without(scenario.ending, "Created=True/JobsCreationSucceeded"));
        }
}

TEST_CASE("status is written once, but for a transition", "[story]") {
    Story story(submitted());
    story.pass();
    CHECK(story.writes == std::vector<std::string>{"create JobSet", "status"});

    Story born_suspended(submitted());
    born_suspended.cluster.job->suspend = true;
    born_suspended.pass();
    CHECK(born_suspended.writes == std::vector<std::string>{"status", "create JobSet", "status"});
    CHECK(born_suspended.cluster.job_set->suspend);
}

TEST_CASE("a transition is stored before the JobSet is touched", "[story]") {
    Story story(submitted());
    story.settle();
    story.writes.clear();
    suspend(story);
    story.pass();
    CHECK(story.writes == std::vector<std::string>{"status", "suspend JobSet"});
    story.settle();
    story.writes.clear();
    resume(story);
    story.pass();
    CHECK(story.writes == std::vector<std::string>{"status", "resume JobSet"});
}

TEST_CASE("suspending does not wait for a build that fails", "[story]") {
    Story story(submitted());
    story.settle();
    story.acting.result = BuildFailed{api::invalid("spec.trainer", "is wrong")};
    suspend(story);
    story.settle();
    CHECK(story.ending() ==
          "Suspended=True/Suspended Created=False/JobsBuildFailed | node: 1 suspended | JobSet suspended");
}

TEST_CASE("a corrected runtime starts the job", "[story]") {
    Story story(submitted());
    story.acting.result =
        BuildFailed{{.code = api::Errc::not_found, .message = "ClusterTrainingRuntime torch not found"}};
    story.settle();
    CHECK(story.ending() == "Created=False/JobsBuildFailed |  | no JobSet");
    story.acting.result = Done{};
    story.settle();
    CHECK(story.ending() == "Created=True/JobsCreationSucceeded | node: 1 ready 1 active | JobSet runs");
    CHECK(text(story.events) == "Warning JobsBuildFailed, Normal JobsCreationSucceeded");
}

TEST_CASE("the name of a deleted job is used again while its JobSet ends", "[story]") {
    Story story(submitted());
    story.cluster.job_set = job_set_of(*story.cluster.job);
    make_foreign(story.cluster);
    story.cluster.job_set->meta.deletion = start;
    story.settle();
    CHECK(story.ending() == "Created=False/JobsCreationFailed |  | a foreign JobSet");
    lose_job_set(story);
    story.settle();
    CHECK(story.ending() == "Created=True/JobsCreationSucceeded | node: 1 ready 1 active | JobSet runs");
}

}  // namespace lifecycle
