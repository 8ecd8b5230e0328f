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

struct Fixture {
    std::vector<std::string> reported;
    std::vector<std::string> lists;
    kube::Namespaces namespaces;
    Store store{[](Json& o) -> std::optional<Index> {
                    const std::string color(std::as_const(o)["spec"]["color"].as_string());
                    if (color == "grey") return std::nullopt;
                    if (color == "glass") o = Json();
                    return Index{color};
                },
                [this](const api::ObjectKey& key, const Store::Entry* before, const Store::Entry* after) {
                    reported.push_back(
                        key.name + ":" +
                        (before ? std::string(before->object.uid()) + "=" + before->index.color : "-") + ">" +
                        (after ? std::string(after->object.uid()) + "=" + after->index.color : "-"));
                },
                namespaces, [this](const std::string& partition) { lists.push_back(partition); }};

    explicit Fixture(kube::Namespaces of = {}) : namespaces(std::move(of)) {}
    // What a reflector of that partition would store.
    kube::Sink& sink(const std::string& partition = "") {
        for (const kube::Partition& each : store.partitions())
            if (each.ns == partition) return each.sink;
        throw std::logic_error("no such partition: " + partition);
    }
    std::vector<std::string> take() { return std::exchange(reported, {}); }
    // With object a at version 5 and b at 6, complete at 9.
    Fixture& settled() {
        sink().begin_replace();
        sink().upsert(a, "5", object("ua", "red"));
        sink().upsert(b, "6", object("ub", "blue"));
        sink().end_replace("9");
        take();
        return *this;
    }
};

using Reports = std::vector<std::string>;

}  // namespace

TEST_CASE("a store has bytes, indexes and versions", "[kube]") {
    Fixture fixture;
    CHECK(!fixture.store.is_synced("ns"));
    fixture.sink().begin_replace();
    fixture.sink().upsert(a, "5", object("ua", "red"));
    CHECK(!fixture.store.is_synced("ns"));
    CHECK(!fixture.store.has_seen("ns", "5"));
    fixture.sink().end_replace("9");
    CHECK(fixture.store.is_synced("ns"));
    CHECK(fixture.reported == Reports{"a:->ua=red"});
    const auto* entry = fixture.store.find(a);
    REQUIRE(entry);
    CHECK(entry->object.uid() == "ua");
    CHECK(entry->object.resource_version() == "5");
    CHECK(entry->object.bytes() == R"({"metadata":{"uid":"ua"},"spec":{"color":"red"}})");
    CHECK(entry->index.color == "red");
    CHECK(!fixture.store.find(b));
    CHECK(fixture.store.size() == 1);
}

TEST_CASE("a store reports changes", "[kube]") {
    Fixture fixture;
    fixture.settled();
    auto& store = fixture.store;
    kube::Sink& sink = fixture.sink();
    SECTION("updated") {
        sink.upsert(a, "10", object("ua", "green"));
        CHECK(fixture.reported == Reports{"a:ua=red>ua=green"});
        CHECK(store.find(a)->object.resource_version() == "10");
    }
    SECTION("the same version again") {
        sink.upsert(a, "5", object("ua", "green"));
        CHECK(fixture.reported.empty());
    }
    SECTION("an older version, from a stale server") {
        sink.upsert(a, "4", object("ua", "green"));
        CHECK(fixture.reported.empty());
        CHECK(store.find(a)->index.color == "red");
    }
    SECTION("removed") {
        sink.remove(a, "11");
        CHECK(fixture.reported == Reports{"a:ua=red>-"});
        CHECK(!store.find(a));
        sink.remove(a, "11");
        CHECK(fixture.reported.size() == 1);
    }
    SECTION("replaced by another object of the same name, without an event") {
        sink.upsert(a, "10", object("ux", "green"));
        CHECK(fixture.reported == Reports{"a:ua=red>ux=green"});
    }
    SECTION("skipped by the transform, now or before") {
        sink.upsert({"ns", "c"}, "10", object("uc", "grey"));
        CHECK(fixture.reported.empty());
        sink.upsert(a, "11", object("ua", "grey"));
        CHECK(fixture.reported == Reports{"a:ua=red>-"});
        CHECK(store.size() == 1);
    }
    SECTION("reduced to its index") {
        sink.upsert(a, "10", object("ua", "glass"));
        CHECK(store.find(a)->object.bytes().empty());
        CHECK(store.find(a)->object.uid() == "ua");
    }
}

