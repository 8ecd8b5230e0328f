// The table of commands, and the decisions of commands that change or wait.
#include "commands.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "complete/complete.hpp"
#include "fixtures.hpp"
#include "logs/sources.hpp"
#include "remove/remove.hpp"
#include "suspend/suspend.hpp"
#include "wait_for/wait_for.hpp"

namespace cli {
namespace {

using api::Json;
using namespace std::chrono_literals;

Brief running() {
    Brief job = {.key = {"vision", "night"},
                 .state = job_state_of(PodsState{.what = PodsDo::run}),
                 .created = now - 1h};
    return job;
}

Brief ended(bool complete, std::chrono::seconds ago = 1h) {
    Brief job = running();
    job.state.word = complete ? "complete" : "failed";
    job.ended = true;
    job.complete = complete;
    job.end = now - ago;
    return job;
}

std::string lines_for(const std::vector<std::string>& words) {
    return completion_lines(choices_for(words, commands()), words.empty() ? "" : words.back()).str();
}

Json pod(const std::string& job, const std::string& index, const std::string& container = "node") {
    Json made = Json::object({{"metadata", Json::object({{"name", "night-" + job + "-0-" + index + "-x"},
                                                         {"uid", job + index}})}});
    Json& labels = made["metadata"]["labels"];
    labels["jobset.sigs.k8s.io/jobset-name"] = "night";
    labels["jobset.sigs.k8s.io/replicatedjob-name"] = job;
    labels["batch.kubernetes.io/job-name"] = "night-" + job + "-0";
    labels["batch.kubernetes.io/job-completion-index"] = index;
    made["spec"]["containers"] = Json::array({Json::object({{"name", container}})});
    made["status"]["containerStatuses"] = Json::array({Json::object(
        {{"name", container}, {"restartCount", 2}, {"state", Json::object({{"running", Json::object()}})}})});
    return made;
}

std::string labels_of(const std::vector<LogSource>& sources) {
    std::string text;
    for (const LogSource& source : sources) text += source.label + "/" + source.container + " ";
    return text;
}

}  // namespace

TEST_CASE("commands are sorted by name, and each has examples with its own name", "[commands]") {
    const auto all = commands();
    CHECK(std::is_sorted(all.begin(), all.end(),
                         [](const Command& a, const Command& b) { return a.name < b.name; }));
    for (const Command& command : all) {
        INFO(command.name);
        CHECK_FALSE(command.examples.empty());
        for (const Example& example : command.examples)
            CHECK(std::string(example.command).starts_with(command.name));
        CHECK_FALSE(command.options().empty());
    }
}

TEST_CASE("a command exits with the status of its output, and with 2 after a usage error", "[commands]") {
    const auto status = [](const std::function<api::Result<Output>()>& body,
                           std::vector<const char*> arguments = {}) {
        net::Options options("prog check", "Looks.", "1.2.3");
        arguments.insert(arguments.begin(), "check");
        return run_command(options, static_cast<int>(arguments.size()), arguments.data(), body);
    };
    using Result = api::Result<Output>;
    CHECK(status([]() -> Result { return Output{}; }) == 0);
    CHECK(status([]() -> Result { return Output{.err = Text::line("refused"), .status = 1}; }) == 1);
    CHECK(status([]() -> Result { return api::invalid("", "no such file"); }) == 2);
    CHECK(status([]() -> Result { throw std::runtime_error("odd"); }) == 1);
    CHECK(status([]() -> Result { throw std::logic_error("not to be called"); }, {"--version"}) == 0);
    CHECK(status([]() -> Result { throw std::logic_error("not to be called"); }, {"--nonsense"}) == 2);
}

TEST_CASE("options in front of a command belong to it", "[commands]") {
    using Words = std::vector<std::string>;
    const std::pair<Words, Words> rows[] = {
        {{"-n", "team", "list", "-o", "json"}, {"list", "-n", "team", "-o", "json"}},
        {{"-A", "list"}, {"list", "-A"}},
        {{"--context=c", "--watch", "explain", "list"}, {"explain", "--context=c", "--watch", "list"}},
        // The value of an option may be the name of a command.
        {{"-n", "list", "wait", "a"}, {"wait", "-n", "list", "a"}},
        {{"list", "-n", "wait"}, {"list", "-n", "wait"}},
        {{"help", "list"}, {"list", "--help"}},
        {{"help"}, {"help"}},
        {{"help", "me"}, {"help", "me"}},
        {{"-n", "team"}, {"-n", "team"}},
        {{"-n"}, {"-n"}},
        {{"--version"}, {"--version"}},
        {{}, {}},
    };
    for (const auto& [words, wanted] : rows) CHECK(command_first(words, commands()) == wanted);
}

TEST_CASE("only TrainJobs in another state, and in no queue, are suspended or resumed", "[suspend]") {
    using Step = Suspension::Step;
    Brief job = running();
    CHECK(suspension_of(job, true).step == Step::patch);
    CHECK(suspension_of(job, false).step == Step::nothing);
    job.suspend = true;
    CHECK(suspension_of(job, true).step == Step::nothing);
    CHECK(suspension_of(job, false).step == Step::patch);
    job.queue = "team";
    CHECK(suspension_of(job, false).step == Step::refuse);
    CHECK(suspension_of(job, false).text.starts_with("is in the queue team: Kueue decides when it runs"));
    CHECK(suspension_of(ended(true), true).step == Step::nothing);
}

TEST_CASE("the exit status of wait distinguishes the expected end from another one", "[wait]") {
    Brief waits = running();
    waits.state = job_state_of(PodsState{.what = PodsDo::wait});
    Brief held = running();
    held.state.word = "suspended";
    const std::tuple<Goal, Brief, Outcome> rows[] = {
        {Goal::complete, running(), Outcome::waits},
        {Goal::complete, ended(true), Outcome::reached},
        {Goal::complete, ended(false), Outcome::other_end},
        {Goal::failed, ended(false), Outcome::reached},
        {Goal::failed, ended(true), Outcome::other_end},
        {Goal::running, running(), Outcome::reached},
        {Goal::running, waits, Outcome::waits},
        {Goal::running, ended(true), Outcome::other_end},
        {Goal::suspended, running(), Outcome::waits},
        {Goal::suspended, held, Outcome::reached},
        {Goal::running, held, Outcome::waits},
        {Goal::suspended, ended(false), Outcome::other_end},
    };
    for (const auto& [goal, job, outcome] : rows) CHECK(outcome_of(goal, job) == outcome);
}

TEST_CASE("a job that is to be suspended is waited for until its last program has ended", "[wait]") {
    Brief job = running();
    job.stage = {.state = lifecycle::State::suspended, .suspend = true};
    const PodsState pods = {.is_read = true,
                            .unfinished = 5,
                            .names = {"a on n1", "b on n2", "c"},
                            .ending = 5,
                            .grace_ends = now + 22s};
    set_pods(job, pods);
    CHECK(outcome_of(Goal::suspended, job) == Outcome::waits);
    CHECK(what_goes_on(job, now) ==
          "suspended, stopping: 5 of 5 Pods within their grace (22s left); a on n1, b on n2, c and 2 more");
    set_pods(job, {.is_read = true, .unfinished = 1, .names = {"a on n1"}});
    CHECK(outcome_of(Goal::suspended, job) == Outcome::waits);
    CHECK(what_goes_on(job, now) == "suspended, stopping: 1 of 1 Pod still runs; a on n1");
    // Of Jobs alone, no Pod has a name.
    set_pods(job, {.is_read = true, .unfinished = 2});
    CHECK(what_goes_on(job, now) == "suspended, stopping: 2 of 2 Pods still run");
    set_pods(job, {.is_read = true});
    CHECK(outcome_of(Goal::suspended, job) == Outcome::reached);
    CHECK(what_goes_on(job, now) == "suspended");
    CHECK(what_goes_on(running(), now) == "running");
}

TEST_CASE("a job has stopped once it stands still and its last program has ended", "[wait]") {
    using State = lifecycle::State;
    const auto outcome = [](const JobStage& stage, const PodsState& pods, bool has_ended = false) {
        Brief job = running();
        job.ended = has_ended;
        job.stage = stage;
        set_pods(job, pods);
        return outcome_of(Goal::stopped, job);
    };
    const PodsState none = {.is_read = true};
    const PodsState some = {.is_read = true, .unfinished = 1, .ending = 1, .grace_ends = now};
    const JobStage held = {.state = State::suspended, .suspend = true};
    const JobStage queued = {.state = State::suspended, .suspend = true, .is_queued = true};
    for (const JobStage& stage : {held, queued}) {
        CHECK(outcome(stage, none) == Outcome::reached);
        CHECK(outcome(stage, some) == Outcome::waits);
    }
    for (const auto state : {State::complete, State::failed}) {
        CHECK(outcome({.state = state}, none, true) == Outcome::reached);
        CHECK(outcome({.state = state}, some, true) == Outcome::waits);
    }
    // That no Pod was read says nothing.
    CHECK(outcome(held, {}) == Outcome::waits);
    // Without a program, but not for long.
    const JobStage go_on[] = {{.state = State::running},
                              {.state = State::running, .suspend = true},
                              {.state = State::running, .next_attempt = 1},
                              {.state = State::suspended},
                              {.state = State::pending}};
    for (const JobStage& stage : go_on) CHECK(outcome(stage, none) == Outcome::waits);
}

TEST_CASE("whether a job has stopped that another controller manages is not known here", "[wait]") {
    Brief far = ended(true);
    far.stage.state = lifecycle::State::elsewhere;
    const auto checked = check_goal(Goal::stopped, {ended(true), far});
    REQUIRE_FALSE(checked);
    CHECK(checked.error().message ==
          "vision/night is managed by another controller, and its Pods are not here: wait for its end where "
          "it runs");
    CHECK(check_goal(Goal::stopped, {ended(true), running()}));
    CHECK(check_goal(Goal::complete, {far}));
}

TEST_CASE("a job that a queue holds is suspended, once its last program has ended", "[wait]") {
    Brief job = running();
    job.stage = {.state = lifecycle::State::suspended, .suspend = true, .is_queued = true};
    set_pods(job, {.is_read = true, .unfinished = 1, .names = {"a on n1"}});
    CHECK(job.state.word == "queued");
    CHECK(outcome_of(Goal::suspended, job) == Outcome::waits);
    set_pods(job, {.is_read = true});
    CHECK(job.state.word == "queued");
    CHECK(outcome_of(Goal::suspended, job) == Outcome::reached);
    CHECK(outcome_of(Goal::running, job) == Outcome::waits);
}

TEST_CASE("names cannot be combined with labels, and one of them is required", "[wait]") {
    CHECK(check_targets({.names = {"a"}}));
    CHECK(check_targets({.all = true, .selector = "a=b"}));
    CHECK_FALSE(check_targets({}));
    CHECK_FALSE(check_targets({.names = {"a"}, .all = true}));
    CHECK_FALSE(check_targets({.names = {"a"}, .selector = "a=b"}));
}

TEST_CASE("an age may be given in days and weeks", "[delete]") {
    const std::pair<const char*, std::chrono::seconds> rows[] = {
        {"7d", 168h}, {"2w", 336h}, {"36h", 36h}, {"1h30m", 90min}, {"0d", 0s}};
    for (const auto& [text, time] : rows) {
        Age age;
        REQUIRE(read_option(text, age));
        CHECK(age.time == time);
    }
    for (const char* text : {"", "d", "-1d", "7", "7 d", "99999d"}) {
        Age age;
        CHECK_FALSE(read_option(text, age));
    }
}

TEST_CASE("only TrainJobs that ended long enough ago are deleted", "[delete]") {
    CHECK(has_ended_before(ended(true), {1h}, now));
    CHECK(has_ended_before(ended(false), {0s}, now));
    CHECK_FALSE(has_ended_before(ended(true, 59min), {1h}, now));
    CHECK_FALSE(has_ended_before(running(), {0s}, now));
    Brief leaving = ended(true);
    leaving.state.word = "being deleted";
    CHECK_FALSE(has_ended_before(leaving, {0s}, now));
}

TEST_CASE("logs of all Pods are in the order of their Jobs, and --node selects training Pods", "[logs]") {
    const std::vector<Json> pods = {pod("node", "10"), pod("node", "2"), pod("launcher", "0"),
                                    pod("dataset-initializer", "0", "dataset-initializer")};
    CHECK(labels_of(log_sources(pods, std::nullopt, "")) ==
          "dataset-initializer-0-0/dataset-initializer launcher-0-0/node node-0-2/node node-0-10/node ");
    CHECK(labels_of(log_sources(pods, 2, "")) == "node-0-2/node ");
    CHECK(labels_of(log_sources(pods, 0, "")).empty());
    CHECK(labels_of(log_sources({pod("trainer", "0"), pod("model-initializer", "0")}, 0, "side")) ==
          "trainer-0-0/side ");
    CHECK(log_sources(pods, 2, "")[0].id == "node2/2");
    CHECK(log_sources(pods, 2, "")[0].state == ContainerState::running);
    CHECK(log_sources(pods, 2, "")[0].restarts == 2);
    CHECK(log_sources(pods, 2, "other")[0].state == ContainerState::waiting);

    Json left = pod("node", "2");
    left["status"]["containerStatuses"] = Json::array({Json::object(
        {{"name", "node"}, {"state", Json::object({{"terminated", Json::object({{"exitCode", 0}})}})}})});
    CHECK(log_sources({left}, 2, "")[0].state == ContainerState::ended);
}

TEST_CASE("a line of a log is split from its time, and may be empty", "[logs]") {
    CHECK(log_line("2026-01-15T12:00:00.5Z epoch 1").text == "epoch 1");
    CHECK(log_line("2026-01-15T12:00:00.5Z ").text.empty());
    CHECK(log_line("2026-01-15T12:00:00.5Z ").stamp == "2026-01-15T12:00:00.5Z");
    CHECK(log_line("").text.empty());
}

TEST_CASE("a shell completes commands, options and their values", "[complete]") {
    CHECK(lines_for({"sus"}) == "suspend\tsuspend TrainJobs\n:4\n");
    CHECK(lines_for({""}).find("\nlist\t") != std::string::npos);
    CHECK(lines_for({"list", "--all-n"}) == "--all-namespaces\tthose of all namespaces\n:4\n");
    CHECK(lines_for({"list", "-o", "w"}) == "wide\n:4\n");
    CHECK(lines_for({"list", "--output=j"}) == "--output=json\n:4\n");
    CHECK(lines_for({"wait", "--for=s"}) == "--for=suspended\n--for=stopped\n:4\n");
    CHECK(lines_for({"check", "-f", ""}) == ":0\n");
    CHECK(lines_for({"check", "-k", ""}) == ":16\n");
    CHECK(lines_for({"unknown", ""}) == ":4\n");
    CHECK(lines_for({}).find("\nlist\t") != std::string::npos);
}

TEST_CASE("a shell completes names from the cluster", "[complete]") {
    using Ask = Choices::Ask;
    const std::pair<std::vector<std::string>, Ask> rows[] = {
        {{"explain", ""}, Ask::train_jobs},
        {{"wait", "a", "--for", "failed", "b"}, Ask::train_jobs},
        {{"list", ""}, Ask::nothing},
        {{"list", "-n", ""}, Ask::namespaces},
        {{"list", "--namespace=te"}, Ask::namespaces},
        {{"list", "--runtime", ""}, Ask::runtimes},
        {{"render", "-f", ""}, Ask::files},
        {{"list", "--watch", ""}, Ask::nothing},
        {{"list", "--context", ""}, Ask::contexts},
        {{"list", "--cluster=a"}, Ask::clusters},
        {{"list", "--user", ""}, Ask::users},
        {{"explain", "-n", "team", ""}, Ask::train_jobs},
        {{"explain", "--watch", "night", ""}, Ask::nothing},
    };
    for (const auto& [words, ask] : rows) {
        INFO(words.back());
        CHECK(choices_for(words, commands()).ask == ask);
    }
    CHECK(choices_for(std::vector<std::string>{"list", "--namespace=te"}, commands()).prefix ==
          "--namespace=");
}

}  // namespace cli
