#include "cases.hpp"

#include "api/json.hpp"
#include "runtime/build.hpp"

using api::Json;

Json parsed(const std::string& text) { return api::parse_json(text).value(); }

Json train_job() {
    return parsed(
        R"({"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob","metadata":{"name":"job","namespace":"ns",
        "uid":"0f8d3c7e-2f55-4b7a-8f0b-5e2f4f2a9f01","resourceVersion":"5","creationTimestamp":"2026-01-15T10:00:00Z"},
        "spec":{"runtimeRef":{"name":"plain"}}})");
}

Json plain_runtime() {
    return parsed(
        R"({"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"ClusterTrainingRuntime","metadata":{"name":"plain",
        "uid":"0f8d3c7e-2f55-4b7a-8f0b-5e2f4f2a9f02","resourceVersion":"4"},
        "spec":{"mlPolicy":{"numNodes":1,"torch":{}},"template":{"spec":{"replicatedJobs":[{"name":"node","template":{
        "metadata":{"labels":{"trainer.kubeflow.org/trainjob-ancestor-step":"trainer"}},
        "spec":{"template":{"spec":{"containers":[{"name":"node","image":"base"}]}}}}}]}}}})");
}

Json& pod_spec_of(Json& job_set_spec) {
    return job_set_spec["replicatedJobs"].items()[0]["template"]["spec"]["template"]["spec"];
}

void fill(Json& list, std::size_t bytes, const std::function<Json(std::size_t)>& item, std::size_t most) {
    for (std::size_t i = 0, sum = 0, values = 0; sum < bytes && values < most; ++i) {
        list.push_back(item(i));
        sum += to_json(list.items().back()).size() + 1;
        values += api::count_tree_values(list.items().back());
    }
}

Json toleration(std::size_t i) { return Json::object({{"key", "k" + std::to_string(i)}}); }

