#include "render/render.hpp"

#include <dtl/dtl.hpp>
#include <sstream>

#include "api/yaml.hpp"

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

std::string print(const std::vector<Json>& objects, Format format) {
    if (format == Format::json)
        return to_json(Json::object({{"apiVersion", "v1"}, {"kind", "List"}, {"items", objects}})) + "\n";
    std::string text;
    for (const Json& object : objects) text += (text.empty() ? "" : "---\n") + api::to_yaml(object);
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
    return object;
}

std::string difference(const std::string& before_name, const std::string& before,
                       const std::string& after_name, const std::string& after) {
    if (before == after) return "";
    dtl::Diff<std::string> diff(lines_of(before), lines_of(after));
    diff.compose();
    diff.composeUnifiedHunks();
    std::ostringstream text;
    text << "--- " << before_name << "\n+++ " << after_name << "\n";
    diff.printUnifiedFormat(text);
    return text.str();
}

}  // namespace cli
