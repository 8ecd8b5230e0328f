#include "lifecycle/withdrawal.hpp"

#include <catch2/catch.hpp>

#include "api/hash.hpp"
#include "api/names.hpp"

namespace lifecycle {

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

TEST_CASE("what a JobSet would not forget", "[withdrawal]") {
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

TEST_CASE("what others put into a JobSet is not withdrawn", "[withdrawal]") {
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
            api::Json::array({applied("other", "Apply", R"({"f:metadata":{"f:labels":{"f:b":{}}}})"),
                              applied("trainer", "Update", R"({"f:metadata":{"f:labels":{"f:b":{}}}})"),
                              applied("trainer", "Apply", row.ours)});
        CHECK(withdrawn_fields(live, job_set("{}", "{}")) == row.want);
    }
}

namespace {

// As if we had applied these fields to the pods of `node`, whatever was written to them since.
api::Json noted(api::Json job_set, const std::string& pod_spec) {
    job_set["metadata"]["annotations"]["trainer.kubeflow.org/applied-hash"] =
        "0123456789abcdef {\"node\":" + pod_spec + "}";
    return job_set;
}

}  // namespace

TEST_CASE("our note tells apart what others put into a node selector or tolerations of ours",
          "[withdrawal]") {
    const std::string path = "spec.replicatedJobs[0].template.spec.template.spec.";
    const std::string ours = R"({"nodeSelector":{"a":"1","b":"2"},"tolerations":[{"key":"e"},{"key":"f"}]})";
    const auto live = noted(job_set("{}", R"({"nodeSelector":{"a":"1","b":"2","foreign":"3"},
        "tolerations":[{"key":"foreign"},{"key":"e"},{"key":"f"}]})"),
                            ours);
    using Paths = std::vector<std::string>;
    const auto same = job_set("{}", ours);
    CHECK(withdrawn_fields(live, same).empty());
    CHECK(with_entries_of_others(same, live)["spec"] == live["spec"]);

    const auto less = job_set("{}", R"({"nodeSelector":{"a":"1"},"tolerations":[{"key":"f"},{"key":"g"}]})");
    CHECK(withdrawn_fields(live, less) == Paths{path + "nodeSelector[b]", path + "tolerations[1]"});
    CHECK(with_entries_of_others(less, live)["spec"] ==
          job_set("{}", R"({"nodeSelector":{"a":"1","foreign":"3"},
              "tolerations":[{"key":"foreign"},{"key":"f"},{"key":"g"}]})")["spec"]);

    const auto none = job_set("{}", "{}");
    CHECK(withdrawn_fields(live, none).size() == 4);
    CHECK(with_entries_of_others(none, live) == none);
    // Of what others wrote where we have nothing, and after the note was broken.
    const auto foreign = noted(job_set("{}", R"({"nodeSelector":{"foreign":"3"}})"), "{}");
    CHECK(withdrawn_fields(foreign, none).empty());
    CHECK(with_entries_of_others(none, foreign) == none);
    CHECK(withdrawn_fields(noted(job_set("{}", "{}"), "broken"), none).empty());
}

namespace {

// `job_set` after an apply of `wanted`, as far as this is about.
api::Json after(const api::Json& wanted, const char* status = "{}") {
    api::Json live = wanted;
    live["metadata"]["uid"] = "js";
    live["status"] = *api::parse_json(status);
    return live;
}

const char* const looked_at = R"({"replicatedJobsStatus":[{"name":"node"}]})";

api::Json job(const char* name, const std::string& metadata, const std::string& pod_spec,
              const char* status = "{}", bool suspend = true, const char* owner = "js") {
    api::Json made =
        *api::parse_json(R"({"spec":{"template":{"metadata":)" + metadata + R"(,"spec":)" + pod_spec + "}}}");
    made["metadata"] = *api::parse_json(R"({"namespace":"ns","uid":"u","resourceVersion":"7",
        "labels":{"jobset.sigs.k8s.io/replicatedjob-name":"node"}})");
    made["metadata"]["name"] = name;
    made["metadata"]["ownerReferences"] =
        api::Json::array({api::Json::object({{"uid", owner}, {"controller", true}})});
    made["spec"]["suspend"] = suspend;
    made["status"] = *api::parse_json(status);
    return made;
}

std::vector<std::string> names(const JobsToReplace& found) {
    std::vector<std::string> names;
    for (const api::ObjectMeta& each : found.remove) names.push_back(each.name);
    return names;
}

}  // namespace

