#include "schema_values.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <set>

#include "runtime/plugin.hpp"

namespace {

using api::Json;

// Members without which nothing is built. Members that a build reads are `important` and those of plugins'
// policies.
const std::set<std::string_view> structural = {
    "containers", "replicatedJobs", "runtimePatches",      "spec",
    "template",   "trainer",        "trainingRuntimeSpec", "mlPolicy"};
const std::set<std::string_view> important = {"args",
                                              "claims",
                                              "command",
                                              "containers",
                                              "dataset",
                                              "dependsOn",
                                              "env",
                                              "envInjection",
                                              "image",
                                              "initContainers",
                                              "initializer",
                                              "labels",
                                              "limits",
                                              "metadata",
                                              "mlPolicy",
                                              "model",
                                              "name",
                                              "network",
                                              "networkTopology",
                                              "numNodes",
                                              "numProcPerNode",
                                              "parallelism",
                                              "podGroupPolicy",
                                              "ports",
                                              "replicas",
                                              "replicatedJobs",
                                              "requests",
                                              "resourceClaims",
                                              "resources",
                                              "resourcesPerNode",
                                              "runLauncherAsNode",
                                              "runtimePatches",
                                              "spec",
                                              "startupPolicy",
                                              "targets",
                                              "template",
                                              "trainer",
                                              "trainingRuntimeSpec",
                                              "value",
                                              "valueFrom",
                                              "volumeMounts",
                                              "volumes"};

constexpr auto names =
    std::to_array<std::string_view>({"node", "node", "node", "node", "dataset-initializer",
                                     "model-initializer", "launcher", "a", "b", "sidecar"});
constexpr auto words = std::to_array<std::string_view>(
    {"", "a", "tune", "run", "gpu", "auto", "$(A)", "model.quantize_base=true", "output_dir=/x", "PET_NNODES",
     "é\n\"", "/a", "https://h/x", "trainer.kubeflow.org/x", "-1", "torchtune-llama3.2-1b"});
constexpr auto variables =
    std::to_array<std::string_view>({"A", "B", "PET_NNODES", "PET_MASTER_ADDR", "JAX_PROCESS_ID",
                                     "DMLC_TASK_ID", "STORAGE_URI", "FLUX_VIEW_IMAGE"});
constexpr auto label_keys = std::to_array<std::string_view>(
    {"a", "x.io/b", "$patch", "$retainKeys", "trainer.kubeflow.org/x", "containers"});
constexpr auto steps = std::to_array<std::string_view>(
    {"trainer", "trainer", "trainer", "dataset-initializer", "model-initializer", "eval"});
constexpr auto resources =
    std::to_array<std::string_view>({"cpu", "memory", "nvidia.com/gpu", "amd.com/GPU",
                                     "nvidia.com/gpu.shared", "google.com/tpu", "hugepages-2Mi"});
constexpr auto quantities =
    std::to_array<std::string_view>({"1", "0", "500m", "8", "1.5Gi", "-2", "1e3", "9223372036854775807",
                                     "99999999999999999999E", "1n", "+.5"});

constexpr std::string_view ancestor = "trainer.kubeflow.org/trainjob-ancestor-step";

// Returns whether a plugin has a policy of this name.
bool is_policy(std::string_view name) {
    static const auto policies = [] {
        std::set<std::string_view> members;
        for (const auto& plugin : runtime::default_pipeline())
            if (const runtime::Policy* policy = plugin->policy()) members.insert(policy->member);
        return members;
    }();
    return policies.contains(name);
}

const auto& one_of(const auto& values, std::uint64_t number) { return values[number % values.size()]; }

bool is_string_type(const Json& schema) { return schema["type"].as_string() == "string"; }

}  // namespace

void SchemaValues::grow(std::set<std::string_view> members, std::uint64_t items, std::uint64_t budget) {
    grown_ = std::move(members);
    longest_ = items;
    left_ = budget;
}

std::uint64_t SchemaValues::more_of(std::string_view member) {
    return grown_.contains(member) && left_ > 0 ? 1 + below(longest_) : 0;
}

Json SchemaValues::make(const Json& schema, std::string_view name, int depth) {
    left_ -= left_ > 0;
    if (schema["x-kubernetes-int-or-string"].bool_or(false)) return quantity();
    const std::string_view type = schema["type"].as_string();
    if (type == "object")
        return schema["properties"].is_object() ? object(schema, depth) : map(schema, name, depth);
    if (type == "array") return list(schema, name, depth);
    if (type == "integer") return integer(schema);
    if (type == "number") return 0.5;
    if (type == "boolean") return maybe(50);
    return text(schema, name);
}

Json SchemaValues::object(const Json& schema, int depth) {
    Json::Object::Members members;
    const auto& required = schema["required"].items();
    const auto chance = [](std::string_view name) {
        return structural.contains(name) ? 92u : important.contains(name) || is_policy(name) ? 35u : 4u;
    };
    for (const auto& [name, member] : schema["properties"].members()) {
        const bool needed = std::find(required.begin(), required.end(), Json(name)) != required.end();
        if (needed || maybe(chance(name))) members.push_back({name, make(member, name, depth + 1)});
    }
    return Json::Object(std::move(members));
}

