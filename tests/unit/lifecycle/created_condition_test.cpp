#include "concluding.hpp"

namespace lifecycle {

TEST_CASE("with on-failure Created is never True", "[conclude]") {
    const Options on_failure = {CreatedCondition::on_failure};
    Observed refused_before = submitted();
    refused_before.job->conditions = {condition("Created", "False", "JobsCreationFailed")};
    for (const Observed& observed : {submitted(), refused_before}) {
        INFO(text(observed.job->conditions));
        CHECK(text(conclude_after(observed, 10s, {.job_set_written = true}, on_failure).conditions).empty());
        CHECK(text(conclude_after(observed, 10s, build_failed(), on_failure).conditions) ==
              "Created=False/JobsBuildFailed");
    }
    CHECK(text(conclude_after(running(), 10s, {}, on_failure).conditions).empty());
    CHECK(text(conclude_after(suspended(), 10s, {}, on_failure).conditions) == "Suspended=True/Suspended");
}

}  // namespace lifecycle
