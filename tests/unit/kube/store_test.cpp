#include "kube/watch/store.hpp"

#include <catch2/catch.hpp>

#include "api/json.hpp"

using api::Json;

namespace {

struct Index {
    std::string color = {};
};
using Store = kube::Store<Index>;

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
    std::vector<std::string> lists;
    kube::Namespaces namespaces;
    Store store{
        [](Json& o) -> std::optional<Index> {
            const std::string color(std::as_const(o)["spec"]["color"].as_string());
            if (color == "grey") return std::nullopt;
            if (color == "glass") o = Json();
            return Index{color};
        },
        [this](const api::ObjectKey& key, const Store::Entry* before, const Store::Entry* after) {
            told.push_back(key.name + ":" +
                           (before ? std::string(before->object.uid()) + "=" + before->index.color : "-") +
                           ">" + (after ? std::string(after->object.uid()) + "=" + after->index.color : "-"));
        },
        namespaces, [this](const std::string& section) { lists.push_back(section); }};

    explicit Room(kube::Namespaces of = {}) : namespaces(std::move(of)) {}
    // What a reflector of that section would store.
    kube::Sink& sink(const std::string& section = "") {
        for (const kube::Section& each : store.sections())
            if (each.ns == section) return each.sink;
        throw std::logic_error("no such section: " + section);
    }
    std::vector<std::string> take() { return std::exchange(told, {}); }
    // With object a at version 5 and b at 6, complete at 9.
    Room& settled() {
        sink().listing();
        sink().upsert(a, "5", object("ua", "red"));
        sink().upsert(b, "6", object("ub", "blue"));
        sink().synced("9");
        take();
        return *this;
    }
};

using Told = std::vector<std::string>;

}  // namespace

TEST_CASE("a store has bytes, indexes and versions", "[kube]") {
    Room room;
    CHECK(!room.store.is_synced("ns"));
    room.sink().listing();
    room.sink().upsert(a, "5", object("ua", "red"));
    CHECK(!room.store.is_synced("ns"));
    CHECK(!room.store.has_seen("ns", "5"));
    room.sink().synced("9");
    CHECK(room.store.is_synced("ns"));
    CHECK(room.told == Told{"a:->ua=red"});
    const auto* entry = room.store.find(a);
    REQUIRE(entry);
    CHECK(entry->object.uid() == "ua");
    CHECK(entry->object.resource_version() == "5");
    CHECK(entry->object.bytes() == R"({"metadata":{"uid":"ua"},"spec":{"color":"red"}})");
    CHECK(entry->index.color == "red");
    CHECK(!room.store.find(b));
    CHECK(room.store.size() == 1);
}

TEST_CASE("a store reports changes", "[kube]") {
    Room room;
    room.settled();
    auto& store = room.store;
    kube::Sink& sink = room.sink();
    SECTION("updated") {
        sink.upsert(a, "10", object("ua", "green"));
        CHECK(room.told == Told{"a:ua=red>ua=green"});
        CHECK(store.find(a)->object.resource_version() == "10");
    }
    SECTION("the same version again") {
        sink.upsert(a, "5", object("ua", "green"));
        CHECK(room.told.empty());
    }
    SECTION("an older version, from a stale server") {
        sink.upsert(a, "4", object("ua", "green"));
        CHECK(room.told.empty());
        CHECK(store.find(a)->index.color == "red");
    }
    SECTION("removed") {
        sink.removed(a, "11");
        CHECK(room.told == Told{"a:ua=red>-"});
        CHECK(!store.find(a));
        sink.removed(a, "11");
        CHECK(room.told.size() == 1);
    }
    SECTION("replaced by another object of the same name, without an event") {
        sink.upsert(a, "10", object("ux", "green"));
        CHECK(room.told == Told{"a:ua=red>ux=green"});
    }
    SECTION("skipped by the transform, now or before") {
        sink.upsert({"ns", "c"}, "10", object("uc", "grey"));
        CHECK(room.told.empty());
        sink.upsert(a, "11", object("ua", "grey"));
        CHECK(room.told == Told{"a:ua=red>-"});
        CHECK(store.size() == 1);
    }
    SECTION("reduced to its index") {
        sink.upsert(a, "10", object("ua", "glass"));
        CHECK(store.find(a)->object.bytes().empty());
        CHECK(store.find(a)->object.uid() == "ua");
    }
}