TEST_CASE("a JobSet from which something is withdrawn stays suspended and notes it", "[withdrawal]") {
    const auto full = job_set(R"({"labels":{"a":"1","b":"2"},"annotations":{"c":"3"}})",
                              R"({"nodeSelector":{"d":"4"},"tolerations":[{"key":"e"},{"key":"f"}],
                               "schedulingGates":[{"name":"g"}]})");
    auto less = job_set(R"({"labels":{"a":"1"}})", R"({"tolerations":[{"key":"f"}]})");
    less["spec"]["suspend"] = false;
    CHECK(with_withdrawn(less, full, false) == less);
    CHECK(with_withdrawn(less, less, true) == less);
    const auto noted = with_withdrawn(less, full, true);
    CHECK(has_withdrawn(noted));
    CHECK(noted["spec"]["suspend"] == api::Json(true));
    // The note stays until it is taken away, but for what is wanted again.
    CHECK(with_withdrawn(less, noted, false) == noted);
    CHECK_FALSE(has_withdrawn(with_withdrawn(full, noted, true)));
}

TEST_CASE("suspended Jobs that have what was withdrawn go", "[withdrawal]") {
    const auto before = job_set(R"({"labels":{"a":"1"}})",
                                R"({"nodeSelector":{"d":"4"},"tolerations":[{"key":"e","value":""}],
                                    "schedulingGates":[{"name":"g"}]})");
    const auto noted = after(with_withdrawn(job_set("{}", "{}"), before, true), looked_at);
    struct Row {
        const char* name;
        api::Json job;
        bool goes;
        bool settled;
    };
    const std::string complete = R"({"conditions":[{"type":"Complete","status":"True"}]})";
    const Row rows[] = {
        {"the label", job("j", R"({"labels":{"a":"9"}})", "{}"), true, false},
        {"the selector", job("j", "{}", R"({"nodeSelector":{"d":"4"}})"), true, false},
        {"the toleration, as Jobs write it", job("j", "{}", R"({"tolerations":[{"key":"e"}]})"), true, false},
        {"the gate", job("j", "{}", R"({"schedulingGates":[{"name":"g"}]})"), true, false},
        {"nothing of it", job("j", R"({"labels":{"b":"1"}})", R"({"nodeSelector":{"x":"4"}})"), false, true},
        {"it has finished", job("j", R"({"labels":{"a":"9"}})", "{}", complete.c_str()), false, true},
        {"it is not suspended yet", job("j", R"({"labels":{"a":"9"}})", "{}", "{}", false), false, false},
        {"it is of another JobSet", job("j", R"({"labels":{"a":"9"}})", "{}", "{}", true, "x"), false, false},
    };
    for (const Row& row : rows) {
        INFO(row.name);
        const auto found = jobs_to_replace(noted, {row.job});
        CHECK(names(found) == (row.goes ? std::vector<std::string>{"j"} : std::vector<std::string>{}));
        CHECK(found.settled == row.settled);
        if (row.goes) CHECK(found.remove.front().resource_version == "7");
    }
    auto going = job("j", R"({"labels":{"a":"9"}})", "{}");
    going["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
    CHECK(jobs_to_replace(noted, {going}).remove.empty());
    CHECK_FALSE(jobs_to_replace(noted, {going}).settled);
}

TEST_CASE("a job goes on once JobSet has made its Jobs anew", "[withdrawal]") {
    const auto before = job_set(R"({"labels":{"a":"1"}})", "{}");
    const auto noted = with_withdrawn(job_set("{}", "{}"), before, true);
    CHECK_FALSE(jobs_to_replace(after(noted, looked_at), {}).settled);
    CHECK(jobs_to_replace(after(noted, looked_at), {job("j", "{}", "{}")}).settled);
    // One that JobSet's controller has never looked at has no Jobs.
    CHECK(jobs_to_replace(after(noted), {}).settled);
    // What waits for others need not be there.
    auto waiting = after(noted, looked_at);
    waiting["spec"]["replicatedJobs"].push_back(
        *api::parse_json(R"({"name":"later","dependsOn":[{"name":"node","status":"Complete"}]})"));
    CHECK(jobs_to_replace(waiting, {job("j", "{}", "{}")}).settled);
    const auto over = job("j", "{}", "{}", R"({"conditions":[{"type":"Complete","status":"True"}]})");
    CHECK_FALSE(jobs_to_replace(waiting, {over}).settled);
}

TEST_CASE("what others have put into the JobSet as well is not taken from its Jobs", "[withdrawal]") {
    const auto before = job_set(R"({"labels":{"a":"1"}})", "{}");
    auto live = after(with_withdrawn(job_set("{}", "{}"), before, true), looked_at);
    live["spec"]["replicatedJobs"] = before["spec"]["replicatedJobs"];
    const auto found = jobs_to_replace(live, {job("j", R"({"labels":{"a":"1"}})", "{}")});
    CHECK(found.remove.empty());
    CHECK(found.settled);
}