Json SchemaValues::map(const Json& schema, std::string_view name, int depth) {
    Json made = Json::object();
    const Json& values = schema["additionalProperties"];
    const bool of_resources = values["x-kubernetes-int-or-string"].bool_or(false);
    for (auto count = below(4); count > 0; --count)
        made[of_resources ? one_of(resources, random_())
                          : one_of(label_keys, maybe(90) ? below(2) : random_())] =
            values.is_object() ? make(values, {}, depth + 1) : Json("x");
    Json::Object::Members more;
    const auto most = static_cast<std::uint64_t>(schema["maxProperties"].int_or(1'000'000));
    for (auto count = std::min(more_of(name), most - 8); count > 0 && left_ > 0;
         --count)  // with the items above
        more.push_back({(count % 50 == 7 ? "x.io/gpu-" : "x.io/key-") + std::to_string(count),
                        values.is_object() ? make(values, {}, depth + 1) : Json("x")});
    if (!more.empty()) {
        more.insert(more.end(), made.members().begin(), made.members().end());
        made = Json::Object(std::move(more));
    }
    if (name == "labels" && maybe(60)) made[ancestor] = one_of(steps, random_());
    return made;
}

Json SchemaValues::list(const Json& schema, std::string_view name, int depth) {
    const auto most = static_cast<std::uint64_t>(schema["maxItems"].int_or(1000));
    const auto least = static_cast<std::uint64_t>(schema["minItems"].int_or(0));
    std::uint64_t count = structural.contains(name) ? 1 + below(2) : below(4);
    if (maybe(1) && depth < 12) count = below(name == "replicatedJobs" ? 12 : 40);
    const std::uint64_t more = more_of(name);
    count = std::clamp(count + more, least, most);
    Json made = Json::array();
    std::set<std::string> keys;
    for (; count > 0 && (made.items().size() < least || more == 0 || left_ > 0); --count) {
        Json item = make(schema["items"], name, depth + 1);
        std::string all;
        for (const Json& part : schema["x-kubernetes-list-map-keys"].items()) {
            const auto member = part.as_string();
            if (Json* value = item.find(member); value && more > 0 && maybe(95))
                *value = key(count, schema["items"]["properties"][member], *value);
            all += to_json(std::as_const(item)[member]) + ",";
        }
        if (schema["x-kubernetes-list-type"].as_string() == "set") all = to_json(item);
        if (all.empty() || keys.insert(all).second) made.push_back(std::move(item));
    }
    return made;
}

// Returns one of many different keys, if the schema admits that many.
Json SchemaValues::key(std::uint64_t number, const Json& schema, const Json& value) {
    if (schema["enum"].is_array()) return value;
    if (value.is_integer())
        return std::clamp(static_cast<std::int64_t>(number), schema["minimum"].int_or(1),
                          schema["maximum"].int_or(65535));
    const std::string made = "k-" + std::to_string(number);
    return value.is_string() && made.size() <= static_cast<std::size_t>(schema["maxLength"].int_or(63))
               ? Json(made)
               : value;
}

Json SchemaValues::integer(const Json& schema) {
    const bool small = schema["format"].as_string() == "int32";
    using Small = std::numeric_limits<std::int32_t>;
    using Large = std::numeric_limits<std::int64_t>;
    const bool is_positive = std::any_of(
        schema["x-kubernetes-validations"].items().begin(), schema["x-kubernetes-validations"].items().end(),
        [](const Json& rule) { return rule["rule"].as_string() == "self >= 1"; });
    const std::int64_t low = schema["minimum"].int_or(is_positive ? 1
                                                      : small     ? std::int64_t{Small::min()}
                                                                  : Large::min());
    const std::int64_t high = schema["maximum"].int_or(small ? Small::max() : Large::max());
    const std::int64_t values[] = {0, 1, 2, 3, 8, 29500, -1, low, high};
    return std::clamp(values[maybe(90) ? below(6) : below(std::size(values))], low, high);
}

Json SchemaValues::text(const Json& schema, std::string_view name) {
    if (const auto& choices = schema["enum"].items(); !choices.empty()) return choices[below(choices.size())];
    if (schema["format"].as_string() == "date-time") return "2026-01-01T00:00:00Z";
    std::string value(is_string_type(schema) ? one_of(words, random_()) : "x");
    if (name == "name" || name == "jobName" || name == "containerNames")
        value = maybe(60) ? one_of(names, random_()) : one_of(variables, random_());
    if (longest_ > 0 && maybe(20)) value = "w-" + std::to_string(below(longest_));  // many different values
    if (name == "uri" || name == "storageUri") value = "hf://x";
    const auto least = static_cast<std::size_t>(schema["minLength"].int_or(0));
    const auto most =
        static_cast<std::size_t>(std::min<std::int64_t>(schema["maxLength"].int_or(1 << 16), 1 << 16));
    if (maybe(1)) value = std::string(std::min<std::size_t>(most, below(300)), 'x');
    if (const std::uint64_t more = more_of(name); more > 0) {
        value = std::string(std::min<std::size_t>(most, 20 * more), 'x');
        left_ -= std::min(left_, more / 4);  // a value weighs as much as 80 characters
    }
    if (value.size() < least) value.resize(least, 'y');
    return value.substr(0, most);
}

Json SchemaValues::vary(const Json& value, const Json& schema, std::string_view name, int depth) {
    if (maybe(3)) return make(schema, name, depth);
    Json varied = value;
    if (varied.is_array() && !varied.empty()) {
        for (Json& item : varied.items())
            if (maybe(30)) item = vary(item, schema["items"], name, depth + 1);
        if (maybe(5)) varied.items().pop_back();
    }
    if (varied.is_object())
        for (auto& [member, part] : varied.members())
            if (const Json& of_part = schema["properties"][member]; !of_part.is_null() && maybe(60))
                part = vary(part, of_part, member, depth + 1);
    return varied;
}

Json SchemaValues::quantity() {
    if (maybe(30)) return static_cast<std::int64_t>(below(10));
    return one_of(quantities, maybe(90) ? below(5) : random_());
}
