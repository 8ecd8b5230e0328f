#include "kube/store.hpp"

#include <catch2/catch.hpp>

#include "api/json.hpp"

using api::Json;

namespace {

struct Facts {
    std::string color = {};
};
using Store = kube::Store<Facts>;

const api::ObjectKey a = {"ns", "a"};
const api::ObjectKey b = {"ns", "b"};

Json object(const std::string& uid, const std::string& color) {
    return Json::object(
        {{"metadata",
          Json::object({{"uid", uid}, {"managedFields", Json::array({Json::object({{"manager", "x"}})})}})},
         {"spec", Json::object({{"color", color}})}});
}

struct Room {
    std::vector<std::string> told;
    Store store{
        [](Json& o) -> std::optional<Facts> {
            const std::string color(std::as_const(o)["spec"]["color"].as_string());
            if (color == "grey") return std::nullopt;
            if (color == "glass") o = Json();
            return Facts{color};
        },
        [this](const api::ObjectKey& key, const Store::Entry* before, const Store::Entry* after) {
            told.push_back(key.name + ":" +
                           (before ? std::string(before->object.uid()) + "=" + before->facts.color : "-") +
                           ">" + (after ? std::string(after->object.uid()) + "=" + after->facts.color : "-"));
        }};
    std::vector<std::string> take() { return std::exchange(told, {}); }
    // With object a at version 5 and b at 6, complete at 9.
    Room& settled() {
        store.listing();
        store.upsert(a, "5", object("ua", "red"));
        store.upsert(b, "6", object("ub", "blue"));
        store.synced("9");
        take();
        return *this;
    }
};

using Told = std::vector<std::string>;

}  // namespace

TEST_CASE("a store keeps bytes, facts and versions", "[kube]") {
    Room room;
    CHECK(!room.store.is_synced());
    room.store.listing();
    room.store.upsert(a, "5", object("ua", "red"));
    CHECK(!room.store.is_synced());
    CHECK(!room.store.has_seen("5"));
    room.store.synced("9");
    CHECK(room.store.is_synced());
    CHECK(room.told == Told{"a:->ua=red"});
    const auto* entry = room.store.find(a);
    REQUIRE(entry);
    CHECK(entry->object.uid() == "ua");
    CHECK(entry->object.resource_version() == "5");
    CHECK(entry->object.bytes() == R"({"metadata":{"uid":"ua"},"spec":{"color":"red"}})");
    CHECK(entry->facts.color == "red");
    CHECK(!room.store.find(b));
    CHECK(room.store.size() == 1);
}

TEST_CASE("a store tells what changed", "[kube]") {
    Room room;
    room.settled();
    auto& store = room.store;
    SECTION("updated") {
        store.upsert(a, "10", object("ua", "green"));
        CHECK(room.told == Told{"a:ua=red>ua=green"});
        CHECK(store.find(a)->object.resource_version() == "10");
    }
    SECTION("the same version again") {
        store.upsert(a, "5", object("ua", "green"));
        CHECK(room.told.empty());
    }
    SECTION("an older version, from a stale server") {
        store.upsert(a, "4", object("ua", "green"));
        CHECK(room.told.empty());
        CHECK(store.find(a)->facts.color == "red");
    }
    SECTION("removed") {
        store.removed(a, "11");
        CHECK(room.told == Told{"a:ua=red>-"});
        CHECK(!store.find(a));
        store.removed(a, "11");
        CHECK(room.told.size() == 1);
    }
    SECTION("replaced unseen by another object of that name") {
        store.upsert(a, "10", object("ux", "green"));
        CHECK(room.told == Told{"a:ua=red>ux=green"});
    }
    SECTION("not ours, or not any more") {
        store.upsert({"ns", "c"}, "10", object("uc", "grey"));
        CHECK(room.told.empty());
        store.upsert(a, "11", object("ua", "grey"));
        CHECK(room.told == Told{"a:ua=red>-"});
        CHECK(store.size() == 1);
    }
    SECTION("worth its facts only") {
        store.upsert(a, "10", object("ua", "glass"));
        CHECK(store.find(a)->object.bytes().empty());
        CHECK(store.find(a)->object.uid() == "ua");
    }
}

TEST_CASE("what a later list does not name is gone", "[kube]") {
    Room room;
    room.settled();
    auto& store = room.store;
    store.listing();
    SECTION("and what it names unchanged stays without a word") {
        store.upsert(b, "6", object("ub", "blue"));
        CHECK(room.take().empty());
        store.synced("20");
        CHECK(room.told == Told{"a:ua=red>-"});
        CHECK(store.lists() == 2);
    }
    SECTION("only once it is complete") {
        store.upsert(b, "6", object("ub", "blue"));
        store.listing();
        store.upsert(a, "5", object("ua", "red"));
        CHECK(store.size() == 2);
        store.synced("20");
        CHECK(room.told == Told{"b:ub=blue>-"});
    }
    SECTION("even if the list is older: the server was restored") {
        store.upsert(a, "3", object("ua", "green"));
        store.synced("4");
        CHECK(room.told == Told{"a:ua=red>ua=green", "b:ub=blue>-"});
        CHECK(!store.has_seen("9"));
        CHECK(store.has_seen("4"));
    }
}

TEST_CASE("a store knows how far it has seen", "[kube]") {
    Room room;
    room.settled();
    auto& store = room.store;
    CHECK(store.has_seen("9"));
    CHECK(!store.has_seen("10"));
    store.upsert(a, "10", object("ua", "green"));
    CHECK(store.has_seen("10"));
    store.removed(a, "12");
    CHECK(store.has_seen("12"));
    store.upsert({"ns", "c"}, "13", object("uc", "grey"));  // also of what it does not keep
    CHECK(store.has_seen("13"));
    store.progressed("100");
    CHECK(store.has_seen("99"));
    store.progressed("50");
    CHECK(store.has_seen("100"));
    CHECK(!store.has_seen("abc"));
}

TEST_CASE("all entries can be walked", "[kube]") {
    Room room;
    room.settled();
    std::string names;
    room.store.for_each([&](const api::ObjectKey& key, const Store::Entry& entry) {
        names += key.name + std::string(entry.object.uid()) + " ";
    });
    CHECK((names == "aua bub " || names == "bub aua "));
}