TEST_CASE("a note of hashes tells as much as one that names selectors and tolerations", "[withdrawal]") {
    const auto live = job_set("{}", R"({"nodeSelector":{"a":"1","foreign":"3"},
        "tolerations":[{"key":"e"},{"key":"foreign"}]})");
    const std::string selector = api::entry_hash("node", "nodeSelector", "a");
    const std::string toleration = api::entry_hash("node", "tolerations", R"({"key":"e"})");
    const auto hashed =
        noted(live, R"({"nodeSelector":{")" + selector + R"(":""},"tolerations":[")" + toleration + R"("]})");
    CHECK(withdrawn_fields(hashed, job_set("{}", "{}")).size() == 2);
}

TEST_CASE("for one note Jobs are made anew three times, each time once all of them are there",
          "[withdrawal]") {
    const auto before = job_set(R"({"labels":{"a":"1"}})", "{}");
    const auto noted = after(with_withdrawn(job_set("{}", "{}"), before, true), looked_at);
    const auto made_at = [](const char* time) {
        auto made = job("j", R"({"labels":{"a":"1"}})", "{}");
        made["metadata"]["creationTimestamp"] = time;
        return made;
    };
    const auto first = jobs_to_replace(noted, {made_at("2026-01-01T00:00:05Z")});
    CHECK(first.replacements == "1/2026-01-01T00:00:05Z");
    const auto counted = with_replacements(noted, first.replacements);
    // What could not be deleted is of the same round.
    const auto again = jobs_to_replace(counted, {made_at("2026-01-01T00:00:05Z")});
    CHECK(names(again).size() == 1);
    CHECK(again.replacements.empty());
    const auto second = jobs_to_replace(counted, {made_at("2026-01-01T00:00:06Z")});
    CHECK(second.replacements == "2/2026-01-01T00:00:06Z");
    // JobSet may be at it still.
    auto two = counted;
    two["spec"]["replicatedJobs"].items().front()["replicas"] = 2;
    const auto some = jobs_to_replace(two, {made_at("2026-01-01T00:00:06Z")});
    CHECK(names(some).empty());
    CHECK_FALSE(some.settled);
    CHECK(some.waits_for.find("\"node\", of which 1 of 2 are there") != std::string::npos);

    const auto last = with_replacements(noted, "3/2026-01-01T00:00:07Z");
    CHECK(names(jobs_to_replace(last, {made_at("2026-01-01T00:00:07Z")})).size() == 1);
    for (const auto& spent : {last, with_replacements(noted, "edited")}) {
        const auto over = jobs_to_replace(spent, {made_at("2026-01-01T00:00:08Z")});
        CHECK(names(over).empty());
        CHECK(over.settled);
        CHECK(over.kept == "label a of Job ns/j");
    }
    CHECK(jobs_not_replaced("label a of Job ns/j").note.find("label a of Job ns/j") != std::string::npos);
}

TEST_CASE("the count of replacements goes with the note", "[withdrawal]") {
    const auto before = job_set(R"({"labels":{"a":"1","b":"2"}})", "{}");
    const auto half = job_set(R"({"labels":{"b":"2"}})", "{}");
    const auto none = job_set("{}", "{}");
    const auto count_of = [](const api::Json& of) {
        return of["metadata"]["annotations"]["trainer.kubeflow.org/replacements"].as_string();
    };
    const auto counted = with_replacements(with_withdrawn(half, before, true), "3/2026-01-01T00:00:07Z");
    CHECK(count_of(with_withdrawn(half, counted, false)) == "3/2026-01-01T00:00:07Z");
    // More is withdrawn.
    auto live = counted;
    live["spec"] = half["spec"];
    CHECK(has_withdrawn(with_withdrawn(none, live, true)));
    CHECK(count_of(with_withdrawn(none, live, true)).empty());
    // What was withdrawn is wanted again.
    CHECK(count_of(with_withdrawn(before, counted, true)).empty());
}

TEST_CASE("an event names what keeps Jobs from being made anew", "[withdrawal]") {
    const auto before = job_set(R"({"labels":{"a":"1"}})", "{}");
    const auto noted = after(with_withdrawn(job_set("{}", "{}"), before, true), looked_at);
    auto going = job("j", R"({"labels":{"a":"1"}})", "{}");
    going["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
    going["metadata"]["finalizers"] = api::Json::array({"foregroundDeletion", "example.com/hold"});
    CHECK(
        jobs_to_replace(noted, {going}).waits_for ==
        "Job ns/j, which is being deleted with its Pods (finalizers: foregroundDeletion, example.com/hold)");
    CHECK(jobs_to_replace(noted, {job("j", R"({"labels":{"a":"1"}})", "{}", "{}", false)}).waits_for ==
          "Job ns/j, which is not suspended yet");
    CHECK(jobs_to_replace(noted, {}).waits_for ==
          "JobSet to make the Jobs of \"node\", of which 0 of 1 are there; see the events of the JobSet");
}

}  // namespace lifecycle
