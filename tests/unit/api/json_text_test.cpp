#include <catch2/catch.hpp>
#include <cstdlib>
#include <limits>
#include <map>

#include "api/json.hpp"
#include "random_json.hpp"
#include "support/printers.hpp"

using namespace api;

namespace {

Json parsed(std::string_view text) {
    auto json = parse_json(text);
    INFO(text.substr(0, 100));
    REQUIRE(json);
    return *std::move(json);
}

std::string failure(std::string_view text) {
    const auto json = parse_json(text);
    INFO(text.substr(0, 100));
    REQUIRE(json.has_error());
    CHECK(json.error().code == Errc::invalid);
    return json.error().message;
}

std::string nested(std::size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); }

}  // namespace

TEST_CASE("every kind of JSON value is read", "[api]") {
    CHECK(parsed(" null ").is_null());
    CHECK(parsed("true") == Json(true));
    CHECK(parsed("\"\"") == Json(""));
    CHECK(parsed("[]") == Json::array());
    CHECK(parsed("\t{\r\n}\n") == Json::object());
    CHECK(parsed(R"({"a": [1, {"b": null}, "x"], "c": {"d": false}})") ==
          Json::object({{"a", Json::array({1, Json::object({{"b", nullptr}}), "x"})},
                        {"c", Json::object({{"d", false}})}}));
}

TEST_CASE("text that is not JSON is refused with the place of the error", "[api]") {
    for (const char* text :
         {"",           " ",        "nul",       "True",    "{",         "[",      "[1",       "[1,]",
          "{\"a\":1,}", "{\"a\"}",  "{a:1}",     "{'a':1}", "[1 2]",     "1 2",    "{}{}",     "{} x",
          "]",          "\"",       "\"a",       "\"\\x\"", "\"\\u12\"", "\"\t\"", "\"a\nb\"", "// c\n1",
          "NaN",        "Infinity", "-Infinity", "+1",      ".5",        "5.",     "01",       "-",
          "-a",         "1e",       "1e+",       "0x10",    "1_000",     "--1"}) {
        failure(text);
    }
    CHECK(failure("[1, oops]") == "not valid JSON at byte 4: Invalid value.");
}

TEST_CASE("integers stay exact up to the bounds of int64", "[api]") {
    CHECK(parsed("9223372036854775807") == Json(INT64_MAX));
    CHECK(parsed("-9223372036854775808") == Json(INT64_MIN));
    CHECK(parsed("-0") == Json(0));
    CHECK(parsed("9007199254740993").as_int() == 9007199254740993);
    for (const char* text : {"9223372036854775808", "-9223372036854775809", "18446744073709551616"}) {
        CHECK_FALSE(parsed(text).is_integer());
        CHECK(parsed(text).as_double() == std::strtod(text, nullptr));
    }
}

TEST_CASE("doubles are read as the nearest one", "[api]") {
    for (const char* text : {"1.5", "-0.1", "1e10", "1E+2", "1e-7", "1.7976931348623157e308", "5e-324",
                             "2.2250738585072011e-308", "0.1000000000000000055511151231257827"}) {
        CHECK(parsed(text).as_double() == std::strtod(text, nullptr));
        CHECK_FALSE(parsed(text).is_integer());
    }
    CHECK(parsed("1.0") == Json(1));
    CHECK(parsed("-0.0") == Json(0));
}

TEST_CASE("numbers that are equal are written alike", "[api]") {
    for (const auto& [text, same] :
         {std::pair("-0E182", "0"), std::pair("-0.0", "-0"), std::pair("1e17", "100000000000000000"),
          std::pair("3.0", "3"), std::pair("-9223372036854775808.0", "-9223372036854775808")}) {
        INFO(text);
        CHECK(parsed(text) == parsed(same));
        CHECK(to_json(parsed(text)) == to_json(parsed(same)));
    }
}

