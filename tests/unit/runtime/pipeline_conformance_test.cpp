#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "api/names.hpp"
#include "pipeline_case.hpp"
#include "pipeline_overrides.hpp"
#include "runtime/snapshot.hpp"
#include "support/printers.hpp"

namespace {

using api::Json;

// Every place where two trees differ, so that a failure can be read.
void differences(const std::string& path, const Json& want, const Json& have,
                 std::vector<std::string>& found) {
    if (want == have) return;
    if (want.is_object() && have.is_object()) {
        std::set<std::string> names;
        for (const auto& m : want.members()) names.insert(m.key);
        for (const auto& m : have.members()) names.insert(m.key);
        for (const auto& name : names) differences(path + "." + name, want[name], have[name], found);
    } else if (want.is_array() && have.is_array() && want.items().size() == have.items().size()) {
        for (std::size_t i = 0; i < want.items().size(); ++i)
            differences(path + "[" + std::to_string(i) + "]", want[i], have[i], found);
    } else {
        found.push_back(path + ": want " + to_json(want) + ", have " + to_json(have));
    }
}

std::vector<std::string> differences(const Json& want, const Json& have) {
    std::vector<std::string> found;
    differences("", want, have, found);
    return found;
}

// What cannot be foretold or is ours to write: anything will do, if it is there.
Json like(const Json& want, Json have) {
    if (have.is_object())
        for (auto& [name, value] : have.members()) value = like(want[name], value);
    const std::string_view pattern = want.as_string();
    const bool any = pattern == "<random>" || pattern == "<script>";
    return any && !std::as_const(have).as_string().empty() ? want : have;
}

// But for the snapshot, which has what was written.
void check_same(const std::map<std::string, Json>& objects,
                const api::Result<std::map<std::string, Json>>& wanted) {
    if (!wanted) FAIL(wanted.error());
    CHECK(objects.size() == wanted->size());
    CHECK(objects.size() > 1);
    for (const auto& [key, want] : *wanted) {
        INFO(key);
        REQUIRE(objects.contains(key));
        if (key.ends_with(api::snapshot_suffix) || want["kind"].as_string() == "Secret") continue;
        CHECK(differences(comparable(want), comparable(objects.at(key))) == std::vector<std::string>{});
    }
}

}  // namespace

TEST_CASE("the original's cases are built as specified", "[conformance]") {
    for (const PipelineCase& c : all_pipeline_cases()) {
        if (!decided_elsewhere(c.name).empty()) continue;
        DYNAMIC_SECTION(c.name) {
            const auto rows = find_overrides(c.name);
            const auto objects = built_objects(c);
            if (const char* field = refused_field(c.name)) {
                REQUIRE_FALSE(objects);
                CHECK(objects.error().field == field);
                return;
            }
            // Every error has its row.
            const auto full = spelled_out(c);
            CHECK((full || !c.want.contains("error")));
            if (!objects) FAIL(objects.error());
            if (full) return check_same(*objects, built_objects(*full));

            std::map<std::string, Json> wanted;
            for (const Json& object : c.want["objects"].items()) wanted[key_of(object)] = object;
            for (const Override* row : rows)
                for (auto& [key, object] : wanted)
                    if (std::as_const(object)["kind"].as_string() == row->kind) row->change(c, object);
            if (const Addition* addition = find_addition(c.name)) addition->add(c, wanted);
            std::set<std::string> wanted_names;
            std::set<std::string> built_names;
            for (const auto& [key, object] : wanted) wanted_names.insert(key);
            for (const auto& [key, object] : *objects) built_names.insert(key);
            CHECK(built_names == wanted_names);
            for (const auto& [key, object] : wanted) {
                const auto built = objects->find(key);
                if (built == objects->end()) continue;
                const bool snapshot = key.ends_with(api::snapshot_suffix);
                const auto simplify = snapshot ? comparable_snapshot : comparable;
                const Json want = simplify(object);
                CHECK(differences(want, like(want, simplify(built->second))) == std::vector<std::string>{});
            }
        }
    }
}

TEST_CASE("every case that the lists name is there", "[conformance]") {
    std::set<std::string> unknown = named_cases();
    for (const PipelineCase& c : all_pipeline_cases()) unknown.erase(c.name);
    CHECK(unknown == std::set<std::string>{});
}
