#include "random_observed.hpp"

#include <iostream>
#include <map>
#include <string>

#include "api/base64.hpp"
#include "api/yaml.hpp"

namespace {

using api::Json;

// The members of these kinds that are read, all of them required: damage() removes some. Sources:
// k8s.io/api, and the CRDs of scheduler-plugins and Volcano. The data of Secrets and ConfigMaps is below.
constexpr const char* schemas_text = R"(
ResourceClaim: &claim
  spec: {type: object, required: [devices], properties: {devices: &devices {type: object, required: [requests],
    properties: {requests: {type: array, x-kubernetes-list-map-keys: [name], items: {type: object,
      required: [name], properties: {
        name: &request {type: string, enum: [a, b, "", "run"]},
        exactly: &device {type: object, required: [deviceClassName, allocationMode, count], properties: {
          name: {type: string, enum: [a, "", "x/y"]},
          deviceClassName: {type: string, enum: [gpu.nvidia.com, gpu.nvidia.com, nic.example.com, mig.nvidia.com, ""]},
          allocationMode: {type: string, enum: [ExactCount, ExactCount, ExactCount, "", All, Another]},
          adminAccess: {type: boolean},
          count: {type: integer, format: int64}}},
        firstAvailable: {type: array, items: *device}}}}}}}}
  status: {type: object, required: [], properties: {allocation: {type: object, required: [devices], properties: {
    devices: {type: object, required: [results], properties: {results: {type: array, items: {type: object,
      required: [request], properties: {request: {type: string, enum: [a, b, a/a, a/, run, "/"]},
      driver: {type: string}}}}}}}}}}
ResourceClaimTemplate:
  spec: {type: object, required: [spec], properties: {spec: {type: object, required: [devices],
    properties: {devices: *devices}}}}
DeviceClass:
  spec: {type: object, properties: {extendedResourceName: {type: string, enum: [nvidia.com/gpu, example.com/nic, ""]}}}
LimitRange:
  spec: {type: object, required: [limits], properties: {limits: {type: array, items: {type: object,
    required: [type, defaultRequest], properties: {type: {type: string, enum: [Container, Container, Pod, ""]},
    defaultRequest: &list {type: object, additionalProperties: {x-kubernetes-int-or-string: true}}}}}}}
RuntimeClass:
  overhead: {type: object, required: [podFixed], properties: {podFixed: *list}}
PriorityClass:
  value: {type: integer, format: int32}
PodGroup:
  spec: {type: object, required: [minMember, minResources], properties: {minMember: {type: integer, format: int32},
    minResources: *list, queue: {type: string}}}
  status: {type: object, properties: {phase: {type: string}}}
)";

const Json& schemas() {
    static const Json all = [] {
        auto read = api::parse_yaml(schemas_text);
        if (!read) std::cerr << "schemas of observed objects: " << read.error() << '\n';
        return read ? *read : Json();
    }();
    return all;
}

constexpr const char* certificate = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";

Json random_value(SchemaValues& values) {
    const Json choices[] = {
        Json(),   Json(true),      Json(-1), Json(0.5),        Json("x"),
        Json(""), Json::array({}), Json(7),  Json::object({}), Json::array({Json(), "x", 3})};
    return choices[values.below(std::size(choices))];
}

// Returns data of Secrets and ConfigMaps: that of Signalbox's own, a CA, and data of others.
Json random_data(SchemaValues& values) {
    const std::string texts[] = {certificate, std::string(certificate) + "-----BEGIN PRIVATE KEY-----",
                                 "\xff\xfe", ""};
    Json data = Json::object();
    for (const char* key :
         {"ca.crt", "ssh-privatekey", "ssh-publickey", "curve.cert", "hostfile", "entrypoint.sh"})
        if (values.maybe(60))
            data[key] = values.maybe(80)
                            ? api::to_base64(values.maybe(60) ? texts[0] : texts[values.below(4)])
                            : std::string("no base64?");
    return data;
}

// Removes parts of a tree, or gives them another type.
void damage(SchemaValues& values, Json& tree, unsigned percent) {
    if (values.maybe(percent)) {
        tree = random_value(values);
        return;
    }
    if (tree.is_array())
        for (Json& item : tree.items()) damage(values, item, percent);
    if (!tree.is_object()) return;
    tree.members().erase_if([&](const auto&) { return values.maybe(percent); });
    for (auto& member : tree.members()) damage(values, member.value, percent);
}

Json owner(SchemaValues& values) {
    const bool ours = values.maybe(60);
    return Json::object({{"apiVersion", "trainer.kubeflow.org/v1alpha1"},
                         {"kind", "TrainJob"},
                         {"name", "job"},
                         {"uid", ours ? "u" : "of-another"},
                         {"controller", values.maybe(80)}});
}

Json make_one(SchemaValues& values, const runtime::Need& need, const std::string& name) {
    Json object = Json::object();
    for (const auto& [member, schema] : schemas()[need.resource.kind].members())
        object[member] = values.make(schema, member);
    if (need.resource == api::resources::secrets || need.resource == api::resources::config_maps)
        object["data"] = random_data(values);
    Json metadata = Json::object({{"name", name}, {"uid", "o"}, {"resourceVersion", "1"}});
    if (!need.key.ns.empty()) metadata["namespace"] = need.key.ns;
    if (values.maybe(60)) metadata["ownerReferences"] = Json::array({owner(values)});
    if (values.maybe(40)) {
        damage(values, object, 15);
        if (!object.is_object()) object = Json::object();
        damage(values, metadata["ownerReferences"], 15);
    }
    object["metadata"] = std::move(metadata);
    object["apiVersion"] = api_version(need.resource);
    object["kind"] = need.resource.kind;
    return object;
}

}  // namespace

std::vector<Json> make_observed(SchemaValues& values, const runtime::Need& need) {
    std::vector<Json> found;
    // Without a CA nothing is built, so mostly there is one.
    if (need.shared_read && values.maybe(85)) {
        Json ca = make_one(values, need, need.key.name);
        ca["data"] = Json::object({{need.shared_read->data_key, api::to_base64(certificate)}});
        return {ca};
    }
    if (values.maybe(25)) return found;
    if (!need.key.name.empty()) return {make_one(values, need, need.key.name)};
    for (auto count = values.below(4); count > 0; --count)
        found.push_back(make_one(values, need, "some-" + std::to_string(count)));
    return found;
}
