#include "stored_form.hpp"

#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>

#include "api/yaml.hpp"

namespace {

using api::Json;

Json read_schema(const std::string& plural) {
    std::ifstream file(SIGNALBOX_TEST_DATA "/../../manifests/base/crds/" + plural + ".yaml");
    std::ostringstream text;
    text << file.rdbuf();
    const Json crd = api::parse_yaml(text.str()).value();
    return crd["spec"]["versions"].items().at(0)["schema"]["openAPIV3Schema"];
}

const Json& schema_of(std::string_view kind) {
    static const std::map<std::string, Json, std::less<>> schemas = {
        {"TrainJob", read_schema("trainjobs")},
        {"TrainingRuntime", read_schema("trainingruntimes")},
        {"ClusterTrainingRuntime", read_schema("clustertrainingruntimes")},
    };
    const auto found = schemas.find(kind);
    if (found == schemas.end()) throw std::runtime_error("no CRD of kind " + std::string(kind));
    return found->second;
}

Json stored(const Json& value, const Json& schema);

Json stored_object(const Json& object, const Json& schema) {
    Json kept = Json::object();
    const Json& values = schema["additionalProperties"];
    for (const auto& [key, value] : object.members()) {
        const Json* property = schema["properties"].find(key);
        if (value.is_null() || (!property && values.is_null())) continue;
        kept[key] = stored(value, property ? *property : values);
    }
    for (const auto& [key, property] : schema["properties"].members())
        if (const Json* fallback = property.find("default"); fallback && !kept.contains(key))
            kept[key] = stored(*fallback, property);
    return kept;
}

Json stored(const Json& value, const Json& schema) {
    if (value.is_object() && schema["type"].as_string() == "object") return stored_object(value, schema);
    if (!value.is_array()) return value;
    Json list = Json::array();
    for (const Json& item : value.items()) list.push_back(stored(item, schema["items"]));
    return list;
}

}  // namespace

Json stored_form(const Json& object) {
    Json form = stored(object, schema_of(object["kind"].as_string()));
    form["metadata"] = object["metadata"];  // the API server's own, of which the CRD says nothing
    return form;
}
