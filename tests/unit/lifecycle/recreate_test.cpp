#include "lifecycle/recreate.hpp"

#include "api/names.hpp"

#include "objects.hpp"
#include "text.hpp"

namespace lifecycle {

TEST_CASE("when a suspended JobSet is made anew", "[recreate]") {
    struct Row {
        const char* name;
        SuspendedChange change;
        Recreation want;
    };
    const Row rows[] = {
        {"a change that it takes", {}, Recreation::needless},
        {"a change that it takes while pods end",
         {.any_active = true, .has_run = true},
         Recreation::needless},
        {"a refused change", {.refused = true}, Recreation::recreate},
        {"a withdrawn label", {.withdraws = true}, Recreation::recreate},
        {"a refused change while pods end", {.refused = true, .any_active = true}, Recreation::wait},
        {"a withdrawn label while pods end", {.withdraws = true, .any_active = true}, Recreation::wait},
        {"a refused change after it has run", {.refused = true, .has_run = true}, Recreation::recreate},
        {"checkpoints would be lost",
         {.refused = true, .has_run = true, .deletes_claims = true},
         Recreation::forbidden},
        {"nor is there a point in waiting",
         {.withdraws = true, .any_active = true, .has_run = true, .deletes_claims = true},
         Recreation::forbidden},
        {"claims of a job that never ran", {.refused = true, .deletes_claims = true}, Recreation::recreate},
    };
    for (const Row& row : rows) {
        INFO(row.name);
        CHECK(recreation(row.change) == row.want);
    }
}

TEST_CASE("how the API server says that a field must not change", "[recreate]") {
    CHECK(
        refuses_immutable_field(server_error(422,
                                             "JobSet.jobset.x-k8s.io \"job\" is invalid: "
                                             "spec.replicatedJobs: Invalid value: []: field is immutable")));
    CHECK(refuses_immutable_field(
        server_error(422, "spec.network: Invalid value: \"object\": Value is immutable")));
    CHECK_FALSE(refuses_immutable_field(server_error(422, "spec.replicatedJobs: Required value")));
    CHECK_FALSE(refuses_immutable_field(server_error(409, "field is immutable")));
}

namespace {

api::Json job_set(const std::string& metadata, const std::string& pod_spec) {
    return *api::parse_json(
        R"({"spec":{"replicatedJobs":[{"name":"node","template":{"spec":{"template":{"metadata":)" +
        metadata + R"(,"spec":)" + pod_spec + "}}}}]}}");
}

// An entry of managedFields for fields of the pod template.
api::Json applied(const char* manager, const char* operation, const std::string& fields) {
    return *api::parse_json(std::string(R"({"manager":")") + manager + R"(","operation":")" + operation +
                            R"(","fieldsV1":{"f:spec":{"f:replicatedJobs":{"k:{\"name\":\"node\"}":)" +
                            R"({"f:template":{"f:spec":{"f:template":)" + fields + "}}}}}}}");
}

}  // namespace

TEST_CASE("what a JobSet would not forget", "[recreate]") {
    const auto full = job_set(R"({"labels":{"a":"1","b":"2"},"annotations":{"c":"3"}})",
                              R"({"nodeSelector":{"d":"4"},"tolerations":[{"key":"e"},{"key":"f"}],
                               "schedulingGates":[{"name":"g"}]})");
    const std::string path = "spec.replicatedJobs[0].template.spec.template.";
    using Paths = std::vector<std::string>;
    CHECK(withdrawn_fields(full, full).empty());
    CHECK(withdrawn_fields(job_set("{}", "{}"), full).empty());
    CHECK(withdrawn_fields(full, job_set("{}", "{}")) ==
          Paths{path + "metadata.labels[a]", path + "metadata.labels[b]", path + "metadata.annotations[c]",
                path + "spec.nodeSelector[d]", path + "spec.tolerations[0]", path + "spec.tolerations[1]",
                path + "spec.schedulingGates[0]"});
    const auto changed =
        job_set(R"({"labels":{"a":"9","b":"2"},"annotations":{"c":"3"}})",
                R"({"nodeSelector":{"d":"4"},"tolerations":[{"key":"f"},{"key":"e","value":"x"}],
                                  "schedulingGates":[{"name":"g"}]})");
    CHECK(withdrawn_fields(full, changed) == Paths{path + "spec.tolerations[0]"});
    CHECK(withdrawn_fields(full, api::Json()).empty());
}

TEST_CASE("what others put into a JobSet is not withdrawn by us", "[recreate]") {
    const std::string path = "spec.replicatedJobs[0].template.spec.template.";
    struct Row {
        const char* name;
        const char* metadata;
        const char* pod_spec;
        const char* ours;
        std::vector<std::string> want;
    };
    const Row rows[] = {
        {"a label",
         R"({"labels":{"a":"1","b":"2"}})",
         "{}",
         R"({"f:metadata":{"f:labels":{"f:a":{}}}})",
         {path + "metadata.labels[a]"}},
        {"labels next to our empty map",
         R"({"labels":{"b":"2"}})",
         "{}",
         R"({"f:metadata":{"f:labels":{}}})",
         {}},
        {"an annotation", R"({"annotations":{"b":"2"}})", "{}", "{}", {}},
        {"a node selector, which is one field to the API server",
         "{}",
         R"({"nodeSelector":{"a":"1"}})",
         "{}",
         {}},
        {"our node selector",
         "{}",
         R"({"nodeSelector":{"a":"1"}})",
         R"({"f:spec":{"f:nodeSelector":{}}})",
         {path + "spec.nodeSelector[a]"}},
        {"tolerations, likewise", "{}", R"({"tolerations":[{"key":"a"}]})", "{}", {}},
        {"our tolerations",
         "{}",
         R"({"tolerations":[{"key":"a"}]})",
         R"({"f:spec":{"f:tolerations":{}}})",
         {path + "spec.tolerations[0]"}},
        {"a scheduling gate next to ours",
         "{}",
         R"({"schedulingGates":[{"name":"a"},{"name":"b"}]})",
         R"({"f:spec":{"f:schedulingGates":{"k:{\"name\":\"b\"}":{}}}})",
         {path + "spec.schedulingGates[1]"}},
    };
    for (const Row& row : rows) {
        INFO(row.name);
        auto live = job_set(row.metadata, row.pod_spec);
        live["metadata"]["managedFields"] =
            api::Json::array({applied("somebody", "Apply", R"({"f:metadata":{"f:labels":{"f:b":{}}}})"),
                              applied("trainer", "Update", R"({"f:metadata":{"f:labels":{"f:b":{}}}})"),
                              applied("trainer", "Apply", row.ours)});
        CHECK(withdrawn_fields(live, job_set("{}", "{}")) == row.want);
    }
}

