// Elastic torch: any number of nodes between two bounds.
#include "fixtures.hpp"
#include "runtime/validation.hpp"

using api::Json;

namespace {

const char* const policy = "spec.mlPolicy.torch.elasticPolicy";

Json elastic_runtime(std::vector<Change> changes = {}) {
    const Json runtime = changed(runtime_with("torch"), {{policy, "{minNodes: 2, maxNodes: 4}"}});
    return changed(runtime, changes);
}

Json job_set_of(const char* nodes, const Json& runtime) {
    const auto built = build_job_set(changed(train_job(), {{"spec.trainer.numNodes", nodes}}), runtime);
    if (!built) FAIL(built.error());
    return *built;
}

const Json& job_of(const Json& job_set) { return job_set["spec"]["replicatedJobs"][0]["template"]["spec"]; }

std::string denials(const Json& job, const Json& runtime) {
    std::string text;
    for (const api::FieldError& error :
         runtime::validate_train_job({.object = job, .runtime = &runtime, .gates = runtime::Gates::all()})
             .errors)
        text += error.field + ": " + error.detail + "\n";
    return text;
}

std::string denials_of_runtime(const Json& runtime) {
    std::string text;
    for (const api::FieldError& error :
         runtime::validate_runtime(runtime, Json(), runtime::default_pipeline(), runtime::Gates::all())
             .errors)
        text += error.field + ": " + error.detail + "\n";
    return text;
}

}  // namespace

TEST_CASE("elastic agents meet at the first Pod, and get their ranks there", "[runtime]") {
    const Json node = node_container(job_set_of("3", elastic_runtime()));
    CHECK(env_text(node) ==
          "PET_NNODES=2:4 PET_NPROC_PER_NODE=1 PET_RDZV_BACKEND=c10d "
          "PET_RDZV_ENDPOINT=job-node-0-0.job:29500 PET_RDZV_ID=job PET_MAX_RESTARTS=3");
    CHECK(node["ports"] == tree("[{containerPort: 29500}]"));
    const Json patient = node_container(
        job_set_of("2", elastic_runtime({{"spec.mlPolicy.torch.elasticPolicy.maxRestarts", "7"}})));
    CHECK(env_text(patient).ends_with("PET_MAX_RESTARTS=7"));
}

TEST_CASE("an elastic Job replaces lost nodes, and is complete once the least nodes have succeeded",
          "[runtime]") {
    const Json job_set = job_set_of("4", elastic_runtime());
    const Json& job = job_of(job_set);
    CHECK(job["parallelism"] == Json(4));
    CHECK(job["completions"] == Json(4));
    CHECK(job["backoffLimit"] == Json(12));
    CHECK(job["successPolicy"] == tree("{rules: [{succeededCount: 2}]}"));
    CHECK(job["podFailurePolicy"] ==
          tree("{rules: [{action: Ignore, onPodConditions: [{type: DisruptionTarget, status: 'True'}]}]}"));
    CHECK(job["template"]["spec"]["restartPolicy"] == Json("Never"));
    const Json endless =
        job_set_of("4", elastic_runtime({{"spec.mlPolicy.torch.elasticPolicy.maxRestarts", "2147483647"}}));
    CHECK(job_of(endless)["backoffLimit"] == Json(2147483647));
}

TEST_CASE("a template without retries does not keep elastic training from going on", "[runtime]") {
    const Json job_set = job_set_of(
        "4", elastic_runtime({{"spec.template.spec.replicatedJobs[0].template.spec.backoffLimit", "0"}}));
    CHECK(job_of(job_set)["backoffLimit"] == Json(12));
}

TEST_CASE("what the template says of failed Pods stays", "[runtime]") {
#define JOB "spec.template.spec.replicatedJobs[0].template.spec"
    const Json job_set = job_set_of(
        "4", elastic_runtime({{JOB ".backoffLimit", "9"},
                              {JOB ".successPolicy", "{rules: [{succeededIndexes: '0'}]}"},
                              {JOB ".podFailurePolicy",
                               "{rules: [{action: FailJob, onExitCodes: {operator: In, values: [42]}}]}"}}));
#undef JOB
    const Json& job = job_of(job_set);
    CHECK(job["backoffLimit"] == Json(9));
    CHECK(job["successPolicy"] == tree("{rules: [{succeededIndexes: '0'}]}"));
    CHECK(job["podFailurePolicy"]["rules"][std::size_t(0)]["action"] == Json("FailJob"));
}

TEST_CASE("a gang of an elastic job starts with the least nodes", "[gang]") {
    for (const char* gang : {"coscheduling", "volcano"}) {
        const std::string member = std::string("spec.podGroupPolicy.") + gang;
        const api::TrainJob job =
            api::parse_train_job(changed(train_job(), {{"spec.trainer.numNodes", "4"}}));
        const Json runtime = elastic_runtime({{member.c_str(), "{}"}});
        const auto built = runtime::build({.job = job, .runtime = runtime});
        REQUIRE(built);
        CHECK(built->objects.front().object["spec"]["minMember"] == Json(2));
    }
}

TEST_CASE("a number of nodes outside of the bounds is neither admitted nor built", "[runtime]") {
    for (const char* nodes : {"1", "5"}) {
        const Json job = changed(train_job(), {{"spec.trainer.numNodes", nodes}});
        const char* const want =
            "spec.trainer.numNodes: must be 2 to 4, the nodes of the runtime's mlPolicy.torch.elasticPolicy";
        CHECK(denials(job, elastic_runtime()) == std::string(want) + "\n");
        const auto built = build_job_set(job, elastic_runtime());
        REQUIRE_FALSE(built);
        CHECK(describe(built.error()) == want);
    }
    for (const char* nodes : {"2", "4"})
        CHECK(denials(changed(train_job(), {{"spec.trainer.numNodes", nodes}}), elastic_runtime()).empty());
}

TEST_CASE("what elastic training excludes is denied", "[runtime]") {
    const char* const failure =
        "a failure policy fails or restarts the whole TrainJob, and mlPolicy.torch.elasticPolicy goes on "
        "with "
        "fewer nodes: use one of them\n";
    const auto job = [](const char* path, const char* value) {
        return changed(train_job(), {{"spec.trainer.numNodes", "2"}, {path, value}});
    };
    CHECK(denials(job("spec.failurePolicy", "{maxRestarts: 1}"), elastic_runtime()) ==
          std::string("spec.failurePolicy: ") + failure);
    CHECK(denials(job("spec.trainer.env", "[{name: PET_RDZV_ID, value: a}]"), elastic_runtime()) ==
          "spec.trainer.env: must not be set: the Torch runtime sets these variables\n");
    CHECK(denials(job("spec.trainer.env", "[{name: PET_RDZV_ID, value: a}]"), runtime_with("torch")).empty());
    CHECK(denials(job("spec.trainer.command", "[tune, run]"), elastic_runtime())
              .find("spec.trainer.command: torchtune has a fixed number of nodes") != std::string::npos);
    CHECK(denials_of_runtime(elastic_runtime({{"spec.runPolicy", "{failurePolicy: {}}"}})) ==
          std::string("spec.runPolicy.failurePolicy: ") + failure);
    CHECK(
        denials_of_runtime(elastic_runtime({{"spec.mlPolicy.numNodes", "5"}})) ==
        "spec.mlPolicy.numNodes: must be 2 to 4, the nodes of the runtime's mlPolicy.torch.elasticPolicy\n");
    CHECK(denials_of_runtime(elastic_runtime({{"spec.mlPolicy.numNodes", "4"}})).empty());
}
