#include "api/yaml.hpp"

#include <catch2/catch.hpp>

#include "support/printers.hpp"

using namespace api;

namespace {

const char* const two_documents = R"(# a comment

kind: TrainJob
metadata: {name: job,
           labels: {a.b/c: d}}
spec:
  trainer:
    numNodes: 4
    env:
    - name: A
      value: "1"
    - name: B
    -
      value: x
---
# nothing
---

kind: Runtime
base: &base
  one: 1
spec:
  <<: *base
  other: *base
)";

std::vector<LocatedDocument> located(std::string_view text) {
    auto documents = parse_located_yaml(text);
    REQUIRE(documents);
    return *std::move(documents);
}

}  // namespace

TEST_CASE("lines of documents and of their fields are reported", "[api]") {
    const auto documents = located(two_documents);
    REQUIRE(documents.size() == 2);
    CHECK(documents[0].line == 3);
    CHECK(documents[1].line == 19);
    struct Case {
        std::size_t document;
        const char* path;
        int line;
    };
    const Case cases[] = {
        {0, "kind", 3},
        {0, "metadata.name", 4},
        {0, "metadata.labels", 5},
        {0, "spec.trainer.numNodes", 8},
        {0, "spec.trainer.env", 9},
        {0, "spec.trainer.env[0].value", 11},
        {0, "spec.trainer.env[1]", 12},
        {0, "spec.trainer.env[2].value", 14},
        // For a missing field, or one below a scalar: the line where it would be.
        {0, "spec.trainer.env[1].value", 12},
        {0, "spec.trainer.image", 7},
        {0, "spec.runtimeRef.name", 6},
        {0, "status", 3},
        {0, "<nil>", 3},
        {0, "", 3},
        {1, "kind", 19},
        {1, "base.one", 21},
        {1, "spec.one", 22},
        {1, "spec.other.one", 24},
    };
    for (const Case& c : cases) {
        INFO(c.path);
        const LocatedDocument& document = documents[c.document];
        CHECK(line_of(document.lines, c.path, document.line) == c.line);
    }
}

TEST_CASE("a located document has the same value as a parsed one", "[api]") {
    const auto documents = located(two_documents);
    const auto values = parse_yaml_documents(two_documents).value();
    REQUIRE(values.size() == documents.size());
    for (std::size_t i = 0; i < values.size(); ++i) CHECK(documents[i].value == values[i]);
}

TEST_CASE("lines of JSON that is valid YAML are reported too", "[api]") {
    const auto documents = located("\n{\n  \"a\": {\"b\": [1,\n 2]}}\n");
    REQUIRE(documents.size() == 1);
    CHECK(documents[0].line == 2);
    CHECK(line_of(documents[0].lines, "a.b[1]", 0) == 4);
    const auto odd = located("{\n\t\"a\": \"\\ud83d\\ude00\"}");
    REQUIRE(odd.size() == 1);
    CHECK(odd[0].value["a"] == "\xF0\x9F\x98\x80");
}

TEST_CASE("a syntax error has a line and a column", "[api]") {
    const auto documents = parse_located_yaml("a: 1\n---\nb: [\n");
    REQUIRE(documents.has_error());
    CHECK(documents.error().message.find("line ") == 0);
}
