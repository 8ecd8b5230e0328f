#include "api/job_set.hpp"

#include <catch2/catch.hpp>

#include "support/printers.hpp"

using namespace api;

TEST_CASE("the parts of a JobSet that decisions need are read", "[api]") {
    const JobSet job_set = parse_job_set(*parse_json(R"({
        "metadata": {"name": "job", "namespace": "team",
                     "ownerReferences": [{"uid": "u1", "controller": true}]},
        "spec": {"suspend": true},
        "status": {"conditions": [{"type": "StartupPolicyCompleted", "status": "True"},
                                  {"type": "Failed", "status": "False"},
                                  {"type": "Completed", "status": "True", "message": "all done"}],
                   "replicatedJobsStatus": [{"name": "node", "ready": 1, "active": 0, "suspended": 2},
                                            {"name": "launcher", "active": 1, "succeeded": 3, "failed": 4}]}})"));
    CHECK(to_string(job_set.meta.key()) == "team/job");
    CHECK(job_set.suspend);
    REQUIRE(job_set.finished);
    CHECK(job_set.finished->message == "all done");
    CHECK(job_set.replicated_jobs ==
          std::vector<JobStatus>{{.name = "node", .ready = 1, .suspended = 2},
                                 {.name = "launcher", .succeeded = 3, .failed = 4, .active = 1}});
    CHECK(job_set.any_active());
}

TEST_CASE("a JobSet that has just been created is neither finished nor active", "[api]") {
    for (
        const char* text :
        {"null", "{}", R"({"spec": {"suspend": "true"}, "status": {"conditions": 3}})",
         R"({"status": {"replicatedJobsStatus": [{"name": "node", "active": 0}, {"active": "1"}, null]}})"}) {
        const JobSet job_set = parse_job_set(*parse_json(text));
        INFO(text);
        CHECK_FALSE(job_set.suspend);
        CHECK_FALSE(job_set.finished);
        CHECK_FALSE(job_set.any_active());
    }
}

TEST_CASE("a JobSet without our hash, or with our note, belongs to another controller", "[api]") {
    const auto taken_over = [](const char* annotations) {
        return parse_job_set(
                   *parse_json(R"({"metadata": {"annotations": )" + std::string(annotations) + "}}"))
            .taken_over;
    };
    CHECK(taken_over("{}"));
    CHECK_FALSE(taken_over(R"({"trainer.kubeflow.org/applied-hash": "1"})"));
    CHECK(taken_over(
        R"({"trainer.kubeflow.org/applied-hash": "1", "trainer.kubeflow.org/taken-over": "true"})"));
}

TEST_CASE("a JobSet tells from which runtime it was built", "[api]") {
    const auto noted = [](const std::string& note) {
        Json job_set;
        job_set["metadata"]["annotations"]["trainer.kubeflow.org/applied-hash"] = note;
        return parse_job_set(job_set).runtime_digest;
    };
    const std::string digest = "sha256:" + std::string(64, 'a');
    CHECK(noted("1.2.3.4." + digest) == digest);
    CHECK(noted("1.2.3.4." + digest + " {\"node\":{}}") == digest);
    CHECK(noted("1.2.3..a") == "a");
    for (const char* other : {"", "1", "1.2.3", "1.2.3.4", "1.2.3.4 a.b.c.d.e.f"})
        CHECK(noted(other).empty());
    CHECK(noted("1.2.3.4." + digest + "a").empty());
}

TEST_CASE("a JobSet tells from which fields of its TrainJob it was built", "[api]") {
    const auto noted = [](const std::string& note) {
        Json job_set;
        job_set["metadata"]["annotations"]["trainer.kubeflow.org/applied-hash"] = note;
        return parse_job_set(job_set).built_from;
    };
    const std::string inputs = std::string(16, 'a') + "-" + std::string(16, 'b') + "+";
    CHECK(noted("1.2.3.4.5." + inputs + " {}") == inputs);
    CHECK(noted("1.2.3.4.5").empty());
    CHECK(noted("1.2.3.4.5." + inputs + "x").empty());
}

