#include "kube/watch/watch_decoder.hpp"

#include <catch2/catch.hpp>

#include "recording_sink.hpp"
#include "support/printers.hpp"

using Type = kube::WatchEvent::Type;

TEST_CASE("watch lines become events", "[kube]") {
    SECTION("objects") {
        struct Case {
            const char* type;
            Type want;
        };
        for (const Case& c :
             {Case{"ADDED", Type::upsert}, {"MODIFIED", Type::upsert}, {"DELETED", Type::removed}}) {
            const auto got = kube::decode_watch_line(event(c.type, "x", "7", R"(,"spec":{"a":1})"));
            REQUIRE(got);
            CHECK(got->type == c.want);
            CHECK(got->key == api::ObjectKey{"ns", "x"});
            CHECK(got->resource_version == "7");
            CHECK(got->object["spec"]["a"] == api::Json(1));
        }
    }
    SECTION("without fields that only the API server needs") {
        const auto got = kube::decode_watch_line(
            R"({"type":"ADDED","object":{"metadata":{"name":"x","resourceVersion":"1","labels":{"managedFields":"mine"},
                "managedFields":[{"manager":"m","fieldsV1":{"f:spec":{}}}]}}})");
        REQUIRE(got);
        CHECK(api::to_json(got->object["metadata"]) ==
              R"({"labels":{"managedFields":"mine"},"name":"x","resourceVersion":"1"})");
    }
    SECTION("without fields that the sink omits") {
        static constexpr std::string_view path[] = {"object", "spec", "big"};
        static constexpr api::JsonPath omit[] = {path};
        const auto got = kube::decode_watch_line(
            R"({"type":"ADDED","object":{"metadata":{"name":"x","resourceVersion":"1","managedFields":[]},
                "spec":{"big":[{"a":1}],"small":2}}})",
            omit);
        REQUIRE(got);
        CHECK(api::to_json(got->object) ==
              R"({"metadata":{"name":"x","resourceVersion":"1"},"spec":{"small":2}})");
    }
    SECTION("cluster-scoped objects") {
        const auto got = kube::decode_watch_line(
            R"({"type":"ADDED","object":{"metadata":{"name":"x","resourceVersion":"1"}}})");
        REQUIRE(got);
        CHECK(got->key == api::ObjectKey{"", "x"});
    }
    SECTION("bookmarks") {
        CHECK(kube::decode_watch_line(bookmark("9"))->resource_version == "9");
        CHECK(!kube::decode_watch_line(bookmark("9"))->initial_events_end);
        CHECK(kube::decode_watch_line(end_of_list("9"))->initial_events_end);
    }
    SECTION("errors") {
        const auto got = kube::decode_watch_line(error_event(410, "Expired"));
        REQUIRE(got);
        CHECK(got->type == Type::error);
        CHECK(got->error.code == api::Errc::gone);
        CHECK(kube::decode_watch_line(error_event(500, "InternalError"))->error.code ==
              api::Errc::unavailable);
    }
}

TEST_CASE("a line that is no watch event is refused", "[kube]") {
    const std::string whole = event("ADDED", "x", "7");
    for (const std::string& line :
         {std::string(), std::string("null"), std::string("{}"), std::string(R"({"type":"ADDED"})"),
          std::string(R"({"type":"ADDED","object":[]})"), std::string(R"({"type":"ADDED","object":{}})"),
          std::string(R"({"type":"ADDED","object":{"metadata":{"name":"x"}}})"),
          std::string(R"({"type":"ADDED","object":{"metadata":{"resourceVersion":"1"}}})"),
          std::string(R"({"type":"RENAMED","object":{"metadata":{"name":"x","resourceVersion":"1"}}})"),
          std::string(R"({"type":"BOOKMARK","object":{"metadata":{}}})"), std::string("\xff\xfe")}) {
        DYNAMIC_SECTION(line) { CHECK(kube::decode_watch_line(line).has_error()); }
    }
    for (std::size_t cut = 0; cut < whole.size(); ++cut)
        CHECK(kube::decode_watch_line(whole.substr(0, cut)).has_error());
}

TEST_CASE("pages of a list are decoded", "[kube]") {
    const auto page = kube::decode_list_page(
        R"({"kind":"L","metadata":{"resourceVersion":"12","continue":"more"},"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}]})");
    REQUIRE(page);
    CHECK(page->resource_version == "12");
    CHECK(page->next == "more");
    CHECK(page->items.size() == 2);
    CHECK(kube::decode_list_page(R"({"metadata":{"resourceVersion":"1"},"items":null})")->items.empty());
    for (const char* body : {"", "x", "{}", R"({"items":[]})"})
        CHECK(kube::decode_list_page(body).has_error());
}
