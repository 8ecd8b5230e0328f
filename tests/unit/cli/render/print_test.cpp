#include "render/render.hpp"

#include <catch2/catch.hpp>

#include "support/printers.hpp"

using api::Json;
using cli::Format;

namespace {

Json json(std::string_view text) { return api::parse_json(text).value(); }

}  // namespace

TEST_CASE("objects are printed as documents or as one list", "[render]") {
    const std::vector<Json> objects = {json(R"({"kind":"A"})"), json(R"({"kind":"B"})")};
    CHECK(cli::print(objects, Format::yaml) == "kind: A\n---\nkind: B\n");
    CHECK(cli::print(objects, Format::json) ==
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
    CHECK(cli::difference("a", "1\n2\n", "b", "1\n2\n").empty());
    CHECK(cli::difference("a", "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "b", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n") ==
          "--- a\n+++ b\n@@ -2,8 +2,8 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n 9\n");
    CHECK(cli::difference("/dev/null", "", "b", "1\n") == "--- /dev/null\n+++ b\n@@ -1,0 +1,1 @@\n+1\n");
}