TEST_CASE("a JobSet tells for which number of nodes it was built", "[api]") {
    const auto noted = [](const std::string& note) {
        Json job_set;
        job_set["metadata"]["annotations"]["trainer.kubeflow.org/applied-hash"] = note;
        return parse_job_set(job_set).built_for_nodes;
    };
    CHECK(noted("1.2.3.4") == 4);
    CHECK(noted("1.2.3.4 {\"node\":{}}") == 4);
    CHECK(noted("1.2.3.4.sha256:5 {\"node\":{}}") == 4);
    CHECK(noted("1.2.3.-") == nodes_of_runtime);
    // Kubeflow Trainer writes none, and users can write anything.
    for (const char* other : {"", "1", "1.2.3", "1.2.3 {\"a\":1.5.6}", "1.2.3.", "1.2.3.4x", "1.2.3.-4",
                              "1.2.3.99999999999999999999"}) {
        INFO(other);
        CHECK_FALSE(noted(other));
    }
    TrainJob job;
    CHECK(nodes_note(job) == "-");
    job.spec["trainer"]["numNodes"] = 4;
    CHECK(nodes_note(job) == "4");
    CHECK(noted("1.2.3." + nodes_note(job)) == num_nodes(job));
}

TEST_CASE("what was noted of an apply is read part by part", "[api]") {
    const auto parts = [](const std::string& text) {
        Json job_set;
        job_set["metadata"]["annotations"]["trainer.kubeflow.org/applied-hash"] = text;
        const AppliedNote note = applied_note(job_set);
        std::string all;
        for (const std::string_view part :
             {note.hash, note.fixed_part, note.source, note.nodes, note.runtime, note.inputs, note.placement})
            all.append(part).append("|");
        return all;
    };
    CHECK(parts("a.b.c.3 {\"node\":1.5}") == "a|b|c|3|||{\"node\":1.5}|");
    CHECK(parts("a.b.c.3") == "a|b|c|3||||");
    CHECK(parts("a.b.c {\"a\":1.5.6}") == "a|b|c||||{\"a\":1.5.6}|");
    CHECK(parts("a.b") == "a|b||||||");
    CHECK(parts("a") == "a|||||||");
    CHECK(parts("") == "|||||||");
    CHECK(parts("a.b.c.3.4 ") == "a|b|c|3|4|||");
    CHECK(parts("a.b.c.3.4.d-e+ {}") == "a|b|c|3|4|d-e+|{}|");
    CHECK(parts("...") == "|||||||");
    CHECK(applied_note(Json()).hash.empty());
}

TEST_CASE("a JobSet belongs to the TrainJob whose uid controls it", "[api]") {
    JobSet job_set;
    TrainJob job;
    CHECK_FALSE(job_set.belongs_to(job));
    job.meta.uid = "u1";
    CHECK_FALSE(job_set.belongs_to(job));
    job_set.meta.controller_uid = "u1";
    CHECK(job_set.belongs_to(job));
    job.meta.uid = "u2";
    CHECK_FALSE(job_set.belongs_to(job));
}

// `jobs` and `counts` as JSON lists.
static JobSet counting(const std::string& jobs, const std::string& counts, const std::string& more = "") {
    return parse_job_set(parse_json(R"({"spec":{"replicatedJobs":)" + jobs + more +
                                    R"(},"status":{"replicatedJobsStatus":)" + counts + "}}")
                             .value());
}

static std::string lacking(const std::string& jobs, const std::string& counts, const std::string& more = "") {
    return counting(jobs, counts, more).lacks_pods;
}

static bool waits(const std::string& jobs, const std::string& counts, const std::string& more = "") {
    return counting(jobs, counts, more).waits_for_others;
}

TEST_CASE("a replicated job lacks Pods while it is due and fewer Jobs count than it has replicas") {
    const std::string one = R"([{"name":"node"}])";
    const std::string two = R"([{"name":"node","replicas":2}])";
    CHECK(lacking(one, "[]") == "node");
    CHECK(lacking(one, R"([{"name":"node"}])") == "node");
    for (const char* count : {"active", "succeeded", "failed"}) {
        INFO(count);
        CHECK(lacking(one, R"([{"name":"node",")" + std::string(count) + R"(":1}])").empty());
        CHECK(lacking(two, R"([{"name":"node",")" + std::string(count) + R"(":1}])") == "node");
    }
    // The JobSet controller resumes the Jobs of a JobSet that is resumed.
    const std::string suspended = R"([{"name":"node","suspended":1}])";
    CHECK(lacking(one, suspended, R"(,"suspend":true)").empty());
    CHECK(lacking(one, suspended) == "node");
    CHECK_FALSE(waits(one, "[]"));
    CHECK(lacking(two, R"([{"name":"node","active":1,"succeeded":1}])").empty());
    CHECK(lacking("[]", "[]").empty());
}

