#include "lifecycle/recreate.hpp"

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

TEST_CASE("what a JobSet would not forget", "[recreate]") {
    const auto spec = [](const std::string& metadata, const std::string& pod_spec) {
        return *api::parse_json(
            R"({"replicatedJobs":[{"name":"node","template":{"spec":{"template":{"metadata":)" + metadata +
            R"(,"spec":)" + pod_spec + "}}}}]}");
    };
    const auto full = spec(R"({"labels":{"a":"1","b":"2"},"annotations":{"c":"3"}})",
                           R"({"nodeSelector":{"d":"4"},"tolerations":[{"key":"e"},{"key":"f"}],
                               "schedulingGates":[{"name":"g"}]})");
    const std::string path = "spec.replicatedJobs[0].template.spec.template.";
    using Paths = std::vector<std::string>;
    CHECK(withdrawn_fields(full, full).empty());
    CHECK(withdrawn_fields(spec("{}", "{}"), full).empty());
    CHECK(withdrawn_fields(full, spec("{}", "{}")) ==
          Paths{path + "metadata.labels[a]", path + "metadata.labels[b]", path + "metadata.annotations[c]",
                path + "spec.nodeSelector[d]", path + "spec.tolerations[0]", path + "spec.tolerations[1]",
                path + "spec.schedulingGates[0]"});
    const auto changed =
        spec(R"({"labels":{"a":"9","b":"2"},"annotations":{"c":"3"}})",
             R"({"nodeSelector":{"d":"4"},"tolerations":[{"key":"f"},{"key":"e","value":"x"}],
                                  "schedulingGates":[{"name":"g"}]})");
    CHECK(withdrawn_fields(full, changed) == Paths{path + "spec.tolerations[0]"});
    CHECK(withdrawn_fields(full, api::Json()).empty());
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
