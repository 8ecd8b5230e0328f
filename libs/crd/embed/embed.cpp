// Writes the schemas of CRD files as a source file: embed OUTPUT CRD.yaml...
#include <fstream>
#include <iterator>
#include <map>

#include "api/yaml.hpp"

namespace {

using api::Json;

// Programs do not need descriptions, which are two thirds of the bytes. A property of that name is an object
// and stays.
void drop_descriptions(Json& schema) {
    if (schema.is_object()) {
        schema.members().erase_if(
            [](const auto& member) { return member.key == "description" && member.value.is_string(); });
        for (auto& [key, value] : schema.members()) drop_descriptions(value);
    } else if (schema.is_array()) {
        for (Json& item : schema.items()) drop_descriptions(item);
    }
}

// Shorter parts are not worth a reference.
constexpr std::size_t shortest_shared = 30;

// Writes parts of schemas that occur more than once, above all Pods, only once: {"$": 3} refers to the part
// with index 3. A part refers only to parts with a smaller index.
class Sharing {
public:
    void count(const Json& part) {
        if (!is_compound(part) || ++counts_[api::to_json(part)] > 1) return;
        for (const auto& [key, value] : part.members()) count(value);
        for (const Json& item : part.items()) count(item);
    }

    Json shared(const Json& part) {
        if (!is_compound(part)) return part;
        const std::string text = api::to_json(part);
        if (counts_[text] < 2 || text.size() < shortest_shared) return with_shared_parts(part);
        if (!places_.contains(text)) {
            texts_.push_back(api::to_json(with_shared_parts(part)));
            places_[text] = texts_.size() - 1;
        }
        return Json::object({{"$", places_[text]}});
    }

    const std::vector<std::string>& texts() const { return texts_; }

private:
    static bool is_compound(const Json& part) { return part.is_object() || part.is_array(); }

    Json with_shared_parts(const Json& part) {
        Json copy = part;
        if (copy.is_object())
            for (auto& [key, value] : copy.members()) value = shared(value);
        else
            for (Json& item : copy.items()) item = shared(item);
        return copy;
    }

    std::map<std::string, int> counts_ = {};
    std::map<std::string, std::size_t> places_ = {};
    std::vector<std::string> texts_ = {};
};

std::string quoted(const std::string& text) { return "R\"~crd~(" + text + ")~crd~\""; }

std::string read(const char* path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

int main(int count, char** arguments) {
    std::vector<std::pair<std::string, Json>> schemas;
    Sharing sharing;
    for (int i = 2; i < count; ++i) {
        const Json file = api::parse_yaml(read(arguments[i])).value();
        Json schema = file["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        drop_descriptions(schema);
        sharing.count(schema);
        schemas.emplace_back(file["spec"]["names"]["kind"].as_string(), std::move(schema));
    }
    std::ofstream out(arguments[1]);
    out << "#include \"embedded.hpp\"\n\nnamespace crd {\n\nstd::span<const Embedded> embedded() {\n"
           "    static const Embedded all[] = {\n";
    for (const auto& [kind, schema] : schemas)
        out << "        {\"" << kind << "\", " << quoted(api::to_json(sharing.shared(schema))) << "},\n";
    out << "    };\n    return all;\n}\n\nstd::span<const std::string_view> shared_parts() {\n"
           "    static const std::string_view all[] = {\n";
    for (const std::string& text : sharing.texts()) out << "        " << quoted(text) << ",\n";
    out << "    };\n    return all;\n}\n\n}  // namespace crd\n";
    return out.good() ? 0 : 1;
}
