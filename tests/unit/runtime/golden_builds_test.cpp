// build() on the cases of tests/data/build. golden_passes_test.cpp of the reconciler's tests runs whole
// reconciles, and writes their want.json.
#include <algorithm>
#include <catch2/catch.hpp>

#include "build_case.hpp"
#include "support/golden.hpp"
#include "support/printers.hpp"

using api::Json;

TEST_CASE("build() returns the objects of want.json, or its error", "[golden]") {
    if (golden::writes()) return;
    for (const BuildCase& c : all_build_cases()) {
        if (!decided_by_building(c)) continue;
        DYNAMIC_SECTION(c.name) {
            const auto objects = built_objects(c);
            Json have = Json::object();
            if (objects)
                have["objects"] = *objects;
            else
                have["error"] = api::describe(objects.error());
            Json want = c.want;
            for (const char* of_the_pass : {"status", "deleted", "patched"}) want.erase(of_the_pass);
            CHECK(golden::differences(want, have) == std::vector<std::string>{});
        }
    }
}

TEST_CASE("build() gives the result of nearly all cases", "[golden]") {
    const auto& cases = all_build_cases();
    CHECK(std::count_if(cases.begin(), cases.end(), decided_by_building) >= 175);
}
