#pragma once
// Golden files: JSON of Signalbox's results, one value a line, for review. With SIGNALBOX_WRITE_GOLDEN=1 in
// the environment the tests write them instead of comparing.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "api/json.hpp"

namespace golden {

/// Returns the file's text; empty if there is no such file.
inline std::string read(const std::filesystem::path& file) {
    std::ostringstream text;
    if (std::filesystem::exists(file)) text << std::ifstream(file).rdbuf();
    return text.str();
}

/// Writes JSON as Python's json.dump does with indent=1.
inline std::string pretty(const api::Json& tree, const std::string& indent = "\n") {
    std::string inner;
    for (const api::Json& item : tree.items())
        inner += (inner.empty() ? "" : ",") + indent + " " + pretty(item, indent + " ");
    for (const auto& [name, value] : tree.members())
        inner += (inner.empty() ? "" : ",") + indent + " " + to_json(api::Json(name)) + ": " +
                 pretty(value, indent + " ");
    if (inner.empty()) return to_json(tree);
    return (tree.is_array() ? "[" : "{") + inner + indent + (tree.is_array() ? "]" : "}");
}

/// Returns every path at which two trees differ.
inline std::vector<std::string> differences(const api::Json& want, const api::Json& have,
                                            const std::string& path = {}) {
    if (want == have) return {};
    std::vector<std::string> found;
    const auto look = [&](const std::string& place, const api::Json& of_want, const api::Json& of_have) {
        const auto inside = differences(of_want, of_have, path + place);
        found.insert(found.end(), inside.begin(), inside.end());
    };
    if (want.is_object() && have.is_object()) {
        std::set<std::string> names;
        for (const auto& member : want.members()) names.insert(member.key);
        for (const auto& member : have.members()) names.insert(member.key);
        for (const auto& name : names) look("." + name, want[name], have[name]);
    } else if (want.is_array() && have.is_array() && want.items().size() == have.items().size()) {
        for (std::size_t i = 0; i < want.items().size(); ++i)
            look("[" + std::to_string(i) + "]", want[i], have[i]);
    }
    if (found.empty()) found.push_back(path + ": want " + to_json(want) + ", have " + to_json(have));
    return found;
}

inline bool writes() {
    const char* const set = std::getenv("SIGNALBOX_WRITE_GOLDEN");
    return set && std::string_view(set) == "1";
}

/// Checks that the file contains `have`, byte for byte.
inline void check(const std::filesystem::path& file, const api::Json& have) {
    const std::string text = pretty(have) + "\n";
    if (read(file) == text) {
        SUCCEED();  // Catch counts the check
        return;
    }
    if (writes()) {
        std::ofstream(file) << text;
        return;
    }
    INFO(file << " (SIGNALBOX_WRITE_GOLDEN=1 writes it anew)");
    const auto want = api::parse_json(read(file));
    const auto found = differences(want ? *want : api::Json(), have);
    CHECK(found == std::vector<std::string>{});
    if (found.empty()) FAIL_CHECK("only the layout or the order of members differs");
}

}  // namespace golden
