// Writes the schemas of CRD files as a source file: embed OUTPUT CRD.yaml...
#include <fstream>
#include <iterator>

#include "api/yaml.hpp"

namespace {

using api::Json;

// For people; they would be two thirds of the bytes. A property of that name is an object.
void drop_descriptions(Json& schema) {
    if (schema.is_object()) {
        schema.members().erase_if(
            [](const auto& member) { return member.key == "description" && member.value.is_string(); });
        for (auto& [key, value] : schema.members()) drop_descriptions(value);
    } else if (schema.is_array()) {
        for (Json& item : schema.items()) drop_descriptions(item);
    }
}

std::string read(const char* path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

int main(int count, char** arguments) {
    std::ofstream out(arguments[1]);
    out << "#include \"embedded.hpp\"\n\nnamespace crd {\n\nstd::span<const Embedded> embedded() {\n"
           "    static const Embedded all[] = {\n";
    for (int i = 2; i < count; ++i) {
        const Json file = api::parse_yaml(read(arguments[i])).value();
        Json schema = file["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        drop_descriptions(schema);
        out << "        {\"" << file["spec"]["names"]["kind"].as_string() << "\", R\"~crd~("
            << api::to_json(schema) << ")~crd~\"},\n";
    }
    out << "    };\n    return all;\n}\n\n}  // namespace crd\n";
    return out.good() ? 0 : 1;
}
