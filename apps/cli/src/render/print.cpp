#include "render/render.hpp"

#include <dtl/dtl.hpp>
#include <sstream>

#include "api/names.hpp"

namespace cli {
namespace {

using api::Json;

constexpr const char* mask = "***";

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

}  // namespace

Text print(const std::vector<Json>& objects, Format format) {
    if (format == Format::json)
        return Text::json(Json::object({{"apiVersion", "v1"}, {"kind", "List"}, {"items", objects}}));
    Text text;
    for (const Json& object : objects) {
        if (!text.empty()) text += Text::line("---");
        text += Text::yaml(object);
    }
    return text;
}

Json masked(Json object) {
    if (std::as_const(object)["kind"].as_string() != "Secret") return object;
    for (const char* name : {"data", "stringData"}) {
        Json* data = object.find(name);
        if (!data) continue;
        if (!data->is_object()) *data = mask;
        if (data->is_object())
            for (auto& [key, value] : data->members()) value = mask;
    }
    // The note is a hash of the data.
    Json* metadata = object.find("metadata");
    if (Json* annotations = metadata ? metadata->find("annotations") : nullptr) {
        annotations->erase(api::applied_hash_annotation);
        if (annotations->empty()) metadata->erase("annotations");
    }
    return object;
}

Text difference(const std::string& before_name, const Text& before, const std::string& after_name,
                const Text& after) {
    if (before == after) return {};
    dtl::Diff<std::string> diff(lines_of(before.str()), lines_of(after.str()));
    diff.compose();
    diff.composeUnifiedHunks();
    std::ostringstream text;
    diff.printUnifiedFormat(text);
    Text lines = Text::line("--- " + before_name) + Text::line("+++ " + after_name);
    for (const std::string& line : lines_of(text.str())) lines += Text::line(line);
    return lines;
}

}  // namespace cli
