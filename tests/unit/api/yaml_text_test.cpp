#include <catch2/catch.hpp>

#include "api/yaml.hpp"
#include "random_json.hpp"
#include "support/printers.hpp"

using namespace api;

namespace {

std::string written(std::string_view json) { return to_yaml(*parse_json(json)); }

}  // namespace

TEST_CASE("YAML is written in blocks, with sorted keys and lists under their key", "[api]") {
    CHECK(written(R"({"spec": {"numNodes": 4, "env": [{"value": "x", "name": "A"}, [1, 2], [], {}]},
                      "kind": "TrainJob", "none": null, "half": 0.5})") ==
          "half: 0.5\n"
          "kind: TrainJob\n"
          "none: null\n"
          "spec:\n"
          "  env:\n"
          "  - name: A\n"
          "    value: x\n"
          "  - - 1\n"
          "    - 2\n"
          "  - []\n"
          "  - {}\n"
          "  numNodes: 4\n");
}

TEST_CASE("a single value is a document", "[api]") {
    CHECK(to_yaml(nullptr) == "null\n");
    CHECK(to_yaml(true) == "true\n");
    CHECK(to_yaml(-5) == "-5\n");
    CHECK(to_yaml("word") == "word\n");
    CHECK(to_yaml(Json::array()) == "[]\n");
    CHECK(to_yaml(Json::object()) == "{}\n");
}

TEST_CASE("strings are written plainly where every reader reads a string", "[api]") {
    for (const char* text :
         {"word", "two words", "torchrun", "ghcr.io/example/train:v1", "http://host:80/x", "a#b", "it's",
          "a\"b", "key=value", "v1alpha1", "16Gi", "$(VAR)", "/bin/sh", "日本", "1.2.3a"})
        CHECK(to_yaml(text) == std::string(text) + "\n");
}

TEST_CASE("strings that would read as something else are quoted", "[api]") {
    for (const char* text : {"",     "1",     "1.5",  "0x1F", "1_000", "1e3",        ".5",
                             ".inf", "-",     "-x",   "+1",   "true",  "no",         "on",
                             "y",    "null",  "~",    "<<",   "=",     "2026-01-01", "2026-01-01T00:00:00Z",
                             "1:30", "1.2.3", "a: b", "a:",   ":a",    " a",         "a ",
                             "a #b", "#a",    "? a",  "- a",  "[a",    "{a",         "]",
                             "}",    ",a",    "&a",   "*a",   "!a",    "|",          ">",
                             "%a",   "@a",    "`a",   "'a",   "---",   "..."})
        CHECK(to_yaml(text) == "\"" + std::string(text) + "\"\n");
    CHECK(to_yaml("\"a\\") == "\"\\\"a\\\\\"\n");
    CHECK(to_yaml("a\tb\r\x01\x7F\u0085\u2028\ufeff") == R"("a\tb\r\x01\x7f\x85\u2028\ufeff")"
                                                         "\n");
    CHECK(to_yaml(Json::object({{"yes", "no"}, {"a: b", ""}})) == "\"a: b\": \"\"\n\"yes\": \"no\"\n");
}

TEST_CASE("text of several lines is a literal block where that is exact", "[api]") {
    CHECK(to_yaml(Json::object({{"run", "a\n\n  b\n"}})) == "run: |\n  a\n\n    b\n");
    CHECK(to_yaml(Json::object({{"run", "a\nb"}})) == "run: |-\n  a\n  b\n");
    CHECK(to_yaml(Json::array({Json::object({{"run", "a\nb"}})})) == "- run: |-\n    a\n    b\n");
    CHECK(to_yaml("a\n") == "|\n  a\n");
    for (const char* text : {" a\nb", "\na", "a\n\n", "a\n \nb", "a\r\nb", "\ta\nb"}) {
        CHECK(to_yaml(text).front() == '"');
        CHECK(*parse_yaml(to_yaml(text)) == Json(text));
    }
}

TEST_CASE("a key too long for one line gets two", "[api]") {
    const Json tree = Json::object({{std::string(2000, 'k'), Json::object({{"a", Json::array({1})}})}});
    CHECK(to_yaml(tree) == "? " + std::string(2000, 'k') + "\n:\n  a:\n  - 1\n");
    CHECK(*parse_yaml(to_yaml(tree)) == tree);
}

TEST_CASE("bytes that are no UTF-8 are replaced", "[api]") { CHECK(to_yaml("a\xFF") == "\"a\\ufffd\"\n"); }

TEST_CASE("any tree is read back from the YAML that it was written to", "[api]") {
    RandomJson random(4);
    for (int i = 0; i < 3000; ++i) {
        const Json tree = random.tree();
        const std::string text = to_yaml(tree);
        const auto back = parse_yaml(text);
        if (!back || !(*back == tree)) FAIL(to_json(tree) << "\n" << text << "\n" << back);
    }
}

TEST_CASE("the deepest tree is written and read back", "[api]") {
    Json lists = "x";
    Json maps = "x";
    for (std::size_t i = 0; i < max_json_depth; ++i) {
        lists = Json::array({std::move(lists)});
        maps = Json::object({{"a", std::move(maps)}});
    }
    CHECK(*parse_yaml(to_yaml(lists)) == lists);
    CHECK(*parse_yaml(to_yaml(maps)) == maps);
}