TEST_CASE("a replicated job that depends on others is due once they are ready, or complete") {
    const auto after = [](const char* status) {
        return R"([{"name":"node","dependsOn":[{"name":"data","status":")" + std::string(status) +
               R"("}]},{"name":"data","replicas":2}])";
    };
    const std::string active = R"([{"name":"data","active":2}])";
    const std::string ready = R"([{"name":"data","active":2,"ready":2}])";
    const std::string complete = R"([{"name":"data","succeeded":2}])";
    CHECK(lacking(after("Complete"), active).empty());
    CHECK(waits(after("Complete"), active));
    CHECK_FALSE(waits(after("Complete"), complete));
    CHECK_FALSE(waits(after("Ready"), R"([{"name":"data","active":2},{"name":"node","active":1}])"));
    CHECK(lacking(after("Complete"), ready).empty());
    CHECK(lacking(after("Complete"), complete) == "node");
    CHECK(lacking(after("Ready"), active).empty());
    CHECK(lacking(after("Ready"), ready) == "node");
    CHECK(lacking(after("Ready"), complete) == "node");
}

TEST_CASE("in order, a replicated job is due once those before it have started") {
    const std::string jobs = R"([{"name":"launcher"},{"name":"node"}])";
    const std::string in_order = R"(,"startupPolicy":{"startupPolicyOrder":"InOrder"})";
    const std::string active = R"([{"name":"launcher","active":1}])";
    const std::string ready = R"([{"name":"launcher","active":1,"ready":1}])";
    CHECK(lacking(jobs, active, in_order).empty());
    CHECK(waits(jobs, active, in_order));
    CHECK_FALSE(waits(jobs, ready, in_order));
    CHECK(lacking(jobs, ready, in_order) == "node");
    CHECK(lacking(jobs, active) == "node");
    CHECK(lacking(jobs, "[]", in_order) == "launcher");
}

TEST_CASE("the restarts of a JobSet add to those before it", "[api]") {
    const auto restarts = [](const char* before, const char* status) {
        Json object = Json::object({{"status", *parse_json(status)}});
        object["metadata"]["annotations"]["trainer.kubeflow.org/restarts-before"] = before;
        const JobSet job_set = parse_job_set(object);
        return restarts_before_text(job_set.restarts_before) + " " + restarts_before_text(job_set.restarts);
    };
    CHECK(restarts("3,1", R"({"restarts": 2, "restartsCountTowardsMax": 2})") == "3,1 5,3");
    CHECK(restarts("3,1", "{}") == "3,1 3,1");
    for (const char* forged : {"", "3", "3,", ",1", "3,1,", "3,1 ", "a,b", "3.5,1", "99999999999999999999,1"})
        CHECK(restarts(forged, R"({"restarts": 2})") == "0,0 2,0");
    CHECK(restarts("-3,-1", R"({"restarts": -2, "restartsCountTowardsMax": "7"})") == "0,0 0,0");
    CHECK(restarts("2147483647,9223372036854775807", R"({"restarts": 2147483647})") ==
          "2147483647,2147483647 2147483647,2147483647");
}

TEST_CASE("why a JobSet restarts is read as long as it does, and its maximum", "[api]") {
    const char* const text = R"({"spec": {"failurePolicy": {"maxRestarts": 4}},
        "status": {"conditions": [{"type": "RestartingJobSet", "status": "True", "message": "node-0 failed"}]}})";
    Json object = *parse_json(text);
    CHECK(parse_job_set(object).restart_message == "node-0 failed");
    CHECK(parse_job_set(object).max_restarts == 4);
    object["status"]["conditions"].items()[0]["status"] = "False";
    object["spec"].erase("failurePolicy");
    CHECK(parse_job_set(object).restart_message.empty());
    CHECK_FALSE(parse_job_set(object).max_restarts);
}

