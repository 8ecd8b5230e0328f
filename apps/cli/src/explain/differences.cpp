#include "explain/differences.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace cli {
namespace {

using api::Json;

constexpr std::size_t longest_value = 40;

struct Both {
    const Json* before = nullptr;
    const Json* after = nullptr;
};
// Sorted by the part after the path: ".numNodes", "[node]".
using Parts = std::map<std::string, Both>;

std::string shown(const Json* value) {
    if (!value) return "nothing";
    std::string text = api::to_json(*value);
    if (text.size() > longest_value) text.replace(longest_value - 3, std::string::npos, "...");
    return text;
}

std::string_view name_of(const Json& item) { return item["name"].as_string(); }

bool have_names(const Json& list) {
    return std::none_of(list.items().begin(), list.items().end(),
                        [](const Json& item) { return name_of(item).empty(); });
}

void add_parts(const Json& tree, bool by_name, const Json* Both::*side, Parts& parts) {
    for (const auto& member : tree.members()) parts["." + member.key].*side = &member.value;
    std::size_t index = 0;
    for (const Json& item : tree.items()) {
        const std::string label = by_name ? std::string(name_of(item)) : std::to_string(index++);
        parts["[" + label + "]"].*side = &item;
    }
}

void compare(const Json& before, const Json& after, const std::string& path,
             std::vector<std::string>& lines) {
    if (before == after) return;
    const bool lists = before.is_array() && after.is_array();
    if (!lists && !(before.is_object() && after.is_object())) {
        lines.push_back(path + ": " + shown(&before) + " -> " + shown(&after));
        return;
    }
    const bool by_name = lists && have_names(before) && have_names(after);
    Parts parts;
    add_parts(before, by_name, &Both::before, parts);
    add_parts(after, by_name, &Both::after, parts);
    const std::size_t lines_before = lines.size();
    for (const auto& [label, part] : parts) {
        const std::string place = path.empty() ? label.substr(1) : path + label;
        if (part.before && part.after)
            compare(*part.before, *part.after, place, lines);
        else
            lines.push_back(place + ": " + shown(part.before) + " -> " + shown(part.after));
    }
    // The entries have the same names in another order, which may have a meaning.
    if (lines.size() == lines_before) lines.push_back(path + ": in another order");
}

}  // namespace

std::vector<std::string> field_differences(const Json& before, const Json& after) {
    std::vector<std::string> lines;
    compare(before, after, "", lines);
    return lines;
}

}  // namespace cli
