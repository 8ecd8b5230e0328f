#include "pipeline_case.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "api/names.hpp"
#include "api/quantity.hpp"
#include "api/yaml.hpp"
#include "runtime/plugin.hpp"
#include "runtime/snapshot.hpp"

namespace {

using api::Json;
namespace fs = std::filesystem;

std::string read(const fs::path& path) {
    std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

// The original's configuration, as our options say it.
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

PipelineCase load(const fs::path& folder) {
    PipelineCase c;
    c.name = folder.filename().string();
    c.train_job = api::parse_yaml(read(folder / "trainjob.yaml")).value();
    c.job = api::parse_train_job(c.train_job);
    if (fs::exists(folder / "runtime.yaml"))
        c.runtime = api::parse_yaml(read(folder / "runtime.yaml")).value();
    if (fs::exists(folder / "objects.yaml"))
        c.existing = api::parse_yaml_documents(read(folder / "objects.yaml")).value();
    if (fs::exists(folder / "config.yaml"))
        c.features = features_of(api::parse_yaml(read(folder / "config.yaml")).value());
    c.want = api::parse_json(read(folder / "want.json")).value();
    return c;
}

// One text per value: the next whole number, and how many billionths are missing from it.
Json canonical_quantity(const Json& value) {
    const auto parsed = api::parse_quantity(value);
    if (!parsed) return value;
    const std::int64_t whole = parsed->round_up();
    api::Quantity missing = -1 * *parsed;
    missing += api::parse_quantity(Json(whole)).value();
    return std::to_string(whole) + " less " + std::to_string((1'000'000'000 * missing).round_up()) + "n";
}

Json comparable_member(std::string_view name, const Json& value, bool quantity) {
    static const std::set<std::string_view> quantities = {"limits",   "requests",  "minResources",
                                                          "overhead", "sizeLimit", "divisor"};
    const bool holds_quantities = quantities.contains(name);
    if (value.is_object()) {
        Json::Object::Members kept;
        for (const auto& [key, member] : value.members()) {
            if (key == api::applied_hash_annotation) continue;
            if (Json clean = comparable_member(key, member, holds_quantities);
                !clean.empty() || key == "emptyDir")
                kept.push_back({key, std::move(clean)});
        }
        return Json::Object(std::move(kept));
    }
    if (value.is_array()) {
        Json list = Json::array();
        for (const Json& item : value.items()) list.push_back(comparable_member({}, item, false));
        return list;
    }
    return quantity || holds_quantities ? canonical_quantity(value) : value;
}

// A JobSet that runs is left alone, and so is what belongs to it.
bool is_running(const PipelineCase& c) {
    for (const Json& object : c.existing)
        if (key_of(object) == "JobSet/" + c.job.meta.name)
            return !c.job.suspend && !object["spec"]["suspend"].bool_or(false);
    return false;
}

}  // namespace

std::string key_of(const Json& object) {
    return std::string(object["kind"].as_string()) + "/" +
           std::string(object["metadata"]["name"].as_string());
}

// Read once: Catch runs a test anew for each of its sections.
const std::vector<PipelineCase>& all_pipeline_cases() {
    static const std::vector<PipelineCase> cases = [] {
        std::vector<fs::path> folders;
        for (const auto& entry : fs::directory_iterator(fs::path(SIGNALBOX_TEST_DATA) / "build"))
            if (entry.is_directory()) folders.push_back(entry.path());
        std::sort(folders.begin(), folders.end());
        std::vector<PipelineCase> loaded;
        for (const fs::path& folder : folders) loaded.push_back(load(folder));
        return loaded;
    }();
    return cases;
}

api::Result<Json> runtime_of(const PipelineCase& c) {
    for (const Json& object : c.existing)
        if (key_of(object) == "ConfigMap/" + runtime::snapshot_name(c.job.meta.name))
            return runtime::read_snapshot(object, c.job);
    if (!c.runtime) return api::invalid("spec.runtimeRef", "no such runtime");
    return *c.runtime;
}

api::Result<std::map<std::string, Json>> built_objects(const PipelineCase& c) {
    const auto source = runtime_of(c);
    if (!source) return source.error();
    runtime::Inputs inputs = {.job = c.job, .runtime = *source, .observed = c.existing};
    const runtime::Pipeline pipeline = runtime::make_pipeline(c.features);
    const runtime::Needs needs = runtime::needs(c.job, *source, c.existing, pipeline);
    if (needs.ssh_key_pair) inputs.ssh_key_pair = {.private_pem = "private", .public_line = "public"};
    if (needs.curve_key_pair)
        inputs.curve_key_pair = {.public_key = std::string(32, 'p'), .secret_key = std::string(32, 's')};
    auto built = runtime::build(inputs, pipeline);
    if (!built) return built.error();
    std::map<std::string, Json> objects;
    const Json snapshot = runtime::make_snapshot(c.job, *source);
    const auto is_snapshot = [&](const Json& object) { return key_of(object) == key_of(snapshot); };
    if (std::none_of(c.existing.begin(), c.existing.end(), is_snapshot)) objects[key_of(snapshot)] = snapshot;
    for (auto& [object, when] : built->objects)
        if (when != runtime::Applied::with_job_set || !is_running(c))
            objects[key_of(object)] = std::move(object);
    return objects;
}

Json comparable(const Json& tree) {
    Json clean = comparable_member({}, tree, false);
    const std::string_view kind = std::as_const(clean)["kind"].as_string();
    if (kind == "ConfigMap" || kind == "Secret") clean.erase("immutable");
    return clean;
}

Json comparable_snapshot(const Json& config_map) {
    Json clean = comparable(config_map);
    Json stored = api::parse_yaml(config_map["data"][api::snapshot_data_key].as_string()).value();
    for (const std::string_view server_set :
         {"resourceVersion", "generation", "uid", "creationTimestamp", "managedFields"})
        stored["metadata"].erase(server_set);
    clean["data"][api::snapshot_data_key] = comparable(stored);
    return clean;
}
