#include "work.hpp"

#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>

#include "api/admission_review.hpp"
#include "api/names.hpp"
#include "api/yaml.hpp"
#include "instructions.hpp"
#include "merge/json_patch.hpp"
#include "runtime/applied_hash.hpp"
#include "runtime/compare.hpp"
#include "runtime/live_defaults.hpp"
#include "runtime/plugin.hpp"
#include "runtime/snapshot.hpp"
#include "runtime/validation.hpp"

namespace {

using api::Json;

// The lists and maps of live objects that reviews and builds read. Those of claims and device classes are
// short, as the API server limits them.
constexpr std::string_view live_schemas = R"(
- apiVersion: v1
  kind: LimitRange
  type: object
  properties:
    spec:
      type: object
      properties:
        limits:
          type: array
          items:
            type: object
            required: [type]
            properties:
              type: {type: string, enum: [Container]}
              defaultRequest: {type: object, additionalProperties: {x-kubernetes-int-or-string: true}}
- apiVersion: node.k8s.io/v1
  kind: RuntimeClass
  type: object
  properties:
    overhead:
      type: object
      properties: {podFixed: {type: object, additionalProperties: {x-kubernetes-int-or-string: true}}}
- apiVersion: jobset.x-k8s.io/v1alpha2
  kind: JobSet
  type: object
  properties:
    spec:
      type: object
      properties:
        replicatedJobs:
          type: array
          items:
            type: object
            required: [name]
            properties:
              name: {type: string}
              dependsOn:
                type: array
                items: {type: object, required: [name], properties: {name: {type: string}}}
    status:
      type: object
      properties:
        conditions:
          type: array
          items: {type: object, required: [type], properties: {type: {type: string}}}
        replicatedJobsStatus:
          type: array
          items: {type: object, required: [name, ready], properties: {name: {type: string}, ready: {type: integer}}}
)";

constexpr std::string_view train_job = R"({
  apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob,
  metadata: {name: job, namespace: ns, uid: u, generation: 1},
  spec: {
    runtimeRef: {apiGroup: trainer.kubeflow.org, kind: ClusterTrainingRuntime, name: runtime},
    suspend: true,
    trainer: {numNodes: 2},
    runtimePatches: [
      {manager: a.io/first, trainingRuntimeSpec: {template: {spec: {replicatedJobs: [
        {name: node, template: {spec: {template: {spec: {containers: [{name: node}]}}}}}]}}}},
      {manager: a.io/second, trainingRuntimeSpec: {template: {spec: {replicatedJobs: [
        {name: node, template: {spec: {template: {spec: {containers: [{name: node}]}}}}}]}}}}]}})";

constexpr std::string_view training_runtime = R"({
  apiVersion: trainer.kubeflow.org/v1alpha1, kind: ClusterTrainingRuntime, metadata: {name: runtime},
  spec: {mlPolicy: {}, template: {spec: {replicatedJobs: [
    {name: node, template: {metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}},
      spec: {template: {spec: {runtimeClassName: node, containers: [{name: node}]}}}}}]}}}})";

Json parsed(std::string_view yaml) {
    auto value = api::parse_yaml(yaml);
    if (!value) {
        std::cerr << value.error() << '\n';
        std::exit(1);
    }
    return *std::move(value);
}