TEST_CASE("numbers that no double can hold are refused, and those next to zero are zero", "[api]") {
    for (const std::string& text : {std::string("1e309"), std::string("-1e999"), std::string("1e99999999999"),
                                    std::string(400, '9'), std::string("1").append(400, '0') + ".5e-10"})
        failure(text);
    for (const std::string& text :
         {std::string("1e-999"), std::string("-1e-999"), std::string("1e-99999999999999999999"),
          "0." + std::string(400, '0') + "1", "0." + std::string(400, '0') + "1e5"})
        CHECK(parsed(text) == Json(0));
}

TEST_CASE("exponents that overflow in RapidJSON's own conversion do no harm", "[api]") {
    // CVE-2024-38517 and CVE-2024-39684; under UBSan, which stops at the first overflow.
    CHECK(parsed("1.0000000000e-2147483639") == Json(0));
    CHECK(parsed("1.00000000000000000000e-2147483648") == Json(0));
    CHECK(parsed("0.000000000000000000001e-2147483647") == Json(0));
    // Integers beyond int64, which our own conversion reads.
    CHECK(parsed("1e-9223372036854775808") == Json(0));
    CHECK(parsed("1" + std::string(200, '0') + "e-9223372036854775807") == Json(0));
    failure("1e9223372036854775807");
    failure("1.0e2147483647");
    failure("1.0e4294967296");
}

TEST_CASE("of equal keys the last one wins", "[api]") {
    CHECK(parsed(R"({"a": 1, "b": 2, "a": 3, "\u0061": 4})") == Json::object({{"a", 4}, {"b", 2}}));
}

