#include "runtime/snapshot.hpp"

#include <algorithm>
#include <span>

#include "api/json.hpp"
#include "api/names.hpp"
#include "api/yaml.hpp"
#include "runtime/active_plugins.hpp"
#include "runtime/build.hpp"

namespace runtime {
namespace {

using api::Json;

api::Error unusable(const std::string& name, std::string why) {
    return api::invalid("spec.runtimeRef",
                        "the runtime's snapshot in ConfigMap \"" + name + "\" " + std::move(why));
}

std::string_view group_of(std::string_view api_version) {
    const auto slash = api_version.find('/');
    return slash == api_version.npos ? std::string_view() : api_version.substr(0, slash);
}

// The limits of YAML in a snapshot. A tenant can put any text into a ConfigMap, and reading YAML takes a
// hundred times the memory and the time of JSON. Usual runtimes have less than a tenth of this.
constexpr std::size_t longest_yaml = 256 * 1024;
constexpr std::size_t most_tokens = 200'000;
// Beyond this a snapshot is written as JSON. Its YAML then has less than half of those tokens.
constexpr std::size_t longest_json_as_yaml = 64 * 1024;

// Reads a snapshot: YAML in block style, or a JSON object.
api::Result<Json> parse(std::string_view text) {
    const auto first = text.find_first_not_of(" \t\r\n");
    const bool is_json = first != text.npos && text[first] == '{';
    if (is_json) {
        const std::size_t values = api::count_values(text);
        return values > max_runtime_values ? api::invalid("", too_large_text(values)) : api::parse_json(text);
    }
    if (text.size() > longest_yaml)
        return api::invalid("", "YAML that is longer than " + std::to_string(longest_yaml) + " bytes");
    return api::parse_hostile_yaml(text, most_tokens);
}

void keep_only(Json& object, std::span<const std::string_view> names) {
    object.members().erase_if([&](const api::JsonObject::Member& member) {
        return std::find(names.begin(), names.end(), member.key) == names.end();
    });
}

constexpr std::string_view members_of_runtime[] = {"apiVersion", "kind", "metadata", "spec"};
constexpr std::string_view members_of_spec[] = {"mlPolicy",  "networkPolicy", "podGroupPolicy",
                                                "runPolicy", "template",      "ttlSecondsAfterFinished"};

// Removes fields that the schema lacks, which may have any value, as large as a ConfigMap.
void keep_what_runtimes_have(Json& runtime) {
    keep_only(runtime, members_of_runtime);
    if (Json* spec = runtime.find("spec"); spec && spec->is_object()) keep_only(*spec, members_of_spec);
}

// Returns whether a runtime is stored unchanged, as most are.
bool is_complete(const Json& runtime) {
    return !runtime["apiVersion"].as_string().empty() && !runtime["kind"].as_string().empty() &&
           !runtime["metadata"].contains("managedFields");
}

std::string text_of(const Json& runtime) {
    std::string json = to_json(runtime);
    if (json.size() > longest_json_as_yaml) return json;
    std::string yaml = api::to_yaml(runtime);
    return yaml.size() > longest_yaml ? json : yaml;
}

std::string text_of(const api::TrainJob& job, const Json& runtime) {
    if (is_complete(runtime)) return text_of(runtime);
    Json stored = runtime.is_object() ? runtime : Json::object();
    // Items of a list have no apiVersion and kind.
    if (stored["apiVersion"].as_string().empty()) stored["apiVersion"] = api::trainer_api_version;
    if (stored["kind"].as_string().empty()) stored["kind"] = job.runtime_ref.kind;
    if (Json* metadata = stored.find("metadata")) metadata->erase("managedFields");
    return text_of(stored);
}

}  // namespace

std::string snapshot_name(std::string_view train_job_name) {
    return std::string(train_job_name).append(api::snapshot_suffix);
}

Json make_snapshot(const api::TrainJob& job, const Json& runtime) {
    const Json metadata =
        Json::object({{"name", snapshot_name(job.meta.name)},
                      {"namespace", job.meta.ns},
                      {"ownerReferences", Json::array({api::controller_reference(job.meta)})}});
    return Json::object({{"apiVersion", "v1"},
                         {"kind", "ConfigMap"},
                         {"metadata", metadata},
                         {"immutable", true},
                         {"data", Json::object({{api::snapshot_data_key, text_of(job, runtime)}})}});
}

std::string digested_text(const Json& runtime) {
    const Json& spec = runtime["spec"];
    std::string text = "{";
    for (const std::string_view name : members_of_spec) {
        const Json* value = spec.find(name);
        if (!value) continue;
        text.append(text.size() > 1 ? ",\"" : "\"").append(name).append("\":").append(to_json(*value));
    }
    return text.append("}");
}

api::Result<Json> read_snapshot(const Json& config_map, const api::TrainJob& job, const Pipeline& pipeline) {
    const api::ObjectMeta meta = api::parse_meta(config_map);
    if (meta.controller_uid.empty() || meta.controller_uid != job.meta.uid) {
        api::Error error = unusable(meta.name, "does not belong to this TrainJob");
        error.code = api::Errc::conflict;
        return error;
    }
    const Json* text = config_map["data"].find(api::snapshot_data_key);
    if (!text || !text->is_string())
        return unusable(meta.name, "has no data key \"" + std::string(api::snapshot_data_key) + "\"");
    auto runtime = parse(text->as_string());
    if (!runtime) return unusable(meta.name, "cannot be read: " + describe(runtime.error()));

    const Json& stored = *runtime;
    const api::RuntimeRef found = {.api_group = std::string(group_of(stored["apiVersion"].as_string())),
                                   .kind = std::string(stored["kind"].as_string()),
                                   .name = std::string(stored["metadata"]["name"].as_string())};
    if (found != job.runtime_ref)
        return unusable(meta.name, "holds " + found.kind + "." + found.api_group + " \"" + found.name +
                                       "\", not " + job.runtime_ref.kind + "." + job.runtime_ref.api_group +
                                       " \"" + job.runtime_ref.name + "\"");
    // The code after this relies on the schema's shape.
    if (auto shaped = check_runtime_shape(stored, pipeline); !shaped)
        return unusable(meta.name, "holds no runtime: " + describe(shaped.error()));
    keep_what_runtimes_have(*runtime);
    return runtime;
}

}  // namespace runtime