namespace {

// As if we had applied these fields to the pods of `node`, whoever else has written to them since.
api::Json noted(api::Json job_set, const std::string& pod_spec) {
    job_set["metadata"]["annotations"]["trainer.kubeflow.org/applied-hash"] =
        "0123456789abcdef {\"node\":" + pod_spec + "}";
    return job_set;
}

}  // namespace

TEST_CASE("our note tells apart what others put into a node selector or tolerations of ours", "[recreate]") {
    const std::string path = "spec.replicatedJobs[0].template.spec.template.spec.";
    const std::string ours = R"({"nodeSelector":{"a":"1","b":"2"},"tolerations":[{"key":"e"},{"key":"f"}]})";
    const auto live = noted(job_set("{}", R"({"nodeSelector":{"a":"1","b":"2","theirs":"3"},
        "tolerations":[{"key":"theirs"},{"key":"e"},{"key":"f"}]})"),
                            ours);
    using Paths = std::vector<std::string>;
    const auto same = job_set("{}", ours);
    CHECK(withdrawn_fields(live, same).empty());
    CHECK(with_entries_of_others(same, live)["spec"] == live["spec"]);

    const auto less = job_set("{}", R"({"nodeSelector":{"a":"1"},"tolerations":[{"key":"f"},{"key":"g"}]})");
    CHECK(withdrawn_fields(live, less) == Paths{path + "nodeSelector[b]", path + "tolerations[1]"});
    CHECK(with_entries_of_others(less, live)["spec"] ==
          job_set("{}", R"({"nodeSelector":{"a":"1","theirs":"3"},
              "tolerations":[{"key":"theirs"},{"key":"f"},{"key":"g"}]})")["spec"]);

    const auto none = job_set("{}", "{}");
    CHECK(withdrawn_fields(live, none).size() == 4);
    CHECK(with_entries_of_others(none, live) == none);
    // Of what somebody else wrote where we have nothing, and after somebody broke the note.
    const auto foreign = noted(job_set("{}", R"({"nodeSelector":{"theirs":"3"}})"), "{}");
    CHECK(withdrawn_fields(foreign, none).empty());
    CHECK(with_entries_of_others(none, foreign) == none);
    CHECK(withdrawn_fields(noted(job_set("{}", "{}"), "broken"), none).empty());
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
    CHECK(may_have_run(with_writers({ours, writer("somebody", "Apply", suspend)})));

    // Before our first apply, and after it.
    auto taken_over = with_writers({ours});
    taken_over["metadata"].erase("annotations");
    CHECK(may_have_run(taken_over));
    auto marked = with_mark_of_takeover(with_writers({ours}), taken_over);
    CHECK(may_have_run(marked));
    CHECK(may_have_run(with_mark_of_takeover(with_writers({ours}), marked)));
    CHECK_FALSE(may_have_run(with_mark_of_takeover(with_writers({ours}), with_writers({ours}))));
    // Once it runs, we suspend it ourselves, and that leaves a mark of its own.
    auto resumed = with_writers({ours});
    resumed["spec"]["suspend"] = false;
    CHECK(with_mark_of_takeover(resumed, marked) == resumed);
    taken_over["metadata"]["generation"] = 1;
    CHECK_FALSE(may_have_run(taken_over));
    CHECK_FALSE(may_have_run(with_mark_of_takeover(with_writers({ours}), taken_over)));
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
