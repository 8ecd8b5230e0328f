#include "lifecycle/recreate.hpp"

#include "api/names.hpp"
#include "lifecycle/refusal.hpp"

#include "objects.hpp"
#include "text.hpp"

namespace lifecycle {

TEST_CASE("when a suspended JobSet is made anew", "[recreate]") {
    struct Row {
        const char* name;
        RefusedChange change;
        Recreation want;
    };
    const Row rows[] = {
        {"a refused change", {}, Recreation::recreate},
        {"while pods end", {.any_active = true}, Recreation::wait},
        {"after it has run", {.has_run = true}, Recreation::recreate},
        {"checkpoints would be lost", {.has_run = true, .deletes_claims = true}, Recreation::loses_claims},
        {"nor is there a point in waiting",
         {.any_active = true, .has_run = true, .deletes_claims = true},
         Recreation::loses_claims},
        {"claims of a job that never ran", {.deletes_claims = true}, Recreation::recreate},
        {"initializers would run again", {.has_run = true, .has_finished = true}, Recreation::loses_work},
        {"nor is there a point in waiting for others",
         {.any_active = true, .has_run = true, .has_finished = true},
         Recreation::loses_work},
    };
    for (const Row& row : rows) {
        INFO(row.name);
        CHECK(recreation(row.change) == row.want);
    }
}

TEST_CASE("a JobSet of another controller keeps its template where a new one would lose something",
          "[recreate]") {
    struct Row {
        const char* name;
        const char* live;
        bool want;
    };
    const Row rows[] = {
        {"its initializers have finished",
         R"({"metadata":{"generation":2},"spec":{"suspend":true},
             "status":{"replicatedJobsStatus":[{"name":"init","succeeded":1}]}})",
         true},
        {"it lacks initializers that finished in an earlier attempt",
         R"({"metadata":{"generation":2,"annotations":{"trainer.kubeflow.org/finished-jobs":"init"}},
             "spec":{"suspend":true}})",
         true},
        {"its claims may hold something",
         R"({"metadata":{"generation":2},"spec":{"suspend":true,"volumeClaimPolicies":[{}]}})", true},
        {"its claims hold nothing",
         R"({"metadata":{"generation":1},"spec":{"suspend":true,"volumeClaimPolicies":[{}]}})", false},
        {"nothing is lost", R"({"metadata":{"generation":2},"spec":{"suspend":true}})", false},
    };
    for (const Row& row : rows) {
        INFO(row.name);
        api::Json live = *api::parse_json(row.live);
        CHECK(keeps_template_of_others(live) == row.want);
        // From our first apply on, our note of what it was built from counts.
        live["metadata"]["annotations"][api::applied_hash_annotation] = "1";
        CHECK_FALSE(keeps_template_of_others(live));
    }
    CHECK(template_kept("spec.network").note.find("spec.network is not as") != std::string::npos);
}

TEST_CASE("how often a JobSet was made anew is noted for each generation of its TrainJob", "[recreate]") {
    api::Json snapshot = api::Json::object();
    CHECK(recreations(snapshot, 5, "live") == 0);
    for (int times = 1; times <= 3; ++times) {
        snapshot = with_recreation(std::move(snapshot), 5, std::to_string(times));
        CHECK(recreations(snapshot, 5, "live") == times);
    }
    CHECK(recreations(snapshot, 6, "live") == 0);
    CHECK(recreations(snapshot, 55, "live") == 0);
    snapshot = with_recreation(std::move(snapshot), 6, "first");
    CHECK(recreations(snapshot, 6, "live") == 1);
    // A deletion that fails is tried again.
    CHECK(recreations(snapshot, 6, "first") == 0);
    snapshot = with_recreation(std::move(snapshot), 6, "first");
    CHECK(recreations(snapshot, 6, "live") == 1);
    // Whatever others write there grants no more of them.
    for (const char* note : {"7/x", "7/", "7/-1", "7/-1/live", "7/99999999999999999999"}) {
        INFO(note);
        snapshot["metadata"]["annotations"][api::recreations_annotation] = note;
        CHECK(recreations(snapshot, 7, "live") >= max_recreations);
    }
}

TEST_CASE("a JobSet that has lost a volume and cannot be made anew names the way out", "[recreate]") {
    const api::Error refusal = {.code = api::Errc::invalid,
                                .message = "it names volume \"v\", which is gone"};
    CHECK(
        api::describe(cannot_take(Recreation::loses_work, refusal)) ==
        "it names volume \"v\", which is gone: only a new JobSet makes a new claim, and that would run again "
        "what has finished; restore the claim, or delete the JobSet to start again");
    CHECK(is_rejection(too_many_recreations(refusal)));
    CHECK(too_many_recreations(refusal).message.find("3 times") != std::string::npos);
}

