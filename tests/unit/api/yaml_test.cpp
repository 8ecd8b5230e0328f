#include "api/yaml.hpp"

#include <catch2/catch.hpp>

#include "random_json.hpp"
#include "support/printers.hpp"

using namespace api;

namespace {

Json parsed(std::string_view text) {
    auto document = parse_yaml(text);
    INFO(text.substr(0, 200));
    REQUIRE(document);
    return *std::move(document);
}

std::string failure(std::string_view text) {
    const auto document = parse_yaml(text);
    INFO(text.substr(0, 200));
    REQUIRE(document.has_error());
    CHECK(document.error().code == Errc::invalid);
    return document.error().message;
}

Json json(std::string_view text) { return *parse_json(text); }

std::string repeated(std::string_view text, int times) {
    std::string all;
    for (int i = 0; i < times; ++i) all += text;
    return all;
}

}  // namespace

TEST_CASE("a manifest is read", "[api]") {
    CHECK(parsed(R"(# a comment
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: job   # another
spec:
  suspend: false
  trainer:
    numNodes: 4
    command: [torchrun, "--nnodes=4", train.py]
    env:
    - name: A
      value: "1"
    - {name: B, value: 'x: y'}
    args:
      - |
        first
          second
      - >-
        folded
        line
)") == json(R"({"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": {"name": "job"},
                "spec": {"suspend": false, "trainer": {"numNodes": 4,
                    "command": ["torchrun", "--nnodes=4", "train.py"],
                    "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "x: y"}],
                    "args": ["first\n  second\n", "folded line"]}}})"));
}

TEST_CASE("JSON is YAML", "[api]") {
    const char* text = R"({"a": [1, 2.5, "x", null, true], "b": {"c": "\ud83d\ude00 \/ \u00e9"}})";
    CHECK(parsed(text) == json(text));
    CHECK(parsed(std::string(" \n\t") + text) == json(text));
    CHECK(parsed("{a: 1, 'b': [x, z]}") == json(R"({"a": 1, "b": ["x", "z"]})"));
}

TEST_CASE("every escape of a quoted scalar is UTF-8", "[api]") {
    CHECK(parsed(R"("\Na\_b\\é\x85\u00a0\L")") == Json("\u0085a\u00a0b\\é\u0085\u00a0\u2028"));
    CHECK(parsed(R"({"\N": 1})") == Json::object({{"\u0085", 1}}));
}

TEST_CASE("keys become strings", "[api]") {
    CHECK(parsed("1: a\n0x10: b\n1.5: c\ntrue: d\n'2': e\n2026-01-15: f\n") ==
          json(R"({"1": "a", "16": "b", "1.5": "c", "true": "d", "2": "e", "2026-01-15": "f"})"));
    CHECK(parsed("on: push\n") == json(R"({"true": "push"})"));
}

TEST_CASE("null, maps and lists cannot be keys", "[api]") {
    CHECK(failure("a: 1\n~: 2\n") == "line 2, column 1: null cannot be a key");
    CHECK(failure(": 2\n") == "line 1, column 1: null cannot be a key");
    CHECK(failure("? [a]\n: 2\n") == "line 1, column 3: a map or a list cannot be a key");
    CHECK(failure("? {a: b}\n: 2\n") == "line 1, column 3: a map or a list cannot be a key");
    CHECK(failure("- &x [a]\n- *x : 2\n") == "line 2, column 3: a map or a list cannot be a key");
}

TEST_CASE("a key may be given once only", "[api]") {
    CHECK(failure("a: 1\nb:\n  c: 1\n  d: 2\n  c: 3\n") == "line 5, column 3: duplicate key \"c\"");
    CHECK(failure("{a: 1, a: 2}") == "line 1, column 8: duplicate key \"a\"");
    CHECK(failure("1: a\n'1': b\n") == "line 2, column 1: duplicate key \"1\"");
    CHECK(failure("yes: a\ntrue: b\n") == "line 2, column 1: duplicate key \"true\"");
    CHECK(parsed("- a: 1\n- a: 2\n") == json(R"([{"a": 1}, {"a": 2}])"));
}

TEST_CASE("merge keys fill in what a map lacks", "[api]") {
    CHECK(parsed("base: &b {x: 1, z: 2}\nmore:\n  <<: *b\n  z: 3\n")["more"] == json(R"({"x": 1, "z": 3})"));
    CHECK(parsed("base: &b {x: 1, z: 2}\nmore:\n  z: 3\n  <<: *b\n")["more"] == json(R"({"x": 1, "z": 3})"));
    CHECK(parsed("- &a {x: 1}\n- &b {x: 2, z: 2}\n- <<: [*a, *b]\n")[2] == json(R"({"x": 1, "z": 2})"));
    CHECK(parsed("<<: {a: 1}\n") == json(R"({"a": 1})"));
    CHECK(parsed("'<<': {a: 1}\n") == json(R"({"<<": {"a": 1}})"));
    CHECK(parsed("a: <<\n") == json(R"({"a": "<<"})"));
    for (const char* text : {"<<: 1\n", "<<:\n", "<<: [1]\n", "a: &x 1\n<<: *x\n"})
        CHECK_THAT(failure(text), Catch::Contains("\"<<\" takes a map or a list of maps"));
    CHECK(failure("<<: {a: 1}\n<<: {b: 1}\n") == "line 2, column 1: duplicate key \"<<\"");
}

TEST_CASE("an alias stands for its anchor's value", "[api]") {
    CHECK(parsed("a: &x [1, {b: c}]\nd: *x\ne: *x\n") ==
          json(R"({"a": [1, {"b": "c"}], "d": [1, {"b": "c"}], "e": [1, {"b": "c"}]})"));
    CHECK(parsed("- &x\n- *x\n- &x 2\n- *x\n") == json("[null, null, 2, 2]"));
    CHECK(parsed("&k key: *k\n") == json(R"({"key": "key"})"));
    CHECK(failure("a: *x\n") == "line 1, column 4: the referenced anchor is not defined");
    CHECK(failure("--- &x a\n--- *x\n").starts_with("line 2, column 5:"));
    CHECK(failure("&x [1, *x]\n") == "line 1, column 8: an alias inside of what it names");
}

TEST_CASE("aliases cannot expand a small text to a huge tree", "[api]") {
    std::string laughs = "a: &a [x,x,x,x,x,x,x,x,x]\n";
    for (char c = 'b'; c <= 'i'; ++c) {
        const std::string name(1, c);
        const std::string before(1, static_cast<char>(c - 1));
        laughs += name + ": &" + name + " [*" + before + repeated(",*" + before, 8) + "]\n";
    }
    CHECK_THAT(failure(laughs), Catch::Contains("anchors and aliases stand for more than a megabyte"));
    CHECK_THAT(failure(repeated("&a [", 250) + std::string(100'000, 'x') + std::string(250, ']')),
               Catch::Contains("more than a megabyte"));
    std::string deep = "- &a0 x\n";
    for (int i = 1; i < 9; ++i)
        deep += "- &a" + std::to_string(i) + " " + std::string(50, '[') + "*a" + std::to_string(i - 1) +
                std::string(50, ']') + "\n";
    CHECK_THAT(failure(deep), Catch::Contains("nested more than 256 levels deep"));
    CHECK(parsed("- &a " + std::string(10'000, 'x') + repeated("\n- *a", 50)).items().size() == 51);
}

TEST_CASE("YAML nesting is limited", "[api]") {
    CHECK(to_json(parsed("a: " + std::string(255, '[') + std::string(255, ']'))) ==
          "{\"a\":" + std::string(255, '[') + std::string(255, ']') + "}");
    for (const std::string& text :
         {"a: " + std::string(256, '[') + std::string(256, ']'), std::string(100'000, '['),
          repeated("{a: ", 100'000), repeated("- ", 100'000), repeated("? ", 100'000),
          "a: " + repeated("[a, {b: ", 50'000)})
        CHECK_THAT(failure(text), Catch::Contains("nested more than 256 levels deep"));
}

TEST_CASE("errors have line and column", "[api]") {
    CHECK(failure("a: b\nc: d: e\n") == "line 2, column 5: illegal map value");
    CHECK(failure("a: 1\n b: 2\n").starts_with("line 2, column 3:"));
    CHECK(failure("a: 'x\n").starts_with("line 2, column 1: the text ends too early"));
    CHECK(failure("a: [1, 2\n").starts_with("line 2, column 1: the text ends too early"));
    CHECK(failure("{\"a\": 1,\n \"b\": [1, 2}\n").starts_with("line 2, column 12:"));
    CHECK(failure("a: \xC3(\n") == "line 1, column 4: not valid UTF-8");
    CHECK(failure("é: 1\nü: \x01\n") == "line 2, column 4: a control character");
}

TEST_CASE("invalid YAML that yaml-cpp accepts is refused", "[api]") {
    struct Case {
        const char* name;
        const char* text;
    };
    const Case cases[] = {
        {"a last key without a colon", "a: 1\nb\n"},
        {"the same without the end of its line", "a: 1\nb"},
        {"the same in a nested map", "a:\n  b: 1\n  c\nd: 2\n"},
        {"an open single quote", "a: 'b\n"},
        {"an open double quote", "a: \"b\n\n"},
        {"an open quote at the very end", "a: 'b"},
        {"a closing bracket too many", "[a]]\n"},
        {"a closing bracket alone", "}"},
        {"a closing bracket after a map", "a: 1\n}\n"},
        {"a closing bracket after an end marker", "a: 1\n...\n}\n"},
        {"a map behind a list", "- a\nb: 1\n"},
        {"a less indented map", "  a: 1\n b: 2\n"},
        {"text behind a flow map", "{a: 1} b\n"},
        {"an end of transmission", "a: 1\n\x04\nb: 2\n"},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) { failure(c.text); }
    }
    failure(std::string_view("a: 1\0\n", 6));
}

TEST_CASE("keys without values are accepted where YAML allows them", "[api]") {
    CHECK(parsed("a:\nb:\n") == json(R"({"a": null, "b": null})"));
    CHECK(parsed("{a, b: 1}") == json(R"({"a": null, "b": 1})"));
    CHECK(parsed("? a\n? b\n") == json(R"({"a": null, "b": null})"));
    CHECK(parsed("- a:\n- b\n") == json(R"([{"a": null}, "b"])"));
}

TEST_CASE("the last line needs no end, and a literal block shows whether it has one", "[api]") {
    CHECK(parsed("a: |\n  x") == json(R"({"a": "x"})"));
    CHECK(parsed("a: |\n  x\n") == json(R"({"a": "x\n"})"));
    CHECK(parsed("a: |+\n  x\n\n") == json(R"({"a": "x\n\n"})"));
    CHECK(parsed("a: |-\n  x\n\n") == json(R"({"a": "x"})"));
    CHECK(parsed("a: b") == json(R"({"a": "b"})"));
}

TEST_CASE("a stream has several documents, and empty ones are skipped", "[api]") {
    const auto documents =
        parse_yaml_documents("# c\n---\na: 1\n---\n# nothing\n---\n- 2\n...\n---\nnull\n--- x\n");
    REQUIRE(documents);
    CHECK(*documents == std::vector<Json>{json(R"({"a": 1})"), json("[2]"), "x"});
    CHECK(parse_yaml_documents("")->empty());
    CHECK(parse_yaml_documents("---\n---\n")->empty());
    CHECK(parse_yaml_documents("{\"a\": 1}\n---\n{\"b\": 2}\n")->size() == 2);
    CHECK(parse_yaml_documents("a: 1\n...\nb: 2\n")->size() == 2);
    CHECK(parse_yaml_documents("a: 1\n---\nb: c: d\n").error().message.starts_with("line 3, column 5:"));
}

TEST_CASE("parse_yaml() accepts exactly one document", "[api]") {
    CHECK(parsed("").is_null());
    CHECK(parsed("# only a comment\n").is_null());
    CHECK(parsed("---\na: 1\n...\n") == json(R"({"a": 1})"));
    CHECK(parsed("\xEF\xBB\xBF"
                 "a: 1\n") == json(R"({"a": 1})"));
    CHECK(parsed("a: 1\r\nb: x\r\n") == json(R"({"a": 1, "b": "x"})"));
    CHECK(failure("a: 1\n---\nb: 2\n") == "expected one YAML document and found 2");
}

TEST_CASE("every character that can begin a token counts toward the limit before parsing", "[api]") {
    std::string nested;
    for (int i = 0; i < 50; ++i) nested += "- ";
    nested += "a\n";
    const std::string shapes[] = {nested, "- a\n", "- ~\n", "-\n", "--- a\n", "a\n...\n",
                                  "\n",   "|\n",   "- >\n", "[],", "a: b\n"};
    for (const std::string& shape : shapes) {
        CAPTURE(shape);
        std::string text = "a:\n";
        while (text.size() < 30'000) text += shape;
        const auto read = parse_hostile_yaml(text, 5'000);
        REQUIRE_FALSE(read);
        CHECK(read.error().message == "more than 5000 YAML tokens");
    }
    CHECK(parse_hostile_yaml("a:\n- b-c\n", 50).value() == json(R"({"a": ["b-c"]})"));
}

TEST_CASE("the token limit holds for one document, and its last line counts as a whole one", "[api]") {
    CHECK(parse_hostile_yaml("a: |\n  x", 100).value() == json(R"({"a": "x\n"})"));
    CHECK(parse_hostile_yaml("a: 'x", 100).error().message.find("too early") != std::string::npos);
    CHECK(parse_hostile_yaml("---\na: 1\n...\n", 100).value() == json(R"({"a": 1})"));
    CHECK(parse_hostile_yaml("", 100)->is_null());
    CHECK(parse_hostile_yaml("a: 1\n---\nb: [", 100).error().message ==
          "line 2, column 1: expected one YAML document");
}

TEST_CASE("no damaged YAML causes a crash", "[api]") {
    RandomJson random(3);
    for (int i = 0; i < 2000; ++i) {
        std::string text = to_yaml(random.tree());
        for (unsigned n = random.below(4) + 1; n > 0 && !text.empty(); --n) {
            const std::size_t at = random.below(text.size());
            if (random.below(3) == 0)
                text[at] = static_cast<char>(random.below(256));
            else if (random.below(2) == 0)
                text.insert(at, random.text());
            else
                text.erase(at, random.below(5));
        }
        if (const auto tree = parse_yaml(text)) CHECK(*parse_yaml(to_yaml(*tree)) == *tree);
    }
}