Json small_job(std::size_t i) {
    Json job =
        parsed(R"({"template":{"spec":{"template":{"spec":{"containers":[{"name":"node","image":"i"}]}}}}})");
    job["name"] = "j" + std::to_string(999'999 - i);
    return job;
}

namespace {

// A runtime with more values is not built.
void fill_runtime(Json& list, const std::function<Json(std::size_t)>& item) {
    fill(list, largest, item, runtime::max_runtime_values - 1'000);
}

Json variable(std::size_t i) { return Json::object({{"name", "A" + std::to_string(i)}}); }
Json named_downwards(std::size_t i) { return Json::object({{"name", "n" + std::to_string(999'999 - i)}}); }
Json text(std::size_t) { return ""; }

void fill_map(Json& map, std::size_t bytes) {
    Json::Object::Members members;
    for (std::size_t i = 0, sum = 0; sum < bytes; ++i) {
        members.push_back({"k" + std::to_string(i), Json("")});
        sum += members.back().key.size() + 6;
    }
    map = Json::Object(std::move(members));
}

Json& patch_of(Json& job) {
    Json patch = parsed(
        R"({"manager":"a.example.com/b","trainingRuntimeSpec":{"template":{"spec":{"replicatedJobs":[{"name":"node",
        "template":{"spec":{"template":{"spec":{}}}}}]}}}})");
    job["spec"]["runtimePatches"].push_back(std::move(patch));
    return pod_spec_of(
        job["spec"]["runtimePatches"].items().back()["trainingRuntimeSpec"]["template"]["spec"]);
}

void patches_with_volumes(Json& job, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) fill(patch_of(job)["volumes"], largest / count, named_downwards);
}

Json& pod_spec_of_runtime(Json& runtime) { return pod_spec_of(runtime["spec"]["template"]["spec"]); }
Json& container_of_runtime(Json& runtime) { return pod_spec_of_runtime(runtime)["containers"].items()[0]; }

Json& jobs_of_runtime(Json& runtime) { return runtime["spec"]["template"]["spec"]["replicatedJobs"]; }

// As many rules as a policy may have, each with `codes` exit codes.
void add_failure_rules(Json& runtime, int codes) {
    Json values = Json::array();
    for (int code = 1; code <= codes; ++code) values.push_back(code);
    Json& rules = runtime["spec"]["runPolicy"]["failurePolicy"]["rules"] = Json::array();
    for (int i = 0; i < 20; ++i)
        rules.push_back(
            Json::object({{"action", "FailTrainJob"},
                          {"onExitCodes", Json::object({{"operator", "In"}, {"values", values}})}}));
}

void add_resources(Json& job) {
    for (const char* list : {"limits", "requests"})
        for (int i = 0; i < 128; ++i)
            job["spec"]["trainer"]["resourcesPerNode"][list]["example.com/d" + std::to_string(i)] = 1;
}

const std::vector<Case> all = {
    {"arguments of the trainer",
     [](Json& job, Json&) { fill(job["spec"]["trainer"]["args"], largest, text); }},
    {"one long argument",
     [](Json& job, Json&) { job["spec"]["trainer"]["args"].push_back(std::string(largest, 'x')); }},
    {"variables of the trainer",
     [](Json& job, Json&) { fill(job["spec"]["trainer"]["env"], largest, variable); }},
    {"labels of the JobSet",
     [](Json& job, Json&) {
         patch_of(job);
         Json& patch = job["spec"]["runtimePatches"].items().back();
         fill_map(patch["trainingRuntimeSpec"]["template"]["metadata"]["labels"], largest);
     }},
    {"a patch with volumes", [](Json& job, Json&) { patches_with_volumes(job, 1); }},
    {"sixteen patches with volumes", [](Json& job, Json&) { patches_with_volumes(job, 16); }},
    {"variables of the runtime",
     [](Json&, Json& runtime) { fill_runtime(container_of_runtime(runtime)["env"], variable); }},
    {"arguments of the runtime",
     [](Json&, Json& runtime) { fill_runtime(container_of_runtime(runtime)["args"], text); }},
    {"volumes of the runtime",
     [](Json&, Json& runtime) { fill_runtime(pod_spec_of_runtime(runtime)["volumes"], named_downwards); }},
    {"containers of the runtime",
     [](Json&, Json& runtime) {
         fill_runtime(pod_spec_of_runtime(runtime)["containers"], [](std::size_t i) {
             Json container = named_downwards(i);
             container["image"] = "i";
             return container;
         });
     }},
    // An annotation records the applied ones; annotations may have 256 KiB, and others may add to the list.
    {"tolerations of the runtime and of others",
     [](Json&, Json& runtime) { fill(pod_spec_of_runtime(runtime)["tolerations"], 200'000, toleration); }},
    {"jobs of the runtime", [](Json&, Json& runtime) { fill_runtime(jobs_of_runtime(runtime), small_job); }},
    {"rules of a failure policy in three jobs",
     [](Json&, Json& runtime) {
         add_failure_rules(runtime, 255);
         for (std::size_t i = 0; i < 2; ++i) jobs_of_runtime(runtime).push_back(small_job(i));
     }},
    {"rules of a failure policy in many jobs",
     [](Json&, Json& runtime) {
         add_failure_rules(runtime, 255);
         fill(jobs_of_runtime(runtime), largest, small_job, runtime::max_runtime_values - 10'000);
     }},
    // Admission refuses such runtimes, but may be switched off.
    {"a long name of a job of many containers",
     [](Json&, Json& runtime) {
         fill(container_of_runtime(runtime)["args"], 1, text);
         jobs_of_runtime(runtime).items()[0]["name"] = std::string(largest / 2, 'n');
         fill(pod_spec_of_runtime(runtime)["containers"], largest / 2, named_downwards);
     },
     true},
    {"resources in many jobs that train",
     [](Json& job, Json& runtime) {
         add_resources(job);
         const Json trains = jobs_of_runtime(runtime).items()[0];
         fill_runtime(jobs_of_runtime(runtime), [&](std::size_t i) {
             Json another = trains;
             another["name"] = "j" + std::to_string(i);
             return another;
         });
     },
     true},
    {"arguments of both",
     [](Json& job, Json& runtime) {
         fill_runtime(container_of_runtime(runtime)["args"], text);
         fill(job["spec"]["trainer"]["args"], largest, text);
     }},
    {"variables of both",
     [](Json& job, Json& runtime) {
         fill_runtime(container_of_runtime(runtime)["env"], variable);
         fill(job["spec"]["trainer"]["env"], largest, [](std::size_t i) { return variable(200'000 - i); });
     }},
    {"volumes of both",
     [](Json& job, Json& runtime) {
         fill_runtime(pod_spec_of_runtime(runtime)["volumes"], named_downwards);
         patches_with_volumes(job, 16);
     }},
};

}  // namespace

const std::vector<Case>& cases() { return all; }
