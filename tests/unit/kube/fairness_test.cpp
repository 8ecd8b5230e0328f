#include <catch2/catch.hpp>

#include "kube/manager/work_queue.hpp"

using namespace std::chrono_literals;
using Key = api::ObjectKey;

namespace {

const kube::SteadyTime t0 = kube::SteadyTime(1000h);

Key numbered(const std::string& ns, int number) { return {ns, "job-" + std::to_string(number)}; }

void add_many(kube::WorkQueue& queue, const std::string& ns, int count) {
    for (int i = 0; i < count; ++i) queue.add(numbered(ns, i), t0);
}

// Starts and ends the next reconciles one after the other. Returns their number by namespace.
std::map<std::string, int> reconciles_by_namespace(kube::WorkQueue& queue, int reconciles) {
    std::map<std::string, int> count;
    for (int i = 0; i < reconciles; ++i) {
        const auto key = queue.next(t0);
        if (!key) break;
        ++count[key->ns];
        queue.done(*key, t0);
    }
    return count;
}

}  // namespace

TEST_CASE("a namespace with ten thousand keys delays another one by one reconcile", "[kube]") {
    kube::WorkQueue queue;
    add_many(queue, "crowded", 10'000);
    for (int i = 0; i < 100; ++i) REQUIRE(queue.next(t0));
    queue.add({"quiet", "job"}, t0);
    const auto first = queue.next(t0);
    CHECK((first->ns == "quiet" || queue.next(t0)->ns == "quiet"));
}

TEST_CASE("namespaces get the same number of reconciles, however many keys they have", "[kube]") {
    kube::WorkQueue queue;
    add_many(queue, "a", 1000);
    add_many(queue, "b", 50);
    add_many(queue, "c", 100);
    CHECK(reconciles_by_namespace(queue, 90) == std::map<std::string, int>{{"a", 30}, {"b", 30}, {"c", 30}});
    SECTION("a share that a namespace does not use goes to the others") {
        CHECK(reconciles_by_namespace(queue, 1060) ==
              std::map<std::string, int>{{"a", 970}, {"b", 20}, {"c", 70}});
    }
    SECTION("an idle namespace saves nothing up") {
        reconciles_by_namespace(queue, 600);
        add_many(queue, "b", 50);
        CHECK(reconciles_by_namespace(queue, 40) == std::map<std::string, int>{{"a", 20}, {"b", 20}});
    }
}

TEST_CASE("keys of one namespace come out in the order in which they became due", "[kube]") {
    kube::WorkQueue queue;
    add_many(queue, "a", 3);
    add_many(queue, "b", 1);
    std::vector<std::string> of_a;
    while (const auto key = queue.next(t0))
        if (key->ns == "a") of_a.push_back(key->name);
    CHECK(of_a == std::vector<std::string>{"job-0", "job-1", "job-2"});
}

TEST_CASE("a key with constant events gets a few reconciles at once, and then one a second", "[kube]") {
    kube::WorkQueue queue;
    const Key key = {"ns", "patched-in-a-loop"};
    int passes = 0;
    const auto patch_for = [&](std::chrono::milliseconds time) {
        const int before = passes;
        for (auto now = t0; now < t0 + time; now += 10ms) {
            queue.add(key, now);
            while (const auto next = queue.next(now)) {
                ++passes;
                queue.done(*next, now);
            }
        }
        return passes - before;
    };
    const int in_a_minute = patch_for(60s);
    CHECK(in_a_minute >= 60);
    CHECK(in_a_minute <= 75);
}

TEST_CASE("reconciles are shared by cost, not by number", "[kube]") {
    kube::WorkQueue queue(64, [](const Key& key) { return key.ns == "expensive" ? 10 : 1; });
    add_many(queue, "expensive", 100);
    add_many(queue, "cheap", 1000);
    const auto count = reconciles_by_namespace(queue, 220);
    CHECK(count.at("cheap") == 200);
    CHECK(count.at("expensive") == 20);
}

TEST_CASE("slow reconciles of one namespace leave slots for others", "[kube]") {
    kube::WorkQueue queue(16);
    add_many(queue, "slow", 100);
    add_many(queue, "slower", 100);
    std::map<std::string, int> running;
    const auto start_all = [&] {
        while (const auto key = queue.next(t0)) ++running[key->ns];
    };
    start_all();
    CHECK(running == std::map<std::string, int>{{"slow", 7}, {"slower", 7}});
    CHECK_FALSE(queue.next_wakeup());

    for (const char* ns : {"third", "fourth", "fifth"}) add_many(queue, ns, 2);
    CHECK(queue.next_wakeup() <= t0);
    start_all();
    CHECK(queue.running() == 16);
    CHECK(running["third"] + running["fourth"] + running["fifth"] == 2);
}

TEST_CASE("few slots are not divided", "[kube]") {
    kube::WorkQueue queue(2);
    add_many(queue, "a", 3);
    CHECK(queue.next(t0));
    CHECK(queue.next(t0));
    CHECK_FALSE(queue.next(t0));
    queue.done(numbered("a", 0), t0);
    CHECK(queue.next(t0));
}

TEST_CASE("expensive reconciles run side by side up to a limit, wait in turn, and delay no cheap one",
          "[kube]") {
    // The first letter of the name gives the cost.
    kube::WorkQueue queue(64, [](const Key& key) -> std::int64_t {
        switch (key.name.front()) {
            case 'h': return 10'000;
            case 'e': return kube::WorkQueue::most_of_expensive / 2;
            default: return 1;
        }
    });
    const Key huge = {"b", "huge"};
    for (int i = 0; i < 3; ++i) queue.add({"a", "expensive-" + std::to_string(i)}, t0);
    queue.add(huge, t0);
    for (const char* ns : {"c", "d"}) queue.add({ns, "expensive-0"}, t0);
    queue.add({"e", "cheap"}, t0);
    std::vector<Key> running;
    const auto start_all = [&] {
        std::vector<std::string> started;
        while (const auto key = queue.next(t0)) {
            running.push_back(*key);
            started.push_back(to_string(*key));
        }
        return started;
    };
    const auto end_all = [&] {
        for (const Key& key : std::exchange(running, {})) queue.done(key, t0);
    };
    CHECK(start_all() == std::vector<std::string>{"a/expensive-0", "e/cheap"});
    end_all();
    CHECK(start_all() == std::vector<std::string>{"b/huge"});
    end_all();
    CHECK(start_all() == std::vector<std::string>{"c/expensive-0", "d/expensive-0"});
    end_all();
    CHECK(start_all() == std::vector<std::string>{"a/expensive-1", "a/expensive-2"});
}

TEST_CASE("a deferred reconcile has no cost", "[kube]") {
    kube::WorkQueue queue(64, [](const Key& key) { return key.ns == "a" ? 100 : 1; });
    add_many(queue, "a", 2);
    add_many(queue, "b", 10);
    for (int round = 0; round < 20; ++round) {
        const auto key = queue.next(t0 + round * 1s);
        REQUIRE(key);
        REQUIRE(key->ns == "a");
        queue.postpone(*key, t0 + round * 1s + 500ms);
        CHECK(queue.running() == 0);
        CHECK(queue.next_wakeup() <= t0 + round * 1s + 500ms);
    }
    const auto key = queue.next(t0 + 30s);
    REQUIRE(key->ns == "a");
    queue.add(*key, t0 + 30s);
    queue.postpone(*key, t0 + 40s);
    CHECK(queue.ready() == 11);  // events meanwhile are merged into the same reconcile
    CHECK(queue.waiting() == 1);
    queue.add(*key, t0 + 31s);
    CHECK(queue.waiting() == 0);  // and a later event makes it due at once
}

TEST_CASE("after an expensive reconcile, events cause the next one later", "[kube]") {
    kube::WorkQueue queue(64, [](const Key&) { return 1000; });
    const Key key = {"ns", "large"};
    queue.add(key, t0);
    REQUIRE(queue.next(t0));
    queue.add(key, t0);
    queue.done(key, t0);
    CHECK_FALSE(queue.next(t0));
    CHECK(queue.next_wakeup() == t0 + 10s);  // 20 ms for each unit of cost, except the free part
    SECTION("but not keys that are due at a certain time") {
        queue.add_after(key, t0 + 3s);
        CHECK(queue.next(t0 + 3s) == key);
    }
    SECTION("also if the key was forgotten meanwhile: its next object belongs to the same tenant") {
        queue.forget(key);
        queue.add(key, t0 + 1s);
        CHECK_FALSE(queue.next(t0 + 9s));
        CHECK(queue.next(t0 + 10s) == key);
    }
}

TEST_CASE("keys without recent reconciles use no memory", "[kube]") {
    kube::EventLimit limit;
    for (int i = 0; i < 100'000; ++i) limit.spend(numbered("ns", i), 1, t0 + i * 10ms);
    CHECK(limit.size() <= 400);
    SECTION("also if nothing happens after very many at once") {
        for (int i = 0; i < 10'000; ++i) limit.spend(numbered("ns", i), 1, t0 + 2h);
        limit.forget_old(t0 + 2h + 500ms);
        CHECK(limit.size() == 10'000);
        limit.forget_old(t0 + 2h + 5s);
        CHECK(limit.size() == 0);
    }
    kube::FairQueue queue;
    for (int i = 0; i < 1000; ++i) {
        const Key key = {"ns-" + std::to_string(i), "job"};
        queue.push(key);
        const Key* popped = queue.pop([](const Key&, std::size_t) { return true; });
        REQUIRE(popped == &key);
        queue.charge(key.ns, 5);
        queue.give_back(key.ns);
        CHECK(queue.namespaces() == 0);
    }
}
