#include "api/json.hpp"

#include <catch2/catch.hpp>
#include <sstream>

#include "support/printers.hpp"

using namespace api;

TEST_CASE("reading an absent member gives null and changes nothing", "[api]") {
    const Json values[] = {nullptr, true, 3, 1.5, "x", Json::array({1}), Json::object({{"a", 1}})};
    for (const Json& value : values) {
        INFO(value);
        CHECK(value["missing"].is_null());
        CHECK(value["missing"]["deeper"][7].is_null());
        CHECK(value[99].is_null());
        CHECK(value.find("missing") == nullptr);
        CHECK_FALSE(value.contains("missing"));
    }
    Json text = "x";
    CHECK(text.find("a") == nullptr);
    CHECK_FALSE(text.erase("a"));
    CHECK(text == Json("x"));
}

TEST_CASE("a value of another type reads as the fallback", "[api]") {
    CHECK(Json("true").bool_or(true));
    CHECK_FALSE(Json(1).bool_or(false));
    CHECK(Json("3").int_or(7) == 7);
    CHECK(Json(3.0).int_or(7) == 7);
    CHECK(Json(3).as_double() == 3.0);
    CHECK_FALSE(Json("3").as_double());
    CHECK(Json(3).as_string().empty());
    CHECK_FALSE(Json(3).string());
    CHECK(Json("").string() == std::string());
    const Json text = "x";
    const Json list = Json::array({1});
    CHECK(text.items().empty());
    CHECK(list.members().empty());
}

TEST_CASE("null, empty strings, lists and objects are empty; zero and false are not", "[api]") {
    for (const Json& value : {Json(), Json(""), Json::array(), Json::object()}) CHECK(value.empty());
    for (const Json& value : {Json(0), Json(0.0), Json(false), Json(" "), Json::array({nullptr})})
        CHECK_FALSE(value.empty());
}

TEST_CASE("null becomes the type that it is used as; other values keep their type", "[api]") {
    Json tree;
    tree["spec"]["list"].push_back(1);
    CHECK(tree == Json::object({{"spec", Json::object({{"list", Json::array({1})}})}}));
    CHECK_THROWS_AS(tree.push_back(1), std::logic_error);
    CHECK_THROWS_AS(tree["spec"]["list"]["x"], std::logic_error);
    CHECK_THROWS_WITH(Json(std::string(5000, 'x')).items(), !Catch::Contains(std::string(200, 'x')));
}

TEST_CASE("members are sorted, in any order of insertion", "[api]") {
    Json tree = Json::object({{"b", 1}, {"a", 2}});
    tree["aa"] = 3;
    tree[""] = 4;
    CHECK(to_json(tree) == R"({"":4,"a":2,"aa":3,"b":1})");
    CHECK(tree.erase("aa"));
    CHECK_FALSE(tree.erase("aa"));
    CHECK(to_json(tree) == R"({"":4,"a":2,"b":1})");
}

TEST_CASE("keys are compared by bytes", "[api]") {
    CHECK(to_json(Json::object({{"é", 1}, {"z", 2}, {"B", 3}, {"a", 4}})) == R"({"B":3,"a":4,"z":2,"é":1})");
}

TEST_CASE("of members with the same key the last one stays", "[api]") {
    JsonObject::Members members;
    for (int i = 0; i < 6; ++i) members.push_back({i % 2 == 0 ? "even" : "odd", i});
    CHECK(Json(JsonObject(members)) == Json::object({{"even", 4}, {"odd", 5}}));
}

TEST_CASE("making an object of many members takes linear time, also with equal keys", "[api]") {
    constexpr int count = 100'000;
    JsonObject::Members members;
    for (int i = 0; i < count; ++i) members.push_back({std::to_string(i * 7919 % count), i});
    for (int i = 0; i < count; ++i) members.push_back({"same", i});
    const JsonObject object(std::move(members));
    CHECK(object.size() == count + 1);
    REQUIRE(object.find("same"));
    CHECK(*object.find("same") == Json(count - 1));
    CHECK(*object.find("7919") == Json(1));
}

TEST_CASE("members can be erased by a rule", "[api]") {
    JsonObject object(JsonObject::Members{{"a", 1}, {"b", nullptr}, {"c", ""}});
    object.erase_if([](const JsonObject::Member& member) { return member.value.empty(); });
    CHECK(Json(object) == Json::object({{"a", 1}}));
}

