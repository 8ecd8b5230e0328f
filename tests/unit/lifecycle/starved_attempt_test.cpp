// An attempt that avoids nodes, and whose Pods find none.
#include "lifecycle/judge.hpp"
#include "lifecycle/reconcile_machine.hpp"
#include "story.hpp"

namespace lifecycle {
namespace {

using Machine = ReconcileMachine;

// An attempt that avoids a node. None of its Pods has started.
Observed avoiding() {
    Observed observed = attempt(1);
    observed.job_set->excluded_nodes = {"gpu-1"};
    observed.job_set->all_started = false;
    observed.job->failures = {{.time = start, .pod = "job-node-0-0", .node = "gpu-1", .excludes_node = true}};
    observed.is_live = true;
    return observed;
}

// Lets the machine act, and returns whether it then asks for the placement.
bool asks(Machine& machine, api::Time now) {
    const auto first = machine.next(now);
    REQUIRE(first);
    if (!std::holds_alternative<Machine::Act>(*first)) return false;
    machine.acted({}, false);
    const auto next = machine.next(now);
    return next && std::holds_alternative<Machine::LookAtPlacement>(*next);
}

bool asks(Observed observed, api::Time now) {
    Machine machine(observed, std::nullopt, {});
    return asks(machine, now);
}

Observed with(void (*change)(Observed&)) {
    Observed observed = avoiding();
    change(observed);
    return observed;
}

const api::Time due = start_of_run(avoiding()) + exclusion_starves;

}  // namespace

TEST_CASE("an attempt that avoids nodes is asked after five minutes whether its Pods have one",
          "[attempts]") {
    CHECK_FALSE(asks(avoiding(), due - 1s));
    CHECK(asks(avoiding(), due));
    CHECK_FALSE(asks(with([](Observed& o) { o.job_set->excluded_nodes.clear(); }), due));
    CHECK_FALSE(asks(with([](Observed& o) { o.job_set->all_started = true; }), due));
    CHECK_FALSE(asks(with([](Observed& o) { o.job->attempt.began = start; }), due));
    CHECK_FALSE(asks(with([](Observed& o) { o.job_set->is_attempt = false; }), due));
}

TEST_CASE("the look is due in time, and again after five minutes", "[attempts]") {
    const auto requeue = [](api::Time now) {
        return conclude(avoiding(), decide(avoiding(), now), {}, now).requeue_after;
    };
    CHECK(requeue(due - 7s) == 7s);
    CHECK(requeue(due) == exclusion_starves);
}

TEST_CASE("a Pod that was made later has its own five minutes", "[attempts]") {
    Observed observed = avoiding();
    Machine machine(observed, std::nullopt, {});
    REQUIRE(asks(machine, due));
    machine.found_placement(due - 10s, due);
    while (machine.next(due + 1s)) {
    }
    CHECK(machine.result().requeue_after == exclusion_starves - 11s);
    CHECK(observed.job->restarts.all == 1);
}

TEST_CASE("Pods that lack a node end the exclusion, and that does not count", "[attempts]") {
    Observed observed = avoiding();
    Machine machine(observed, std::nullopt, {});
    REQUIRE(asks(machine, due));
    machine.found_placement(due - exclusion_starves, due);
    const auto action = machine.next(due);
    REQUIRE(action);
    const auto* write = std::get_if<Machine::WriteStatus>(&*action);
    REQUIRE(write);
    const Conclusion& concluded = write->conclusion;
    CHECK(concluded.restarts == api::Restarts{.all = 2, .counted = 1});
    REQUIRE(concluded.failures.size() == 2);
    CHECK(concluded.failures[0].reason == "NoNodeLeft");
    CHECK(concluded.failures[0].attempt == 1);
    CHECK(concluded.failures[0].message.ends_with("gpu-1"));
    CHECK_FALSE(concluded.failures[1].excludes_node);
    CHECK(api::is_true(concluded.conditions, api::condition::restarting));
}

TEST_CASE("Pods that have nodes go on", "[attempts]") {
    Observed observed = avoiding();
    Machine machine(observed, std::nullopt, {});
    REQUIRE(asks(machine, due));
    machine.found_placement(std::nullopt, due);
    CHECK_FALSE(asks(machine, due));
    CHECK(observed.job->restarts.all == 1);
}

TEST_CASE("a starved attempt is retired although it has not failed, and also of a suspended job",
          "[attempts]") {
    Observed observed = avoiding();
    observed.job->restarts = {.all = 2, .counted = 1};
    observed.job->failures.insert(observed.job->failures.begin(),
                                  {.attempt = 1,
                                   .time = due,
                                   .reason = "NoNodeLeft",
                                   .decision = api::FailureDecision::restart_uncounted});
    CHECK(text(decide(observed, due)) == "run: retire, no build");
    observed.job->suspend = true;
    observed.job->conditions.push_back(condition("Suspended", "True", "Suspended", due));
    const Decision suspended = decide(observed, due + 1s);
    REQUIRE(std::holds_alternative<Run>(suspended));
    CHECK(std::get<Run>(suspended).job_set == JobSetAction::retire);
}

TEST_CASE("a number of restarts that was raised ends no attempt that runs", "[attempts]") {
    Observed observed = avoiding();
    observed.job->restarts = {.all = 2, .counted = 1};
    CHECK_FALSE(is_judged(observed));
    observed.job->failures.front().decision = api::FailureDecision::restart;
    CHECK_FALSE(is_judged(observed));
}

}  // namespace lifecycle
