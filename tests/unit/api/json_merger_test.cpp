#include <catch2/catch.hpp>
#include <compare>
#include <map>

#include "api/json.hpp"
#include "support/printers.hpp"

#include "random_json.hpp"

using namespace api;

namespace {

JsonObject numbered(const std::vector<int>& keys) {
    JsonObject::Members members;
    for (const int key : keys) members.push_back({std::to_string(key), key});
    return JsonObject(std::move(members));
}

}  // namespace

TEST_CASE("members merge by key in any order of the calls", "[api]") {
    RandomJson random(1);
    for (int round = 0; round < 300; ++round) {
        JsonObject object;
        std::map<std::string, Json> wanted;
        for (auto count = random.below(20); count > 0; --count) {
            const std::string key = std::to_string(random.below(30));
            object[key] = "old";
            wanted[key] = "old";
        }
        std::vector<std::string> keys;
        for (auto count = random.below(20); count > 0; --count)
            keys.push_back(std::to_string(random.below(30)));
        if (random.below(2) == 0) std::sort(keys.begin(), keys.end());
        {
            JsonMerger merger(object);
            for (const std::string& key : keys) {
                Json& value = merger[key];
                CHECK(value == wanted[key]);
                value = value.is_null() ? "new" : value == "old" ? "changed" : "again";
                wanted[key] = value;
            }
        }
        REQUIRE(object.size() == wanted.size());
        auto at = object.begin();
        for (const auto& [key, value] : wanted) {
            CHECK(at->key == key);
            CHECK(at->value == value);
            ++at;
        }
    }
}

TEST_CASE("a merger without calls changes nothing", "[api]") {
    JsonObject object = numbered({1, 2});
    { const JsonMerger merger(object); }
    CHECK(object == numbered({1, 2}));
}

TEST_CASE("trees have a total order in which equal trees are adjacent", "[api]") {
    RandomJson random(2);
    std::vector<Json> trees = {
        1, 1.0, 0.5, INT64_MAX, 9223372036854775808.0, INT64_MIN, -9223372036854775808.0};
    for (int i = 0; i < 150; ++i) trees.push_back(random.tree(2));
    for (const Json& left : trees)
        for (const Json& right : trees) {
            INFO(left << " and " << right);
            CHECK(((left <=> right) == 0) == (left == right));
            CHECK((left < right) == (right > left));
        }
    std::sort(trees.begin(), trees.end());
    for (std::size_t i = 0; i < trees.size(); ++i)
        for (std::size_t k = i; k < trees.size(); ++k) CHECK_FALSE(trees[k] < trees[i]);
}
