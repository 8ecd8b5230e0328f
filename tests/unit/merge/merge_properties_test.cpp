// Properties that hold for any base and any patch.
#include <algorithm>
#include <functional>
#include <random>

#include "pod_specs.hpp"
#include "tree.hpp"

using api::Json;

namespace {

constexpr unsigned pairs = 500;

}  // namespace

TEST_CASE("merging the same patch twice changes nothing more", "[merge]") {
    for (unsigned seed = 0; seed < pairs; ++seed) {
        PodSpecs generator(seed);
        const Json base = generator.make(), patch = generator.make();
        const auto once = merge_pod_spec(base, patch);
        REQUIRE(once.has_value());
        INFO("base " << base << " patch " << patch);
        REQUIRE(merge_pod_spec(*once, patch).value() == *once);
    }
}

TEST_CASE("fields that a patch does not name stay unchanged", "[merge]") {
    for (unsigned seed = 0; seed < pairs; ++seed) {
        PodSpecs generator(seed);
        const Json base = generator.make(), patch = generator.make();
        const auto merged = merge_pod_spec(base, patch);
        REQUIRE(merged.has_value());
        INFO("base " << base << " patch " << patch);
        for (const auto& [name, value] : base.members())
            if (!patch.contains(name)) REQUIRE(to_json(value) == to_json((*merged)[name]));
    }
}

TEST_CASE("patches of different fields may come in either order", "[merge]") {
    for (unsigned seed = 0; seed < pairs; ++seed) {
        PodSpecs generator(seed);
        const Json base = generator.make();
        Json left = generator.make(), right = generator.make();
        for (const auto& [name, value] : std::as_const(left).members()) right.erase(name);
        REQUIRE(merge_pod_spec(merge_pod_spec(base, left).value(), right).value() ==
                merge_pod_spec(merge_pod_spec(base, right).value(), left).value());
    }
}

TEST_CASE("any tree merged into any other is a result or an error", "[merge]") {
    std::mt19937 random(7);
    const std::function<Json(int)> any = [&](int depth) -> Json {
        switch (random() % (depth > 0 ? 8u : 5u)) {
            case 0: return {};
            case 1: return false;
            case 2: return static_cast<int>(random() % 3);
            case 3: return "";
            case 4: return "node";
            case 5: {
                Json list = Json::array();
                for (auto i = random() % 3; i > 0; --i) list.push_back(any(depth - 1));
                return list;
            }
            default: {
                static const char* const names[] = {"replicatedJobs", "name",   "template",   "spec",
                                                    "metadata",       "labels", "containers", "env",
                                                    "value",          "volumes"};
                Json map = Json::object();
                for (auto i = random() % 4; i > 0; --i)
                    map[names[random() % std::size(names)]] = any(depth - 1);
                return map;
            }
        }
    };
    for (int i = 0; i < 5'000; ++i) {
        const Json base = any(8), patch = any(8);
        const auto merged = merge::strategic_merge(base, patch, merge::job_set_spec());
        if (!merged) REQUIRE(merged.error().code == api::Errc::invalid);
    }
}
