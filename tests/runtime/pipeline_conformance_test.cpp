#include <catch2/catch.hpp>
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

}  // namespace

TEST_CASE("the original's cases are built as specified", "[conformance]") {
    for (const PipelineCase& c : all_pipeline_cases()) {
        if (!decided_elsewhere(c.name).empty()) continue;
        DYNAMIC_SECTION(c.name) {
            const Override* override_row = find_override(c.name);
            const auto objects = built_objects(c);
            const bool wants_error =
                override_row ? override_row->change == nullptr : c.want.contains("error");
            if (wants_error) {
                REQUIRE_FALSE(objects);
                CHECK_FALSE(objects.error().field.empty());
                return;
            }
            if (!objects) FAIL(objects.error());

            std::set<std::string> kinds;
            for (const auto& [key, object] : *objects) kinds.insert(std::string(object["kind"].as_string()));
            CHECK(kinds == std::set<std::string>{"ConfigMap", "JobSet"});

            REQUIRE(c.wanted("JobSet"));
            Json wanted = *c.wanted("JobSet");
            if (override_row) override_row->change(c, wanted);
            const Json& built = objects->at("JobSet/" + c.job.meta.name);
            CHECK(differences(comparable(wanted), comparable(built)) == std::vector<std::string>{});

            if (const Json* snapshot = c.wanted("ConfigMap")) {
                const Json& made = objects->at("ConfigMap/" + runtime::snapshot_name(c.job.meta.name));
                CHECK(differences(comparable_snapshot(*snapshot), comparable_snapshot(made)) ==
                      std::vector<std::string>{});
            }
        }
    }
}

TEST_CASE("every case that the lists name is there", "[conformance]") {
    std::set<std::string> unknown = named_cases();
    for (const PipelineCase& c : all_pipeline_cases()) unknown.erase(c.name);
    CHECK(unknown == std::set<std::string>{});
}
