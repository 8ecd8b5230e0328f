// The errors of admission for a valid runtime with one change.
#include "fixtures.hpp"
#include "runtime/validation.hpp"

using api::Json;

namespace {

constexpr const char* job = "spec.template.spec.replicatedJobs[0]";
constexpr const char* ancestor =
    "spec.template.spec.replicatedJobs[0].template.metadata.labels."
    "\"trainer.kubeflow.org/trainjob-ancestor-step\"";
constexpr const char* pod = "spec.template.spec.replicatedJobs[0].template.spec.template.spec";

std::string text(const api::FieldErrors& errors) {
    std::string line;
    for (const api::FieldError& error : errors) {
        const std::string_view type = api::cause_reason(error.type);
        line += (line.empty() ? "" : ", ") + std::string(type.substr(std::string_view("FieldValue").size())) +
                " " + error.field;
    }
    return line;
}

std::string path(const char* base, const char* rest) { return std::string(base) + rest; }

}  // namespace

TEST_CASE("a runtime is admitted unless it breaks a rule, and an update may keep its old errors",
          "[admission]") {
    struct Case {
        const char* name;
        std::vector<Change> changes;
        std::string want;
    };
    const std::string replicas = path(job, ".replicas");
    const std::string containers = path(pod, ".containers");
    const std::string containers0 = path(pod, ".containers[0].name");
    const std::string job_deadline = path(job, ".template.spec.activeDeadlineSeconds");
    const std::string job_ttl = path(job, ".template.spec.ttlSecondsAfterFinished");
    const std::string pod_deadline = path(pod, ".activeDeadlineSeconds");
    const std::string job_name = path(job, ".name");
    const std::string completion_mode = path(job, ".template.spec.completionMode");
    const std::string longest(51, 'j'), too_long(52, 'j');
    const char* targets = "spec.mlPolicy.torch.envInjection.targets";
    const Case cases[] = {
        {"valid", {}, ""},
        {"two replicas", {{replicas.c_str(), "2"}}, "Invalid " + replicas},
        {"no replica", {{replicas.c_str(), "0"}}, "Invalid " + replicas},
        {"one replica", {{replicas.c_str(), "1"}}, ""},
        {"not for unknown labels", {{replicas.c_str(), "2"}, {ancestor, "other"}}, ""},
        {"no container for the trainer", {{containers0.c_str(), "other"}}, "Invalid " + containers},
        {"no container for the step", {{ancestor, "dataset-initializer"}}, "Invalid " + containers},
        {"named as the step",
         {{ancestor, "model-initializer"}, {containers0.c_str(), "model-initializer"}},
         ""},
        {"both",
         {{replicas.c_str(), "2"}, {containers0.c_str(), "other"}},
         "Invalid " + replicas + ", Invalid " + containers},
        {"the JobSet's TTL",
         {{"spec.template.spec.ttlSecondsAfterFinished", "1"}},
         "Forbidden spec.template.spec.ttlSecondsAfterFinished"},
        {"a Job's deadline", {{job_deadline.c_str(), "1"}}, "Forbidden " + job_deadline},
        {"a Job's TTL", {{job_ttl.c_str(), "0"}}, "Forbidden " + job_ttl},
        {"a Pod's deadline is allowed", {{pod_deadline.c_str(), "1"}}, ""},
        {"no such job to inject into",
         {{targets, "[{jobName: ghost, containerNames: [a]}]"}},
         path(("Invalid " + std::string(targets)).c_str(), "[0].jobName")},
        {"no such container to inject into",
         {{targets, "[{jobName: node, containerNames: [node, a]}]"}},
         path(("Invalid " + std::string(targets)).c_str(), "[0].containerNames[1]")},
        {"two jobs that train",
         {{"spec.template.spec.replicatedJobs[1]",
           "{name: b, template: {metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}, "
           "spec: "
           "{template: {spec: {containers: [{name: node}]}}}}}"}},
         "Invalid spec.template.spec.replicatedJobs[1].template.metadata.labels"},
        {"plain jobs need no host names", {{"spec.template.spec.network.enableDNSHostnames", "false"}}, ""},
        {"a job's name", {{job_name.c_str(), "Node"}}, "Invalid " + job_name},
        {"a job's empty name", {{job_name.c_str(), "\"\""}}, "Invalid " + job_name},
        {"a job's name that begins with a hyphen", {{job_name.c_str(), "\"-x\""}}, "Invalid " + job_name},
        {"the longest name of a job", {{job_name.c_str(), longest.c_str()}}, ""},
        {"a name that leaves no room for a TrainJob's",
         {{job_name.c_str(), too_long.c_str()}},
         "Invalid " + job_name},
        {"Jobs without indices leave more room",
         {{job_name.c_str(), too_long.c_str()}, {completion_mode.c_str(), "NonIndexed"}},
         ""},
        {"an empty MPI implementation",
         {{"spec.mlPolicy.mpi.mpiImplementation", "\"\""}},
         "Invalid spec.mlPolicy.mpi.mpiImplementation"},
        {"any other MPI implementation is the schema's business",
         {{"spec.mlPolicy.mpi.mpiImplementation", "MPICH"}},
         ""},
        {"an odd shape", {{"spec.template.spec", "foo"}}, "Invalid spec.template.spec"},
    };
    for (const char* kind : {"ClusterTrainingRuntime", "TrainingRuntime"})
        for (const Case& c : cases) {
            DYNAMIC_SECTION(kind << ", " << c.name) {
                const Json valid = changed(plain_runtime(), {{"kind", kind}});
                const Json runtime = changed(valid, c.changes);
                CHECK(text(runtime::validate_runtime(runtime, Json()).errors) == c.want);
                CHECK(text(runtime::validate_runtime(runtime, valid).errors) == c.want);
                if (std::string_view(c.name) == "an odd shape") return;
                const Json later = changed(runtime, {{"metadata.labels", "{a: b}"}});
                CHECK(text(runtime::validate_runtime(later, runtime).errors).empty());
            }
        }
}