TEST_CASE("integers and doubles of the same value are equal", "[api]") {
    CHECK(Json(1) == Json(1.0));
    CHECK(Json(0) == Json(-0.0));
    CHECK(Json::array({1}) == Json::array({1.0}));
    CHECK(Json::object({{"a", 2.0}}) == Json::object({{"a", 2}}));
    CHECK_FALSE(Json(1) == Json(1.5));
    CHECK_FALSE(Json(1) == Json("1"));
    CHECK_FALSE(Json(1) == Json(true));
    CHECK_FALSE(Json() == Json(0));
}

TEST_CASE("integers are not equal to doubles that they only round to", "[api]") {
    CHECK(Json(INT64_MIN) == Json(-0x1p63));
    CHECK_FALSE(Json(INT64_MAX) == Json(0x1p63));
    CHECK_FALSE(Json(0x1p53) == Json(9007199254740993));
    CHECK_FALSE(Json(9007199254740993) == Json(0x1p53));
}

TEST_CASE("objects of different sizes are not equal", "[api]") {
    CHECK_FALSE(Json::object({{"a", 1}}) == Json::object());
    CHECK_FALSE(Json::object({{"a", 1}}) == Json::object({{"a", 1}, {"b", 2}}));
    CHECK_FALSE(Json::object() == Json::array());
    CHECK_FALSE(Json::object() == Json());
}

TEST_CASE("a tree prints as its text", "[api]") {
    std::ostringstream out;
    out << Json::object({{"a", Json::array({nullptr, true, 1.5})}});
    CHECK(out.str() == R"({"a":[null,true,1.5]})");
}

TEST_CASE("texts of every length are kept, copied, moved and compared", "[api]") {
    std::string text;
    for (int length = 0; length < 70; ++length, text += static_cast<char>('a' + length % 26)) {
        INFO(length);
        Json value = text;
        CHECK(value.is_string());
        CHECK(value.as_string() == text);
        CHECK(value.string() == text);
        CHECK(value.empty() == text.empty());
        const Json copy = value;
        CHECK(copy == value);
        CHECK(copy != Json(text + "x"));
        CHECK(copy != Json());
        Json moved = std::move(value);
        CHECK(moved == copy);
        CHECK(value.is_null());  // NOLINT(bugprone-use-after-move): the moved-from state is specified
        moved = Json(text + "y");
        CHECK(moved.as_string() == text + "y");
        moved = copy;
        CHECK(moved.as_string() == text);
    }
}

TEST_CASE("a tree may be replaced by a part of itself", "[api]") {
    const std::string long_text(100, 'x');
    for (const Json& part : {Json(1), Json("a"), Json(long_text), Json::array({1, long_text}),
                             Json::object({{"b", long_text}}), Json()}) {
        Json tree = Json::object({{"a", Json::array({0, part})}});
        tree = Json(tree["a"].items()[1]);
        CHECK(tree == part);
        tree = Json::object({{"a", Json::array({0, part})}});
        tree = std::move(tree["a"].items()[1]);
        CHECK(tree == part);
        tree = Json::object({{"a", Json::array({0, part})}});
        const Json& inner = tree["a"].items()[1];
        tree = inner;
        CHECK(tree == part);
        Json& same = tree;
        tree = same;
        CHECK(tree == part);
        tree = std::move(same);
        CHECK(tree == part);
    }
}

TEST_CASE("members of a braced list are sorted, and of equal keys the last one counts", "[api]") {
    Json object =
        Json::object({{"b", 1}, {"a", Json::array({Json::object({{"d", 2}, {"c", 3}})})}, {"b", 4}});
    CHECK(to_json(object) == R"({"a":[{"c":3,"d":2}],"b":4})");
    JsonObject::Members many;
    for (int i = 0; i < 100; ++i) many.push_back({std::to_string(i * 37 % 50), i});
    for (std::size_t count = 0; count <= many.size(); ++count) {
        const JsonObject sorted(JsonObject::Members(many.begin(), many.begin() + std::ptrdiff_t(count)));
        CHECK(std::is_sorted(sorted.begin(), sorted.end(),
                             [](const auto& a, const auto& b) { return a.key < b.key; }));
        CHECK(sorted.size() == std::min<std::size_t>(count, 50));
        for (std::size_t i = 0; i < sorted.size(); ++i) {
            const Json* value = sorted.find(many[i].key);
            REQUIRE(value);
            CHECK(*value == Json(i + 50 < count ? i + 50 : i));
        }
    }
}
