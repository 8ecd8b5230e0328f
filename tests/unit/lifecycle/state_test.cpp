#include "lifecycle/stall.hpp"
#include "lifecycle/state.hpp"

#include <catch2/catch.hpp>

#include "objects.hpp"

namespace lifecycle {

TEST_CASE("a TrainJob is in exactly one state, by what its status says", "[state]") {
    const auto blocked = [] {
        Observed observed = submitted();
        observed.job->conditions = {condition("Created", "False", "JobsBuildFailed")};
        return observed;
    };
    // --created-condition=on-failure.
    const auto running_unsaid = [] {
        Observed observed = running();
        observed.job->conditions.clear();
        return observed;
    };
    const auto resumed = [] {
        Observed observed = suspended();
        observed.job->conditions.back().status = "False";
        return observed;
    };
    const auto ended_while_suspended = [] {
        Observed observed = suspended();
        observed.job->conditions.push_back(condition("Complete", "True", "AllJobsCompleted"));
        return observed;
    };
    const auto elsewhere = [] {
        Observed observed = running();
        observed.job->managed_by = "kueue.x-k8s.io/multikueue";
        return observed;
    };
    struct Case {
        const char* name;
        Observed observed;
        State want;
    };
    const Case cases[] = {
        {"just submitted", submitted(), State::pending},
        {"not to be built", blocked(), State::blocked},
        {"with a JobSet", running(), State::running},
        {"with a JobSet of which only the counts tell", running_unsaid(), State::running},
        {"suspended", suspended(), State::suspended},
        {"resumed", resumed(), State::running},
        {"complete", completed(), State::complete},
        {"complete while suspended", ended_while_suspended(), State::complete},
        {"past its deadline", failed_by_deadline(), State::failed},
        {"managed by another controller", elsewhere(), State::elsewhere},
    };
    for (const Case& c : cases) DYNAMIC_SECTION(c.name) {
            CHECK(state_of(*c.observed.job) == c.want);
        }
}

TEST_CASE("a TrainJob that does not go on is counted by the reason of Stalled", "[state]") {
    const auto stalled = [](Observed observed, std::string_view reason, const char* status = "True") {
        observed.job->conditions.push_back(condition("Stalled", status, reason));
        return *observed.job;
    };
    for (std::size_t i = 0; i < stall_reason_count; ++i) {
        const auto reason = static_cast<StallReason>(i);
        CHECK(stall_reason_of(stalled(running(), name_of(reason))) == reason);
    }
    CHECK_FALSE(stall_reason_of(stalled(running(), "SaidByAnother")));
    CHECK_FALSE(stall_reason_of(*running().job));
    CHECK_FALSE(stall_reason_of(stalled(running(), "PodsNotCreated", "False")));
}

}  // namespace lifecycle