TEST_CASE("frameworks whose processes find each other by host name need host names", "[admission]") {
    const Change flag = {"spec.template.spec.network.enableDNSHostnames", "false"};
    for (const char* framework : {"torch", "jax", "xgboost", "mpi", "flux"}) {
        DYNAMIC_SECTION(framework) {
            CHECK(text(runtime::validate_runtime(changed(runtime_with(framework), {flag}), Json()).errors) ==
                  "Invalid spec.template.spec.network.enableDNSHostnames");
        }
    }
}

TEST_CASE("and each of their Pods needs a rank", "[admission]") {
    const std::string completion_mode = path(job, ".template.spec.completionMode");
    const Change mode = {completion_mode.c_str(), "NonIndexed"};
    CHECK(runtime::validate_runtime(changed(plain_runtime(), {mode}), Json()).errors.empty());
    for (const char* framework : {"torch", "jax", "xgboost", "mpi", "flux"}) {
        DYNAMIC_SECTION(framework) {
            CHECK(text(runtime::validate_runtime(changed(runtime_with(framework), {mode}), Json()).errors) ==
                  "Invalid " + completion_mode);
        }
    }
}

TEST_CASE("a changed forbidden value is refused, a moved one is not", "[admission]") {
    const std::string deadline = path(job, ".template.spec.activeDeadlineSeconds");
    const Json old = changed(plain_runtime(), {{deadline.c_str(), "1"}});
    CHECK(text(runtime::validate_runtime(changed(old, {{deadline.c_str(), "2"}}), old).errors) ==
          "Forbidden " + deadline);
    Json moved = old;
    Json& jobs = at(moved, "spec.template.spec.replicatedJobs");
    jobs = Json::array({tree("{name: first}"), std::as_const(jobs)[0]});
    CHECK(runtime::validate_runtime(moved, old).errors.empty());
}

TEST_CASE("each warning of a runtime is given once", "[admission]") {
    const std::string deadline = path(pod, ".activeDeadlineSeconds");
    const std::string parallelism = path(job, ".template.spec.parallelism");
    const std::string completions = path(job, ".template.spec.completions");
    const std::string scheduler = path(pod, ".schedulerName");
    struct Case {
        const char* name;
        std::vector<Change> changes;
        const char* want;
    };
    const Case cases[] = {
        {"runtime_deprecated",
         {{"metadata.labels", "{trainer.kubeflow.org/support: deprecated}"}},
         "is deprecated"},
        {"pod_deadline", {{deadline.c_str(), "1"}}, "regardless of the TrainJob's deadline"},
        {"replaced_completions",
         {{parallelism.c_str(), "2"}, {completions.c_str(), "6"}},
         "completions: job node runs as many Pods as its parallelism says, 2, and no more"},
        {"shared_subdomain",
         {{"spec.template.spec.network", "{subdomain: team}"}},
         "spec.template.spec.network.subdomain: TrainJobs share the first one's Service"},
        {"exclusive_gang",
         {{"spec.mlPolicy.numNodes", "2"},
          {"spec.podGroupPolicy.coscheduling", "{}"},
          {scheduler.c_str(), "gang-scheduler"},
          {"spec.template.metadata.annotations", "{alpha.jobset.sigs.k8s.io/exclusive-topology: rack}"}},
         "podGroupPolicy.coscheduling waits for all Pods"},
        {"gang_scheduler",
         {{"spec.podGroupPolicy.coscheduling", "{}"}},
         "job node: no schedulerName under podGroupPolicy.coscheduling; the default scheduler places each "
         "Pod alone"},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) {
            const Json runtime = changed(plain_runtime(), c.changes);
            for (const Json& before : {Json(), plain_runtime()}) {
                const auto findings = runtime::validate_runtime(runtime, before);
                REQUIRE(findings.warnings.size() == 1);
                CHECK(findings.warnings[0].text.find(c.want) != std::string::npos);
                CHECK(findings.warnings[0].text.size() <= 256);
                CHECK(findings.warnings[0].rule == c.name);
            }
            CHECK(runtime::validate_runtime(runtime, runtime).warnings.empty());
        }
    }
}

TEST_CASE("there is a warning for a fixed subdomain of Pods with host names", "[admission]") {
    const auto warnings = [](const char* network) {
        return runtime::validate_runtime(changed(plain_runtime(), {{"spec.template.spec.network", network}}),
                                         {})
            .warnings.size();
    };
    CHECK(warnings("{subdomain: team, enableDNSHostnames: true}") == 1);
    CHECK(warnings("{subdomain: team, enableDNSHostnames: false}") == 0);
    CHECK(warnings("{subdomain: \"\"}") == 0);
    CHECK(warnings("{publishNotReadyAddresses: true}") == 0);
}