TEST_CASE("a JobSet tells its queue, and what was written of its TrainJob's suspend", "[api]") {
    const auto written = [](const char* metadata) {
        return parse_job_set(*parse_json(R"({"metadata": )" + std::string(metadata) + "}")).written_suspend;
    };
    const std::string note = R"({"annotations": {"trainer.kubeflow.org/written-suspend": )";
    CHECK(written((note + "\"true\"}}").c_str()) == true);
    CHECK(written((note + "\"false\"}}").c_str()) == false);
    for (const char* other : {"\"\"}}", "\"True\"}}", "true}}", "null}}"})
        CHECK_FALSE(written((note + other).c_str()));
    CHECK_FALSE(written("{}"));
    CHECK(
        parse_job_set(*parse_json(R"({"metadata": {"labels": {"kueue.x-k8s.io/queue-name": "q"}}})")).queue ==
        "q");
    CHECK(parse_job_set(*parse_json("{}")).queue.empty());
}

namespace {

JobSet annotated(const std::string& annotations) {
    return parse_job_set(*parse_json(R"({"metadata": {"annotations": )" + annotations + "}}"));
}

}  // namespace

TEST_CASE("a JobSet with the number of an attempt is one, whatever the number", "[api]") {
    CHECK(annotated(R"({"trainer.kubeflow.org/attempt": "0"})").is_attempt);
    CHECK(annotated(R"({"trainer.kubeflow.org/attempt": "x"})").is_attempt);
    CHECK_FALSE(annotated("{}").is_attempt);
    const JobSet second =
        annotated(R"({"trainer.kubeflow.org/attempt": "9", "trainer.kubeflow.org/restarts-before": "2,1"})");
    CHECK(second.restarts == Restarts{.all = 2, .counted = 1});
}

TEST_CASE("a JobSet says which nodes its Pods avoid", "[api]") {
    const auto nodes = [](const std::string& note) {
        return annotated(R"({"trainer.kubeflow.org/excluded-nodes": )" + note + "}").excluded_nodes;
    };
    using Nodes = std::vector<std::string>;
    CHECK(annotated("{}").excluded_nodes.empty());
    CHECK(nodes(R"("gpu-17,gpu-3.example")") == Nodes{"gpu-17", "gpu-3.example"});
    CHECK(nodes(R"(",a,,b,")") == Nodes{"a", "b"});
    CHECK(nodes(R"("a,b,c,d,e,f,g")") == Nodes{"a", "b", "c", "d", "e"});
    CHECK(nodes("\"" + std::string(254, 'x') + ",a\"") == Nodes{"a"});
    CHECK(nodes(R"("")").empty());
    CHECK(nodes("7").empty());
}

TEST_CASE("a JobSet says which jobs it lacks since they have succeeded in an earlier attempt", "[api]") {
    const auto jobs =
        annotated(R"({"trainer.kubeflow.org/finished-jobs": "dataset-initializer,b,c,d,e,f"})").finished_jobs;
    CHECK(jobs == std::vector<std::string>{"dataset-initializer", "b", "c", "d", "e"});
    CHECK(annotated("{}").finished_jobs.empty());
}

TEST_CASE("all Pods have started once each Job of each replicated job is ready or has ended", "[api]") {
    struct Case {
        const char* name;
        const char* jobs;
        const char* counts;
        bool want;
    };
    const Case cases[] = {
        {"no counts yet", R"([{"name": "node"}])", "[]", false},
        {"a Job that is not ready", R"([{"name": "node"}])", R"([{"name": "node", "active": 1}])", false},
        {"a Job that is ready", R"([{"name": "node"}])", R"([{"name": "node", "active": 1, "ready": 1}])",
         true},
        {"some of its Jobs", R"([{"name": "node", "replicas": 3}])",
         R"([{"name": "node", "active": 3, "ready": 2}])", false},
        {"Jobs that have ended", R"([{"name": "node", "replicas": 3}])",
         R"([{"name": "node", "ready": 1, "succeeded": 1, "failed": 1}])", true},
        {"another replicated job that waits", R"([{"name": "launcher"}, {"name": "node"}])",
         R"([{"name": "node", "ready": 1}])", false},
        {"both", R"([{"name": "launcher"}, {"name": "node"}])",
         R"([{"name": "node", "ready": 1}, {"name": "launcher", "succeeded": 1}])", true},
        {"a spec that was not parsed", "[]", R"([{"name": "node", "ready": 1}])", false},
    };
    for (const Case& c : cases) DYNAMIC_SECTION(c.name) {
            const std::string text = R"({"spec": {"replicatedJobs": )" + std::string(c.jobs) +
                                     R"(}, "status": {"replicatedJobsStatus": )" + c.counts + "}}";
            CHECK(parse_job_set(*parse_json(text)).all_started == c.want);
        }
}