TEST_CASE("an object that is missing in a later list is removed", "[kube]") {
    Room room;
    room.settled();
    auto& store = room.store;
    kube::Sink& sink = room.sink();
    sink.listing();
    SECTION("and an unchanged one is not reported") {
        sink.upsert(b, "6", object("ub", "blue"));
        CHECK(room.take().empty());
        sink.synced("20");
        CHECK(room.told == Told{"a:ua=red>-"});
        CHECK(store.lists("ns") == 2);
    }
    SECTION("only once the list is complete") {
        sink.upsert(b, "6", object("ub", "blue"));
        sink.listing();
        sink.upsert(a, "5", object("ua", "red"));
        CHECK(store.size() == 2);
        sink.synced("20");
        CHECK(room.told == Told{"b:ub=blue>-"});
    }
    SECTION("even if the list is older: the server was restored") {
        sink.upsert(a, "3", object("ua", "green"));
        sink.synced("4");
        CHECK(room.told == Told{"a:ua=red>ua=green", "b:ub=blue>-"});
        CHECK(!store.has_seen("ns", "9"));
        CHECK(store.has_seen("ns", "4"));
    }
}

TEST_CASE("a store returns the version up to which it has seen changes", "[kube]") {
    Room room;
    room.settled();
    auto& store = room.store;
    kube::Sink& sink = room.sink();
    CHECK(store.has_seen("ns", "9"));
    CHECK(!store.has_seen("ns", "10"));
    sink.upsert(a, "10", object("ua", "green"));
    CHECK(store.has_seen("ns", "10"));
    sink.removed(a, "12");
    CHECK(store.has_seen("ns", "12"));
    sink.upsert({"ns", "c"}, "13", object("uc", "grey"));  // also of objects that it skips
    CHECK(store.has_seen("ns", "13"));
    sink.bookmark("100");
    CHECK(store.has_seen("ns", "99"));
    sink.bookmark("50");
    CHECK(store.has_seen("ns", "100"));
    CHECK(!store.has_seen("ns", "abc"));
}

TEST_CASE("for_each() visits all entries", "[kube]") {
    Room room;
    room.settled();
    std::string names;
    room.store.for_each([&](const api::ObjectKey& key, const Store::Entry& entry) {
        names += key.name + std::string(entry.object.uid()) + " ";
    });
    CHECK((names == "aua bub " || names == "bub aua "));
}

TEST_CASE("sections are listed and forgotten independently", "[kube]") {
    Room room(kube::Namespaces({"ns", "other"}));
    const api::ObjectKey c = {"other", "c"};
    CHECK(room.store.sections().size() == 2);
    room.sink("ns").listing();
    room.sink("ns").upsert(a, "5", object("ua", "red"));
    room.sink("other").listing();
    room.sink("other").upsert(c, "7", object("uc", "blue"));
    room.sink("ns").synced("9");
    CHECK(room.store.is_synced("ns"));
    CHECK(!room.store.is_synced("other"));
    CHECK(room.store.has_seen("ns", "9"));
    CHECK(!room.store.has_seen("other", "7"));
    CHECK(room.lists == Told{"ns"});
    room.sink("other").synced("8");
    CHECK(room.store.is_synced("other"));
    CHECK(room.store.has_seen("other", "8"));
    CHECK(!room.store.has_seen("other", "9"));
    CHECK(room.store.size() == 2);
    CHECK(room.store.find(a));
    CHECK(room.store.find(c));
    room.take();

    SECTION("a new list") {
        room.sink("ns").listing();
        room.sink("ns").synced("20");
        CHECK(room.take() == Told{"a:ua=red>-"});
        CHECK(room.store.find(c));
        CHECK(room.store.lists("ns") == 2);
        CHECK(room.store.lists("other") == 1);
        CHECK(room.lists == Told{"ns", "other", "ns"});
    }
    SECTION("a list that is interrupted") {
        room.sink("ns").listing();
        room.sink("other").upsert(c, "30", object("uc", "green"));
        CHECK(room.take() == Told{"c:uc=blue>uc=green"});
        CHECK(room.store.has_seen("other", "30"));
        room.sink("other").upsert(c, "29",
                                  object("uc", "red"));  // an old version, although the other section lists
        CHECK(room.take().empty());
    }
    SECTION("a walk") {
        std::string names;
        const auto note = [&](const api::ObjectKey& key, const Store::Entry&) { names += key.name; };
        room.store.for_each(note);
        CHECK(names == "ac");
        room.store.for_each_in("other", note);
        CHECK(names == "acc");
    }
    SECTION("a namespace outside of all sections is never synced") {
        CHECK(!room.store.find({"third", "a"}));
        CHECK(!room.store.is_synced("third"));
        CHECK(!room.store.has_seen("third", "1"));
        CHECK(room.store.lists("third") == 0);
    }
}

TEST_CASE("one section covers all namespaces and cluster-scoped objects", "[kube]") {
    Room room;
    room.settled();
    CHECK(room.lists == Told{""});
    room.sink().upsert({"", "cluster"}, "10", object("uz", "red"));
    room.sink().upsert({"third", "z"}, "11", object("uy", "red"));
    CHECK(room.store.find({"", "cluster"}));
    CHECK(room.store.find({"third", "z"}));
    CHECK(room.store.is_synced("third"));
    CHECK(room.store.has_seen("third", "11"));
    CHECK(room.store.size() == 4);
}
