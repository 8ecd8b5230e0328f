#include <functional>

#include "concluding.hpp"

namespace lifecycle {
namespace {

// Deleted with everything, ten seconds after the start.
Observed in_deletion(Observed observed = running()) {
    observed.job->meta.deletion = start + 10s;
    observed.job_set->meta.deletion = start + 11s;
    observed.job_set->meta.finalizers = {"foregroundDeletion"};
    return observed;
}

}  // namespace

TEST_CASE("a deletion that waits for its JobSet for a minute makes an event, whatever the job was doing",
          "[conclude]") {
    const std::pair<const char*, Observed> jobs[] = {{"running", running()},
                                                     {"suspended", suspended()},
                                                     {"with a deadline", with_deadline(running(), 1h)},
                                                     {"complete", completed()},
                                                     {"ended, unseen", completed_unseen()},
                                                     {"late", failed_by_deadline()}};
    for (const auto& [name, job] : jobs) DYNAMIC_SECTION(name) {
            const Observed observed = in_deletion(job);
            const Conclusion early = conclude_after(observed, 70s);
            CHECK(text(early.events).find("DeletionBlocked") == std::string::npos);
            REQUIRE(early.requeue_after);
            CHECK(*early.requeue_after == 1s);
            const Conclusion late = conclude_after(observed, 71s);
            CHECK(text(late.events).find("Warning DeletionBlocked") != std::string::npos);
            CHECK(late.status_changed == early.status_changed);
        }
}

TEST_CASE("a blocked deletion makes an event every half an hour", "[conclude]") {
    Observed observed = in_deletion();
    int warnings = 0;
    for (auto at = 11s; at <= 2h;) {
        const Conclusion conclusion = conclude_after(observed, at);
        warnings += static_cast<int>(conclusion.events.size());
        observed.retry_state = conclusion.retry_state;
        REQUIRE(conclusion.requeue_after);
        at += *conclusion.requeue_after;
    }
    CHECK(warnings == 4);
    // Also when the status cannot be written.
    observed.retry_state =
        after_failed_status_write(conclude_after(observed, 2h), observed, lost_connection, start + 2h)
            .retry_state;
    CHECK(conclude_after(observed, 2h).events.empty());
}

TEST_CASE("a deletion that goes its way, or is not ours, is not reported", "[conclude]") {
    struct Row {
        const char* name;
        std::function<void(Observed&)> change;
    };
    const Row rows[] = {
        {"not deleted", [](Observed& o) { o.job->meta.deletion.reset(); }},
        {"its JobSet is not deleted", [](Observed& o) { o.job_set->meta.deletion.reset(); }},
        {"its JobSet is gone", [](Observed& o) { o.job_set.reset(); }},
        {"the JobSet is of another", [](Observed& o) { make_foreign(o); }},
        {"managed elsewhere", [](Observed& o) { o.job->managed_by = "example.com/other"; }},
    };
    for (const Row& row : rows) DYNAMIC_SECTION(row.name) {
            Observed observed = in_deletion();
            row.change(observed);
            const Conclusion conclusion = conclude_after(observed, 1h);
            CHECK(text(conclusion.events).find("DeletionBlocked") == std::string::npos);
            CHECK_FALSE(conclusion.retry_state.deletion_reported);
        }
}

TEST_CASE("a blocked deletion names the finalizers of the JobSet and says where to look for others",
          "[conclude]") {
    Observed observed = in_deletion();
    const auto note = [&] { return conclude_after(observed, 1h).events.at(0).note; };
    CHECK(note() ==
          "The deletion waits for JobSet default/job, which has the finalizers foregroundDeletion. "
          "foregroundDeletion "
          "waits for what the JobSet owns: Jobs, Pods that still end, volume claims. Finalizers of those: "
          "kubectl get "
          "jobs,pods,pvc -n default -l jobset.sigs.k8s.io/jobset-name=job -o "
          "custom-columns=KIND:.kind,NAME:.metadata.name,DELETED:.metadata.deletionTimestamp,"
          "FINALIZERS:.metadata.finalizers");
    observed.job_set->meta.finalizers = {"example.com/hold", "foregroundDeletion"};
    CHECK(note().find("the finalizers example.com/hold, foregroundDeletion. ") != std::string::npos);
    observed.job_set->meta.finalizers = {"example.com/hold"};
    CHECK(note() == "The deletion waits for JobSet default/job, which has the finalizers example.com/hold");
    observed.job_set->meta.finalizers = {std::string(900, 'x'), "foregroundDeletion"};
    CHECK(note().find(".metadata.finalizers") != std::string::npos);
    observed.job_set->meta.finalizers = {};
    CHECK(note() == "The deletion waits for JobSet default/job");
}

}  // namespace lifecycle