Json schema_of_spec(const std::string& crd) {
    std::ifstream file(SIGNALBOX_CRDS "/" + crd + ".yaml");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const Json read = parsed(text);
    return read["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
}

struct Objects {
    Json job = {};
    Json older_job = {};
    Json runtime = {};
    std::vector<Json> observed = {};
    Json job_set = {};
};

// A job of the runtime, and what a patch says of it. It has a container of that name as well.
Json job_of_name(const std::string& name) {
    Json job = Json::object({{"name", name}});
    job["template"]["spec"]["template"]["spec"]["containers"] =
        Json::array({Json::object({{"name", "node"}}), Json::object({{"name", name}})});
    return job;
}

Json& jobs_in(Json& template_holder) { return template_holder["template"]["spec"]["replicatedJobs"]; }

void add_long_names(Objects& objects, std::size_t size) {
    constexpr std::size_t characters = 400;  // for each item of the lists
    const Json job = job_of_name(std::string(characters * size, 'n'));
    jobs_in(objects.runtime["spec"]).push_back(job);
    jobs_in(objects.job["spec"]["runtimePatches"].items()[0]["trainingRuntimeSpec"]).push_back(job);
}

void give_role(Json& runtime, const std::string& role) {
    const std::string_view container = role == api::ancestor_trainer ? api::node_container : role;
    for (Json& job : jobs_in(runtime["spec"]).items()) {
        job["template"]["metadata"]["labels"][api::ancestor_label] = role;
        Json& containers = job["template"]["spec"]["template"]["spec"]["containers"];
        if (containers.is_null()) containers = Json::array();
        if (containers.items().empty()) containers.push_back(Json::object());
        containers.items()[0]["name"] = container;
    }
}

Objects make_objects(const Schemas& schemas, const Subject& subject, std::size_t size, Growth& growth) {
    Objects objects = {.job = parsed(train_job), .runtime = parsed(training_runtime)};
    objects.runtime["spec"]["mlPolicy"][subject.framework] = Json::object();
    if (!subject.gang.empty()) objects.runtime["spec"]["podGroupPolicy"][subject.gang] = Json::object();
    if (subject.long_names) add_long_names(objects, size);
    growth.grow(objects.runtime["spec"], schemas.runtime, "spec");
    if (!subject.role.empty()) give_role(objects.runtime, subject.role);
    growth.grow(objects.job["spec"], schemas.job, "spec");
    for (const Json& schema : schemas.live) {
        Json object = Json::object({{"apiVersion", schema["apiVersion"]}, {"kind", schema["kind"]}});
        object["metadata"]["name"] = "node";
        object["metadata"]["namespace"] = "ns";
        growth.grow(object, schema, {});
        (schema["kind"] == "JobSet" ? objects.job_set : objects.observed.emplace_back()) = std::move(object);
    }
    // The same patches in another order, and another change, so that all of them are compared.
    objects.older_job = objects.job;
    auto& patches = objects.older_job["spec"]["runtimePatches"].items();
    std::reverse(patches.begin(), patches.end());
    objects.older_job["spec"]["trainer"]["image"] = "older";
    return objects;
}

class Stopwatch {
public:
    explicit Stopwatch(const std::set<std::string>& only) : only_(only) {}

    bool wants(const std::string& name) const { return only_.empty() || only_.contains(name); }
    template <class Work>
    void measure(std::string name, const Work& work) {
        if (!wants(name)) return;
        const double began = cpu_seconds();
        const bool passed = counted_by_callgrind(work);
        steps_.push_back({.name = std::move(name), .seconds = cpu_seconds() - began, .passed = passed});
    }
    std::vector<Step> take() { return std::move(steps_); }

private:
    const std::set<std::string>& only_;
    std::vector<Step> steps_ = {};
};

std::string review_text(const Objects& objects, Order order) {
    const Json request = Json::object(
        {{"uid", "u"}, {"operation", "UPDATE"}, {"object", objects.job}, {"oldObject", objects.older_job}});
    return text_of(
        Json::object(
            {{"apiVersion", "admission.k8s.io/v1"}, {"kind", "AdmissionReview"}, {"request", request}}),
        order);
}

bool answers(const runtime::ValidationResult& findings) {
    const api::AdmissionRequest request = {.uid = "u", .group = "g", .kind = "k", .name = "n"};
    api::Verdict verdict = api::validated(request, findings.errors);
    verdict.warnings = findings.warnings;
    (void)api::encode_admission_review(request, verdict);
    return findings.errors.empty();
}

void review(const Objects& objects, Order order, const runtime::Pipeline& pipeline, Stopwatch& watch) {
    const std::string reading = "reading the review";
    const std::string text = watch.wants(reading) ? review_text(objects, order) : std::string();
    watch.measure(reading, [&] { return api::decode_admission_review(text).has_value(); });
    watch.measure("the mutating review", [&] {
        runtime::default_train_job(objects.job, objects.older_job, api::Time());
        runtime::default_train_job(objects.job, Json(), api::Time());
        return true;
    });
    api::JobSet job_set;
    watch.measure("reading the JobSet", [&] {
        job_set = api::parse_job_set(objects.job_set);
        return true;
    });
    const auto judge = [&](const Json& older) {
        const auto wanted = runtime::lookups_for(objects.job, older);
        return answers(runtime::validate_train_job({.object = objects.job,
                                                    .old_object = older,
                                                    .runtime = wanted.runtime ? &objects.runtime : nullptr,
                                                    .job_set = wanted.job_set ? &job_set : nullptr,
                                                    .observed = &objects.observed},
                                                   pipeline));
    };
    watch.measure("the review of a new TrainJob", [&] { return judge(Json()); });
    watch.measure("the review of an update", [&] { return judge(objects.older_job); });
    watch.measure("the review of a new runtime",
                  [&] { return answers(runtime::validate_runtime(objects.runtime, Json(), pipeline)); });
    Json older = objects.runtime;
    older["metadata"]["labels"]["a"] = "b";
    watch.measure("the review of a runtime's update",
                  [&] { return answers(runtime::validate_runtime(objects.runtime, older, pipeline)); });
}

void build(const Objects& objects, const runtime::Pipeline& pipeline, Stopwatch& watch) {
    const api::TrainJob job = api::parse_train_job(objects.job);
    runtime::Inputs inputs = {.job = job, .runtime = objects.runtime, .observed = objects.observed};
    inputs.ssh_key_pair.emplace();
    inputs.curve_key_pair = runtime::CurveKeyPair{std::string(32, 'p'), std::string(32, 's')};
    watch.measure("what a build needs", [&] {
        (void)runtime::needs(job, objects.runtime, objects.observed, pipeline);
        return true;
    });
    watch.measure("the build", [&] { return runtime::build(inputs, pipeline).has_value(); });
    const std::string comparison = "the comparison with what is there";
    if (auto built = watch.wants(comparison) ? runtime::build(inputs, pipeline) : api::Error(); built)
        watch.measure(comparison, [&] {
            const Json wanted = runtime::with_applied_hash(std::move(built->objects.back().object));
            const Json merged = runtime::with_live_defaults(wanted, wanted);
            return runtime::is_applied(wanted, merged) && !runtime::differs_in_suspend_only(wanted, merged);
        });
    watch.measure("the snapshot", [&] {
        return runtime::read_snapshot(runtime::make_snapshot(job, objects.runtime), job).has_value();
    });
}

}  // namespace

double cpu_seconds() {
    timespec time = {};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

Schemas read_schemas() {
    Schemas schemas = {.job = schema_of_spec("trainjobs"),
                       .runtime = schema_of_spec("clustertrainingruntimes")};
    const Json live = parsed(live_schemas);
    schemas.live = live.items();
    return schemas;
}

std::vector<std::string> frameworks(const Schemas& schemas) {
    std::vector<std::string> names;
    for (const auto& [name, schema] : schemas.runtime["properties"]["mlPolicy"]["properties"].members())
        if (schema["type"].as_string() == "object") names.push_back(name);
    return names;
}

std::vector<Step> work_through(const Schemas& schemas, const Subject& subject, std::size_t size,
                               const std::set<std::string>& only) {
    static const runtime::Pipeline pipeline = runtime::make_pipeline({});
    Growth growth(subject.members, size, subject.order);
    const Objects objects = make_objects(schemas, subject, size, growth);
    Stopwatch watch(only);
    review(objects, subject.order, pipeline, watch);
    build(objects, pipeline, watch);
    return watch.take();
}

std::size_t places(const Schemas& schemas, const Subject& subject) {
    Growth growth(subject.members, 1, subject.order);
    make_objects(schemas, subject, 1, growth);
    return growth.places();
}