TEST_CASE("how the API server says that a field must not change", "[recreate]") {
    CHECK(
        refuses_immutable_field(server_error(422,
                                             "JobSet.jobset.x-k8s.io \"job\" is invalid: "
                                             "spec.replicatedJobs: Invalid value: []: field is immutable")));
    CHECK(refuses_immutable_field(
        server_error(422, "spec.network: Invalid value: \"object\": Value is immutable")));
    CHECK(refuses_immutable_field(server_error(
        422,
        "spec.replicatedJobs[0].template.spec.template.metadata: Invalid value: \"null\": "
        "spec.replicatedJobs[0].template.spec.template.metadata in body must be of type object: \"null\"")));
    CHECK_FALSE(refuses_immutable_field(server_error(422, "spec.replicatedJobs: Required value")));
    CHECK_FALSE(refuses_immutable_field(server_error(409, "field is immutable")));
}

TEST_CASE("a JobSet has certainly not run if it is as created, or only our applies ever suspended it",
          "[recreate]") {
    const auto never_ran = [](const char* text) { return !may_have_run(*api::parse_json(text)); };
    CHECK(never_ran(R"({"metadata":{"generation":1},"spec":{"suspend":true}})"));
    CHECK_FALSE(never_ran(R"({"metadata":{"generation":1},"spec":{"suspend":false}})"));
    CHECK_FALSE(never_ran(R"({"metadata":{"generation":2},"spec":{"suspend":true}})"));
    CHECK_FALSE(never_ran(R"({"spec":{"suspend":true}})"));

    const auto with_writers = [](std::initializer_list<api::Json> entries) {
        auto live = *api::parse_json(
            R"({"metadata":{"generation":3},"spec":{"suspend":true,"volumeClaimPolicies":[{}]}})");
        live["metadata"]["annotations"][api::applied_hash_annotation] = "1";
        live["metadata"]["managedFields"] = api::Json::array(entries);
        return live;
    };
    const auto writer = [](const char* manager, const char* operation, const char* fields) {
        return *api::parse_json(R"({"manager":")" + std::string(manager) + R"(","operation":")" + operation +
                                R"(","fieldsV1":)" + fields + "}");
    };
    const char* const suspend = R"({"f:spec":{"f:suspend":{}}})";
    const api::Json ours = writer("trainer", "Apply", suspend);
    const api::Json labels = writer("kueue", "Update", R"({"f:metadata":{"f:labels":{}}})");
    CHECK_FALSE(may_have_run(with_writers({ours, labels})));
    CHECK(may_have_run(with_writers({labels})));
    // This is how we suspend what runs.
    CHECK(may_have_run(with_writers({ours, writer("trainer", "Update", suspend)})));
    CHECK(may_have_run(with_writers({ours, writer("kubectl-edit", "Update", suspend)})));
    CHECK(may_have_run(with_writers({ours, writer("another-manager", "Apply", suspend)})));

    // Before our first apply, and after it.
    auto taken_over = with_writers({ours});
    taken_over["metadata"].erase("annotations");
    CHECK(may_have_run(taken_over));
    auto marked = with_mark_of_takeover(with_writers({ours}), taken_over, false);
    CHECK(may_have_run(marked));
    CHECK(may_have_run(with_mark_of_takeover(with_writers({ours}), marked, false)));
    CHECK_FALSE(may_have_run(with_mark_of_takeover(with_writers({ours}), with_writers({ours}), false)));
    // Once it runs, we suspend it ourselves, and that leaves a mark of its own.
    auto resumed = with_writers({ours});
    resumed["spec"]["suspend"] = false;
    CHECK(with_mark_of_takeover(resumed, marked, false) == resumed);
    // But for the template, which stays as it is.
    CHECK(api::is_taken_over(with_mark_of_takeover(resumed, marked, true)));
    CHECK_FALSE(api::is_taken_over(with_mark_of_takeover(resumed, resumed, true)));
    taken_over["metadata"]["generation"] = 1;
    CHECK_FALSE(may_have_run(taken_over));
    CHECK_FALSE(may_have_run(with_mark_of_takeover(with_writers({ours}), taken_over, false)));
}

TEST_CASE("volume claims are deleted unless they are retained", "[recreate]") {
    const auto deletes = [](const char* spec) { return deletes_volume_claims(*api::parse_json(spec)); };
    CHECK_FALSE(deletes("{}"));
    CHECK(deletes(R"({"volumeClaimPolicies":[{"templates":[]}]})"));
    CHECK(deletes(R"({"volumeClaimPolicies":[{"retentionPolicy":{"whenDeleted":"Delete"}}]})"));
    CHECK_FALSE(deletes(R"({"volumeClaimPolicies":[{"retentionPolicy":{"whenDeleted":"Retain"}}]})"));
    CHECK(deletes(R"({"volumeClaimPolicies":[{"retentionPolicy":{"whenDeleted":"Retain"}},{}]})"));
}

}  // namespace lifecycle