TEST_CASE("reading a hundred thousand members takes linear time, also with equal keys", "[api]") {
    std::string text = "{\"0\":0";
    for (int i = 1; i < 100'000; ++i)
        text += ",\"" + std::to_string(i * 7919 % 100'000) + "\":1,\"a\":" + std::to_string(i);
    const Json object = parsed(text + "}");
    CHECK(object.members().size() == 100'001);
    CHECK(object["a"] == Json(99'999));
}

TEST_CASE("escapes are resolved", "[api]") {
    CHECK(parsed(R"("\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00")") == Json("\"\\/\b\f\n\r\té😀"));
    CHECK(parsed(R"("a\u0000b")") == Json(std::string("a\0b", 3)));
}

TEST_CASE("half a surrogate pair is refused", "[api]") {
    for (const char* text :
         {R"("\ud83d")", R"("\ude00")", R"("\ud83d\ud83d")", R"("x\udc00y")", R"({"\udfff":1})"})
        failure(text);
    CHECK(parsed(R"("\ud7ff\ue000")") == Json("\xED\x9F\xBF\xEE\x80\x80"));
}

TEST_CASE("broken UTF-8 is refused", "[api]") {
    for (const char* bytes : {"\x80", "\xC3", "\xC3(", "\xC0\xAF", "\xE0\x80\xAF", "\xED\xA0\x80",
                              "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xF0\x9F\x98", "\xFF", "\xFE"}) {
        CHECK(failure("\"" + std::string(bytes) + "\"") == "not valid JSON at byte 1: not UTF-8");
        failure("{\"01234567" + std::string(bytes) + "\": 1}");
        failure("1 " + std::string(bytes));
    }
}

TEST_CASE("a NUL byte is never the end of a text", "[api]") {
    for (const std::string_view text :
         {std::string_view("{}\0", 3), std::string_view("{}\0{}", 5), std::string_view("\0", 1),
          std::string_view("\"a\0b\"", 5), std::string_view("[1,\0 2]", 7), std::string_view("{} \0 x", 6)})
        failure(text);
}

TEST_CASE("a text is not read beyond the end of its view", "[api]") {
    const std::string text = "[1, 2] tail";
    CHECK(parsed(std::string_view(text).substr(0, 6)) == Json::array({1, 2}));
    failure(std::string_view(text).substr(0, 5));
}

TEST_CASE("nesting is limited", "[api]") {
    CHECK(to_json(parsed(nested(256))) == nested(256));
    CHECK(failure(nested(257)) == "not valid JSON at byte 257: nested more than 256 levels deep");
    failure(std::string(500'000, '['));
    std::string objects;
    for (int i = 0; i < 500'000; ++i) objects += "{\"a\":";
    failure(objects);
    CHECK(parsed("[" + nested(255) + "," + nested(255) + "]").items().size() == 2);
}

TEST_CASE("seven mebibytes are read and written", "[api]") {
    std::string text = "[\"" + std::string(3 << 20, 'x') + "\"";
    while (text.size() < (7 << 20)) text += ",{\"name\":\"VAR\",\"value\":[1,2.5,null]}";
    text += "]";
    CHECK(to_json(parsed(text)) == text);
}

TEST_CASE("equal trees are written as equal bytes", "[api]") {
    CHECK(to_json(parsed(R"( { "b" : [ 1 , 2.50 ] , "a" : { } } )")) == R"({"a":{},"b":[1,2.5]})");
    CHECK(to_json(Json(1e22)) == "1e+22");
    CHECK(to_json(Json(std::numeric_limits<double>::infinity())) == "0");
    CHECK(to_json(Json(std::numeric_limits<double>::quiet_NaN())) == "0");
    CHECK(to_json(Json("\x01\x1f\"\\/é😀")) == R"("\u0001\u001F\"\\/é😀")");
}

TEST_CASE("any tree is read back as it was written", "[api]") {
    RandomJson random(1);
    for (int i = 0; i < 3000; ++i) {
        const Json tree = random.tree();
        const std::string text = to_json(tree);
        const auto back = parse_json(text);
        if (!back || !(*back == tree) || to_json(*back) != text) FAIL(text);
    }
}

TEST_CASE("no damaged text causes a crash", "[api]") {
    RandomJson random(2);
    for (int i = 0; i < 3000; ++i) {
        std::string text = to_json(random.tree());
        for (unsigned n = random.below(4) + 1; n > 0 && !text.empty(); --n) {
            const std::size_t at = random.below(text.size());
            if (random.below(2) == 0)
                text[at] = static_cast<char>(random.below(256));
            else
                text.erase(at, random.below(3));
        }
        if (const auto json = parse_json(text)) CHECK(*parse_json(to_json(*json)) == *json);
    }
}

TEST_CASE("strings are escaped as the API server does, at every position", "[api]") {
    const auto escaped = [](unsigned char c) -> std::string {
        static const std::map<char, std::string> short_ones = {{'"', "\\\""}, {'\\', "\\\\"}, {'\b', "\\b"},
                                                               {'\f', "\\f"}, {'\n', "\\n"},  {'\r', "\\r"},
                                                               {'\t', "\\t"}};
        if (const auto at = short_ones.find(static_cast<char>(c)); at != short_ones.end()) return at->second;
        if (c >= 0x20) return std::string(1, static_cast<char>(c));
        char text[8];
        std::snprintf(text, sizeof text, "\\u%04X", unsigned(c));
        return text;
    };
    for (unsigned c = 0; c < 0x80; ++c) {
        for (std::size_t before = 0; before < 18; ++before) {
            const std::string left(before, 'x');
            for (const std::string right : {"", "y", "123456789"}) {
                const std::string value = left + static_cast<char>(c) + right;
                const std::string text = '"' + left + escaped(static_cast<unsigned char>(c)) + right + '"';
                INFO(text);
                CHECK(to_json(Json(value)) == text);
                CHECK(parse_json(text).value() == Json(value));
            }
        }
    }
}

namespace {

constexpr std::string_view fields[] = {"request", "object", "metadata", "managedFields"};
constexpr JsonPath omit[] = {fields};

std::string without_fields(std::string_view text) {
    const auto tree = parse_json_without(text, omit);
    return tree ? to_json(*tree) : tree.error().message;
}

}  // namespace

TEST_CASE("members can be left out by their paths", "[api]") {
    struct Case {
        const char* name;
        std::string text;
        std::string want;
    };
    const auto in_metadata = [](const std::string& members) {
        return R"({"request":{"object":{"metadata":{)" + members + "}}}}";
    };
    const std::string same = R"({"managedFields":1,"request":{"managedFields":1,"object":{"managedFields":1,)"
                             R"("metadata":{"labels":{"managedFields":"x"}},"spec":{"managedFields":1}},)"
                             R"("oldObject":{"metadata":{"managedFields":1}}}})";
    const Case cases[] = {
        {"a scalar", in_metadata(R"("managedFields":1,"name":"a")"), in_metadata(R"("name":"a")")},
        {"a string", in_metadata(R"("a":2,"managedFields":"x")"), in_metadata(R"("a":2)")},
        {"null", in_metadata(R"("managedFields":null)"), in_metadata("")},
        {"an empty list", in_metadata(R"("managedFields":[],"name":"a")"), in_metadata(R"("name":"a")")},
        {"an empty object", in_metadata(R"("managedFields":{},"name":"a")"), in_metadata(R"("name":"a")")},
        {"lists and objects, one in the other",
         in_metadata(
             R"("a":[1,{"b":2}],"managedFields":[{"f":{"g":[[],{}, "x", 1.5, true, null]}},{}],"z":[3])"),
         in_metadata(R"("a":[1,{"b":2}],"z":[3])")},
        {"numbers of every form",
         in_metadata(
             R"("managedFields":[0,-0,-1,12345678901234567890,1.5,-1e3,2E+2,123456789012345678],"z":1)"),
         in_metadata(R"("z":1)")},
        {"strings of every form",
         in_metadata(
             R"("managedFields":["\"","\\","1234567\"","1234567\\","k:{\"name\":\"a\"}","\u00e9","日本","\/\b\f\n\r\t"],"z":1)"),
         in_metadata(R"("z":1)")},
        {"with spaces around it", in_metadata("\"managedFields\" : [ 1 , { \"a\" : 2 } ] , \"z\" : 1"),
         in_metadata(R"("z":1)")},
        {"twice", in_metadata(R"("managedFields":[1],"a":1,"managedFields":[2])"), in_metadata(R"("a":1)")},
        {"a name with an escape", in_metadata(R"("managed\u0046ields":[1],"a":1)"), in_metadata(R"("a":1)")},
        {"not elsewhere", same, same},
        {"not in a list on the way", R"({"request":{"object":[{"metadata":{"managedFields":1}}]}})",
         R"({"request":{"object":[{"metadata":{"managedFields":1}}]}})"},
        {"not in another that comes after",
         R"({"request":{"object":{"metadata":{"managedFields":[1]},"other":{"managedFields":1}}}})",
         R"({"request":{"object":{"metadata":{},"other":{"managedFields":1}}}})"},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) { CHECK(without_fields(c.text) == c.want); }
    }
}

TEST_CASE("an omitted member has to be valid too, with the same error as if it were read", "[api]") {
    const std::string begin = R"({"request":{"object":{"metadata":{"managedFields":)";
    const std::string values[] = {"",
                                  "[1,]",
                                  "[1 2]",
                                  "[,1]",
                                  "[1",
                                  "{a:1}",
                                  R"({"a"})",
                                  R"({"a":1,})",
                                  R"({"a":1 "b":2})",
                                  R"("\ud800")",
                                  R"("\x")",
                                  "\"\x1f\"",
                                  "\"long enough for words\x01, and more\"",
                                  R"("without an end)",
                                  "01",
                                  "-",
                                  "1.",
                                  "1e",
                                  "1e999",
                                  "+1",
                                  "tru",
                                  "truely",
                                  "nul",
                                  "\"\xff\"",
                                  std::string("\"\0\"", 3),
                                  nested(max_json_depth)};
    for (const std::string& value : values) {
        INFO(value);
        const std::string text = begin + value + "}}}}";
        CHECK(parse_json_without(text, omit).has_error());
        CHECK(without_fields(text) == parse_json(text).error().message);
    }
    CHECK(parse_json_without(begin + nested(max_json_depth - 4) + "}}}}", omit));
}

TEST_CASE("members of the items of a list can be left out", "[api]") {
    static constexpr std::string_view templates[] = {"spec", "jobs", "[]", "template"};
    static constexpr JsonPath paths[] = {templates};
    const auto tree = parse_json_without(
        R"({"spec":{"jobs":[{"name":"a","template":{"x":1}},{"template":[],"deep":[{"template":2}]},3],)"
        R"("template":4,"other":[{"template":5}]}})",
        paths);
    REQUIRE(tree);
    CHECK(
        to_json(*tree) ==
        R"({"spec":{"jobs":[{"name":"a"},{"deep":[{"template":2}]},3],"other":[{"template":5}],"template":4}})");
}

TEST_CASE("omitting gives the same result as parsing and erasing, also for broken text", "[api]") {
    RandomJson random(25);
    const auto parsed_and_erased = [](const std::string& text) {
        auto tree = parse_json(text);
        if (!tree) return tree.error().message;
        Json* at = &*tree;
        for (const std::string_view name : {"request", "object", "metadata"})
            if (at) at = at->find(name);
        if (at && at->is_object()) at->erase("managedFields");
        return to_json(*tree);
    };
    for (int i = 0; i < 3000; ++i) {
        Json tree = Json::object();
        Json& metadata = tree["request"]["object"]["metadata"];
        metadata = Json::object({{"managedFields", random.tree()}, {"z", random.tree()}});
        tree["request"]["a"] = random.tree();
        std::string text = to_json(tree);
        CHECK(without_fields(text) == parsed_and_erased(text));
        static constexpr std::string_view pieces = "\"\\{}[]:,0123456789eu.- \n\x01tfn";
        for (unsigned n = random.below(3) + 1; n > 0; --n) {
            const std::size_t at = random.below(text.size());
            text.replace(at, random.below(2), 1, pieces[random.below(pieces.size())]);
            CHECK(without_fields(text) == parsed_and_erased(text));
        }
    }
}

TEST_CASE("a string is found by its path without reading the rest", "[api]") {
    static constexpr std::string_view path[] = {"metadata", "resourceVersion"};
    struct Case {
        const char* name;
        const char* text;
        const char* want;
    };
    const Case cases[] = {
        {"at the start", R"({"metadata":{"resourceVersion":"7"}})", "7"},
        {"after others of all kinds",
         R"({"a":1,"b":[{"metadata":{"resourceVersion":"1"}},[]],"c":{"resourceVersion":"2"},"d":null,)"
         R"("metadata":{"labels":{"resourceVersion":"3"},"list":["4"],"resourceVersion":"5"}})",
         "5"},
        {"with escapes", R"({"meta\u0064ata":{"resourceVersion":"\"7\""}})", "\"7\""},
        {"nothing is read after it", R"({"metadata":{"resourceVersion":"7"}, and so on)", "7"},
        {"no string", R"({"metadata":{"resourceVersion":7}})", ""},
        {"a list", R"({"metadata":{"resourceVersion":["7"]}})", ""},
        {"an object", R"({"metadata":{"resourceVersion":{"a":"7"}}})", ""},
        {"a step that is no object", R"({"metadata":"resourceVersion","resourceVersion":"7"})", ""},
        {"a step too early", R"({"resourceVersion":"7","metadata":{}})", ""},
        {"a step too late", R"({"a":{"metadata":{"resourceVersion":"7"}}})", ""},
        {"in a list", R"([{"metadata":{"resourceVersion":"7"}}])", ""},
        {"nothing", "", ""},
        {"broken before it", R"({"a":tru,"metadata":{"resourceVersion":"7"}})", ""},
        {"cut in the middle", R"({"metadata":{"resourceVersion":"7)", ""},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) { CHECK(find_string(c.text, path) == c.want); }
    }
    std::string deep = std::string(100'000, '[');
    CHECK(find_string(deep, path).empty());
}
