#include "build_case.hpp"

#include <algorithm>

#include "api/names.hpp"
#include "api/yaml.hpp"
#include "runtime/plugin.hpp"
#include "runtime/snapshot.hpp"
#include "support/golden.hpp"
#include "support/places.hpp"

namespace {

using api::Json;
namespace fs = std::filesystem;

// Sets our options from the original's configuration.
runtime::Features features_of(const Json& config) {
    if (!config["featureGates"]["TrainJobStatus"].bool_or(false)) return {};
    const auto text = [](const Json& given, const char* by_default) {
        return given.is_null() ? std::string(by_default) : std::string(given.as_string());
    };
    const Json& certificates = config["certManagement"];
    runtime::StatusServer server;
    server.url = "https://" +
                 text(certificates["webhookServiceName"], "kubeflow-trainer-controller-manager") +
                 ".kubeflow-system.svc:" + std::to_string(config["statusServer"]["port"].int_or(10443));
    server.ca_secret = {"kubeflow-system",
                        text(certificates["webhookSecretName"], "kubeflow-trainer-webhook-cert")};
    return {.status_server = std::move(server)};
}

BuildCase load(const fs::path& folder) {
    BuildCase c;
    c.folder = folder;
    c.name = folder.filename().string();
    c.train_job = api::parse_yaml(golden::read(folder / "trainjob.yaml")).value();
    c.job = api::parse_train_job(c.train_job);
    if (fs::exists(folder / "runtime.yaml"))
        c.runtime = api::parse_yaml(golden::read(folder / "runtime.yaml")).value();
    if (fs::exists(folder / "objects.yaml"))
        c.existing = api::parse_yaml_documents(golden::read(folder / "objects.yaml")).value();
    if (fs::exists(folder / "config.yaml"))
        c.features = features_of(api::parse_yaml(golden::read(folder / "config.yaml")).value());
    if (fs::exists(folder / "want.json"))
        c.want = api::parse_json(golden::read(folder / "want.json")).value();
    return c;
}

// Objects that a reconcile deletes are absent when it builds.
std::vector<Json> existing_then(const BuildCase& c) {
    std::vector<Json> left = c.existing;
    std::erase_if(left, [&](const Json& object) {
        const Json::Array& deleted = c.want["deleted"].items();
        return std::find(deleted.begin(), deleted.end(), Json(key_of(object))) != deleted.end();
    });
    return left;
}

// Returns nullptr if there is none.
const Json* find(const std::vector<Json>& objects, const std::string& key) {
    for (const Json& object : objects)
        if (key_of(object) == key) return &object;
    return nullptr;
}

std::string snapshot_key(const BuildCase& c) {
    return "ConfigMap/" + runtime::snapshot_name(c.job.meta.name);
}

// The reconciler changes neither a running JobSet nor the objects that belong to it.
bool is_running(const BuildCase& c) {
    const Json* job_set = find(c.existing, "JobSet/" + c.job.meta.name);
    return job_set && !c.job.suspend && !(*job_set)["spec"]["suspend"].bool_or(false);
}

// Removes fields that only a reconcile or the API server sets, and those that differ each time.
Json golden_object(Json object) {
    Json& meta = object["metadata"];
    for (const char* set_by_server : {"uid", "resourceVersion", "creationTimestamp"})
        meta.erase(set_by_server);
    if (Json* annotations = meta.find("annotations")) {
        annotations->erase(api::applied_hash_annotation);
        annotations->erase(api::recreations_annotation);
        if (annotations->empty()) meta.erase("annotations");
    }
    if (std::as_const(object)["kind"].as_string() == "Secret")
        for (const char* field : {"data", "stringData"})
            if (Json* values = object.find(field))
                for (auto& [key, value] : values->members())
                    if (!value.empty()) value = "<random>";
    if (key_of(object).starts_with("ConfigMap/") && key_of(object).ends_with(api::snapshot_suffix)) {
        Json& stored = object["data"][api::snapshot_data_key];
        Json runtime = api::parse_yaml(std::as_const(stored).as_string()).value();
        for (const char* set_by_server : {"uid", "resourceVersion", "creationTimestamp"})
            runtime["metadata"].erase(set_by_server);
        stored = to_json(runtime);
    }
    return object;
}

}  // namespace

std::string key_of(const Json& object) {
    return std::string(object["kind"].as_string()) + "/" +
           std::string(object["metadata"]["name"].as_string());
}

// Read once: Catch runs a test again for each of its sections.
const std::vector<BuildCase>& all_build_cases() {
    static const std::vector<BuildCase> cases = [] {
        std::vector<fs::path> folders;
        for (const auto& entry : fs::directory_iterator(test::data() / "build"))
            if (entry.is_directory()) folders.push_back(entry.path());
        std::sort(folders.begin(), folders.end());
        std::vector<BuildCase> loaded;
        for (const fs::path& folder : folders) loaded.push_back(load(folder));
        return loaded;
    }();
    return cases;
}

bool decided_by_building(const BuildCase& c) {
    for (const Json& condition : c.want["status"]["conditions"].items())
        if (condition["reason"].as_string() == api::reason::jobs_creation_failed) return false;
    const bool live = c.runtime && ((*c.runtime)["metadata"]["namespace"].is_null() ||
                                    (*c.runtime)["metadata"]["namespace"] == Json(c.job.meta.ns));
    const bool has_error = c.want.contains("error");
    if (!live && (has_error || !find(c.existing, snapshot_key(c)))) return false;
    return has_error || !c.want["objects"].empty();
}

api::Result<Json> built_objects(const BuildCase& c) {
    const std::vector<Json> existing = existing_then(c);
    const Json* stored = find(existing, snapshot_key(c));
    const auto source = stored ? runtime::read_snapshot(*stored, c.job) : c.runtime.value();
    if (!source) return source.error();
    runtime::Inputs inputs = {.job = c.job, .runtime = *source, .observed = existing};
    const runtime::Pipeline pipeline = runtime::make_pipeline(c.features);
    const runtime::Needs needs = runtime::needs(c.job, *source, existing, pipeline);
    if (needs.ssh_key_pair) inputs.ssh_key_pair = {.private_pem = "private", .public_line = "public"};
    if (needs.curve_key_pair)
        inputs.curve_key_pair = {.public_key = std::string(32, 'p'), .secret_key = std::string(32, 's')};
    auto built = runtime::build(inputs, pipeline);
    if (!built) return built.error();
    std::vector<Json> objects;
    if (!stored) objects.push_back(runtime::make_snapshot(c.job, *source));
    for (runtime::BuiltObject& each : built->objects)
        if (each.when != runtime::ApplyPolicy::with_job_set || !is_running(c))
            objects.push_back(std::move(each.object));
    return golden_objects(std::move(objects));
}

Json golden_objects(std::vector<Json> objects) {
    std::sort(objects.begin(), objects.end(),
              [](const Json& left, const Json& right) { return key_of(left) < key_of(right); });
    for (Json& object : objects) object = golden_object(std::move(object));
    return objects;
}
