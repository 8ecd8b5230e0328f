#include "render/render.hpp"

#include <catch2/catch.hpp>

#include "support/printers.hpp"

using api::Json;
using cli::Format;

namespace {

Json json(std::string_view text) { return api::parse_json(text).value(); }

cli::Text lines(std::string_view text) {
    cli::Text all;
    for (; !text.empty(); text.remove_prefix(text.find('\n') + 1))
        all += cli::Text::line(text.substr(0, text.find('\n')));
    return all;
}

std::string difference(std::string_view before, std::string_view after) {
    return cli::difference("a", lines(before), "b", lines(after)).str();
}

}  // namespace

TEST_CASE("objects are printed as documents or as one list", "[render]") {
    const std::vector<Json> objects = {json(R"({"kind":"A"})"), json(R"({"kind":"B"})")};
    CHECK(cli::print(objects, Format::yaml).str() == "kind: A\n---\nkind: B\n");
    CHECK(cli::print(objects, Format::json).str() ==
          "{\"apiVersion\":\"v1\",\"items\":[{\"kind\":\"A\"},{\"kind\":\"B\"}],\"kind\":\"List\"}\n");
    CHECK(cli::print({}, Format::yaml).empty());
}

TEST_CASE("of a Secret only the keys are shown", "[render]") {
    CHECK(cli::masked(json(R"({"kind":"Secret","data":{"a":"c2VjcmV0"},"stringData":{"b":"secret"}})")) ==
          json(R"({"kind":"Secret","data":{"a":"***"},"stringData":{"b":"***"}})"));
    CHECK(cli::masked(json(R"({"kind":"Secret","data":"odd"})")) ==
          json(R"({"kind":"Secret","data":"***"})"));
    const Json config_map = json(R"({"kind":"ConfigMap","data":{"a":"plain"}})");
    CHECK(cli::masked(config_map) == config_map);
}

TEST_CASE("differences are unified diffs", "[render]") {
    CHECK(difference("1\n2\n", "1\n2\n").empty());
    CHECK(difference("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n") ==
          "--- a\n+++ b\n@@ -2,8 +2,8 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n 9\n");
    CHECK(difference("", "1\n") == "--- a\n+++ b\n@@ -1,0 +1,1 @@\n+1\n");
}