TEST_CASE("an object that is missing in a later list is removed", "[kube]") {
    Fixture fixture;
    fixture.settled();
    auto& store = fixture.store;
    kube::Sink& sink = fixture.sink();
    sink.begin_replace();
    SECTION("and an unchanged one is not reported") {
        sink.upsert(b, "6", object("ub", "blue"));
        CHECK(fixture.take().empty());
        sink.end_replace("20");
        CHECK(fixture.reported == Reports{"a:ua=red>-"});
        CHECK(store.lists("ns") == 2);
    }
    SECTION("only once the list is complete") {
        sink.upsert(b, "6", object("ub", "blue"));
        sink.begin_replace();
        sink.upsert(a, "5", object("ua", "red"));
        CHECK(store.size() == 2);
        sink.end_replace("20");
        CHECK(fixture.reported == Reports{"b:ub=blue>-"});
    }
    SECTION("even if the list is older: the server was restored") {
        sink.upsert(a, "3", object("ua", "green"));
        sink.end_replace("4");
        CHECK(fixture.reported == Reports{"a:ua=red>ua=green", "b:ub=blue>-"});
        CHECK(!store.has_seen("ns", "9"));
        CHECK(store.has_seen("ns", "4"));
    }
}

TEST_CASE("a store returns the version up to which it has seen changes", "[kube]") {
    Fixture fixture;
    fixture.settled();
    auto& store = fixture.store;
    kube::Sink& sink = fixture.sink();
    CHECK(store.has_seen("ns", "9"));
    CHECK(!store.has_seen("ns", "10"));
    sink.upsert(a, "10", object("ua", "green"));
    CHECK(store.has_seen("ns", "10"));
    sink.remove(a, "12");
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
    Fixture fixture;
    fixture.settled();
    std::string names;
    fixture.store.for_each([&](const api::ObjectKey& key, const Store::Entry& entry) {
        names += key.name + std::string(entry.object.uid()) + " ";
    });
    CHECK((names == "aua bub " || names == "bub aua "));
}

TEST_CASE("partitions are listed and forgotten independently", "[kube]") {
    Fixture fixture(kube::Namespaces({"ns", "other"}));
    const api::ObjectKey c = {"other", "c"};
    CHECK(fixture.store.partitions().size() == 2);
    fixture.sink("ns").begin_replace();
    fixture.sink("ns").upsert(a, "5", object("ua", "red"));
    fixture.sink("other").begin_replace();
    fixture.sink("other").upsert(c, "7", object("uc", "blue"));
    fixture.sink("ns").end_replace("9");
    CHECK(fixture.store.is_synced("ns"));
    CHECK(!fixture.store.is_synced("other"));
    CHECK(fixture.store.has_seen("ns", "9"));
    CHECK(!fixture.store.has_seen("other", "7"));
    CHECK(fixture.lists == Reports{"ns"});
    fixture.sink("other").end_replace("8");
    CHECK(fixture.store.is_synced("other"));
    CHECK(fixture.store.has_seen("other", "8"));
    CHECK(!fixture.store.has_seen("other", "9"));
    CHECK(fixture.store.size() == 2);
    CHECK(fixture.store.find(a));
    CHECK(fixture.store.find(c));
    fixture.take();

    SECTION("a new list") {
        fixture.sink("ns").begin_replace();
        fixture.sink("ns").end_replace("20");
        CHECK(fixture.take() == Reports{"a:ua=red>-"});
        CHECK(fixture.store.find(c));
        CHECK(fixture.store.lists("ns") == 2);
        CHECK(fixture.store.lists("other") == 1);
        CHECK(fixture.lists == Reports{"ns", "other", "ns"});
    }
    SECTION("a list that is interrupted") {
        fixture.sink("ns").begin_replace();
        fixture.sink("other").upsert(c, "30", object("uc", "green"));
        CHECK(fixture.take() == Reports{"c:uc=blue>uc=green"});
        CHECK(fixture.store.has_seen("other", "30"));
        fixture.sink("other").upsert(
            c, "29", object("uc", "red"));  // an old version, although the other partition lists
        CHECK(fixture.take().empty());
    }
    SECTION("a walk") {
        std::string names;
        const auto note = [&](const api::ObjectKey& key, const Store::Entry&) { names += key.name; };
        fixture.store.for_each(note);
        CHECK(names == "ac");
        fixture.store.for_each_in("other", note);
        CHECK(names == "acc");
    }
    SECTION("a namespace outside of all partitions is never synced") {
        CHECK(!fixture.store.find({"third", "a"}));
        CHECK(!fixture.store.is_synced("third"));
        CHECK(!fixture.store.has_seen("third", "1"));
        CHECK(fixture.store.lists("third") == 0);
    }
}

TEST_CASE("one partition covers all namespaces and cluster-scoped objects", "[kube]") {
    Fixture fixture;
    fixture.settled();
    CHECK(fixture.lists == Reports{""});
    fixture.sink().upsert({"", "cluster"}, "10", object("uz", "red"));
    fixture.sink().upsert({"third", "z"}, "11", object("uy", "red"));
    CHECK(fixture.store.find({"", "cluster"}));
    CHECK(fixture.store.find({"third", "z"}));
    CHECK(fixture.store.is_synced("third"));
    CHECK(fixture.store.has_seen("third", "11"));
    CHECK(fixture.store.size() == 4);
}
