// A JobSet that an apply has set going with a number of nodes that its TrainJob does not have any more.
#include "concluding.hpp"

namespace lifecycle {
namespace {

Observed of_former_size() {
    Observed observed = running();
    observed.job->spec["trainer"]["numNodes"] = 3;
    observed.job_set->built_for_nodes = 2;
    return observed;
}

std::string decided(const Observed& observed) { return text(decide(observed, start + 10s)); }

}  // namespace

TEST_CASE("a JobSet that runs with a former number of nodes is suspended, on a live view", "[decide]") {
    const Observed observed = of_former_size();
    CHECK(decided(observed) == "run: leave, resizes");
    CHECK(needs_live(decide(observed, start + 10s), observed) == Live::all);
}

TEST_CASE("a JobSet stays unless it is known to run with another number of nodes", "[decide]") {
    Observed observed = of_former_size();
    std::string want = "run: leave";
    SECTION("the same number") { observed.job_set->built_for_nodes = 3; }
    SECTION("the runtime's number") {
        observed.job->spec = api::Json();
        observed.job_set->built_for_nodes = api::nodes_of_runtime;
    }
    SECTION("an older release made it") { observed.job_set->built_for_nodes.reset(); }
    SECTION("it is being deleted") {
        observed.job_set->meta.deletion = start;
        want = "run: wait until gone";
    }
    SECTION("its TrainJob is being deleted") {
        observed.job->meta.deletion = start;
        want = "run: leave, no build";
    }
    SECTION("its TrainJob is suspended") {
        observed.job->suspend = true;
        observed.job->conditions.push_back(condition("Suspended", "True", "Suspended"));
        want = "run: suspend, leave";
    }
    SECTION("it is suspended already") {
        observed.job_set->suspend = true;
        want = "run: resume";
    }
    SECTION("it belongs to another owner") {
        make_foreign(observed);
        want = "run: refuse, no build";
    }
    SECTION("it has ended") {
        observed.job_set->finished = condition("Completed", "True", "AllJobsCompleted");
        want = "finish Complete/AllJobsCompleted";
    }
    CHECK(decided(observed) == want);
}

TEST_CASE("a job says once it is looked at why it keeps a former number of nodes", "[conclude]") {
    const Observed observed = of_former_size();
    const Conclusion conclusion =
        conclude_after(observed, 10s, {.keeps_size_for = "delete its volume claims"});
    CHECK(text(conclusion.events) == "Warning JobSetKept");
    CHECK_THAT(conclusion.events.front().note, Catch::EndsWith("a new one would delete its volume claims"));
    CHECK(text(conclusion.conditions) == "Created=True/JobsCreationSucceeded");
    CHECK(conclude_after(observed, 10s).events.empty());
}

}  // namespace lifecycle
