#include "kube/manager/work_queue.hpp"

#include <catch2/catch.hpp>
#include <random>

using namespace std::chrono_literals;
using Key = api::ObjectKey;

namespace {

const kube::SteadyTime t0 = kube::SteadyTime(1000h);
const Key a = {"ns", "a"};
const Key b = {"ns", "b"};

}  // namespace

TEST_CASE("keys are returned in order and once", "[kube]") {
    kube::WorkQueue queue;
    CHECK(!queue.next(t0));
    CHECK(!queue.next_wakeup());
    queue.add(b, t0);
    queue.add(a, t0);
    queue.add(b, t0);
    CHECK(queue.ready() == 2);
    REQUIRE(queue.next_wakeup());
    CHECK(*queue.next_wakeup() <= t0);
    CHECK(queue.next(t0) == b);
    CHECK(queue.next(t0) == a);
    CHECK(!queue.next(t0));
    CHECK(queue.running() == 2);
    CHECK(!queue.next_wakeup());
}

TEST_CASE("events during a reconcile are merged into one more", "[kube]") {
    kube::WorkQueue queue;
    queue.add(a, t0);
    REQUIRE(queue.next(t0) == a);
    queue.add(a, t0);
    queue.add(a, t0);
    CHECK(!queue.next(t0));  // one reconcile per key at a time
    queue.done(a, t0);
    CHECK(queue.next(t0) == a);
    queue.done(a, t0);
    CHECK(!queue.next(t0 + 1h));
    CHECK(!queue.next_wakeup());
}

TEST_CASE("of several times the earliest wins", "[kube]") {
    kube::WorkQueue queue;
    SECTION("while it waits") {
        queue.add_after(a, t0 + 10s);
        queue.add_after(a, t0 + 20s);
        CHECK(queue.next_wakeup() == t0 + 10s);
        queue.add_after(a, t0 + 5s);
        CHECK(queue.next_wakeup() == t0 + 5s);
        CHECK(queue.waiting() == 1);
        CHECK(!queue.next(t0 + 4999ms));
        CHECK(queue.next(t0 + 5s) == a);
        queue.done(a, t0 + 5s);
        CHECK(!queue.next(t0 + 1h));
    }
    SECTION("during a reconcile") {
        queue.add(a, t0);
        REQUIRE(queue.next(t0) == a);
        queue.add_after(a, t0 + 20s);
        queue.add_after(a, t0 + 10s);
        CHECK(!queue.next(t0 + 1h));
        queue.done(a, t0);
        CHECK(queue.next_wakeup() == t0 + 10s);
    }
    SECTION("an event comes before it and replaces it") {
        queue.add_after(a, t0 + 10s);
        queue.add(a, t0);
        CHECK(queue.next(t0) == a);
        queue.done(a, t0);
        CHECK(!queue.next(t0 + 1h));
    }
    SECTION("a key that is due already stays so") {
        queue.add(a, t0);
        queue.add_after(a, t0 + 10s);
        CHECK(queue.next(t0) == a);
        queue.done(a, t0);
        CHECK(!queue.next(t0 + 1h));
    }
    SECTION("two keys at the same time keep their order") {
        queue.add_after(b, t0 + 1s);
        queue.add_after(a, t0 + 1s);
        CHECK(queue.next(t0 + 1s) == b);
        CHECK(queue.next(t0 + 1s) == a);
    }
}

TEST_CASE("failures back off and a success resets the backoff", "[kube]") {
    kube::WorkQueue queue;
    kube::SteadyTime now = t0;
    queue.add(a, now);
    for (const auto want : {1s, 2s, 4s, 8s, 16s, 32s, 64s, 128s, 256s, 300s, 300s, 300s}) {
        REQUIRE(queue.next(now) == a);
        CHECK(queue.failed(a, now) == want);
        CHECK(!queue.next(now + want - 1ms));
        now += want;
    }
    CHECK(queue.failures(a) == 12);
    REQUIRE(queue.next(now) == a);
    queue.done(a, now);
    CHECK(queue.failures(a) == 0);
    queue.add(a, now);
    REQUIRE(queue.next(now) == a);
    CHECK(queue.failed(a, now) == 1s);
}

TEST_CASE("an event overrides a backoff, but not Retry-After", "[kube]") {
    kube::WorkQueue queue;
    queue.add(a, t0);
    REQUIRE(queue.next(t0) == a);
    SECTION("backoff") {
        queue.failed(a, t0);
        queue.add(a, t0);
        CHECK(queue.next(t0) == a);
        CHECK(queue.failed(a, t0) == 2s);  // and the backoff continues
    }
    SECTION("an event during the failing reconcile") {
        queue.add(a, t0);
        queue.failed(a, t0);
        CHECK(queue.next(t0) == a);
    }
    SECTION("Retry-After") {
        CHECK(queue.failed(a, t0, 7s) == 7s);
        queue.add(a, t0);
        CHECK(!queue.next(t0 + 6999ms));
        CHECK(queue.next_wakeup() == t0 + 7s);
        CHECK(queue.next(t0 + 7s) == a);
        queue.done(a, t0 + 7s);
        CHECK(!queue.next(t0 + 1h));
    }
    SECTION("Retry-After of an hour, and a deadline before it") {
        queue.failed(a, t0, 3600s);
        queue.add_after(a, t0 + 20s);
        queue.add(a, t0 + 1s);
        CHECK(queue.next_wakeup() == t0 + 20s);
        CHECK(queue.next(t0 + 20s) == a);
        queue.failed(a, t0 + 20s, 3600s);
        queue.add(a, t0 + 21s);
        CHECK(queue.next_wakeup() == t0 + 3620s);
    }
    SECTION("an event and a deadline during the reconcile that has to wait") {
        queue.add(a, t0);
        queue.add_after(a, t0 + 20s);
        queue.failed(a, t0, 3600s);
        CHECK(queue.next(t0 + 20s) == a);
    }
    SECTION("an event during the reconcile that has to wait") {
        queue.add(a, t0);
        queue.failed(a, t0, 7s);
        CHECK(!queue.next(t0 + 6s));
        CHECK(queue.next(t0 + 7s) == a);
    }
    SECTION("Retry-After: 0 causes no busy loop") { CHECK(queue.failed(a, t0, 0s) == 1s); }
    SECTION("a deadline within the backoff still counts") {
        for (int i = 0; i < 8; ++i) {
            queue.failed(a, t0);
            queue.add(a, t0);
            REQUIRE(queue.next(t0) == a);
        }
        queue.add_after(a, t0 + 3s);
        queue.failed(a, t0);
        CHECK(queue.next_wakeup() == t0 + 3s);
    }
}

TEST_CASE("reports about keys that are not running are ignored", "[kube]") {
    kube::WorkQueue queue;
    queue.done(a, t0);
    queue.failed(a, t0);
    CHECK(!queue.next_wakeup());
    queue.add(a, t0);
    queue.done(a, t0);
    CHECK(queue.next(t0) == a);
}

TEST_CASE("a wanted key always gets its reconcile, and no key runs twice at once", "[kube]") {
    std::minstd_rand random(7);
    for (int round = 0; round < 50; ++round) {
        kube::WorkQueue queue;
        kube::SteadyTime now = t0;
        std::map<Key, bool> running;
        std::map<Key, bool> wanted;
        const auto finish = [&](Key key, int how) {
            running.erase(key);
            if (how == 0) {
                queue.done(key, now);
            } else {
                queue.failed(key, now, how == 1 ? std::optional(std::chrono::seconds(how)) : std::nullopt);
                wanted[key] = true;
            }
        };
        const auto drain_one = [&] {
            const auto key = queue.next(now);
            if (!key) return false;
            CHECK(!running.contains(*key));
            running[*key] = true;
            wanted.erase(*key);
            return true;
        };
        for (int step = 0; step < 300; ++step) {
            const Key key = {"ns", std::string(1, static_cast<char>('a' + random() % 5))};
            switch (random() % 5) {
                case 0: queue.add(key, now), wanted[key] = true; break;
                case 1:
                    queue.add_after(key, now + std::chrono::seconds(random() % 9)), wanted[key] = true;
                    break;
                case 2: drain_one(); break;
                case 3:
                    if (!running.empty()) finish(running.begin()->first, static_cast<int>(random() % 3));
                    break;
                default: now += std::chrono::milliseconds(random() % 3000);
            }
        }
        while (!running.empty()) finish(Key(running.begin()->first), 0);
        now += 1h;
        while (drain_one()) finish(Key(running.begin()->first), 0);
        CHECK(wanted.empty());
        CHECK(!queue.next_wakeup());
        CHECK(queue.running() == 0);
    }
}

TEST_CASE("a forgotten key is not reconciled any more, unless it runs", "[kube]") {
    const Key kept = {"ns", "kept"};
    kube::WorkQueue queue;
    queue.add(a, t0);
    queue.add_after(b, t0 + 5s);
    queue.add(kept, t0);
    for (const Key& key : {a, b, Key{"ns", "unknown"}}) queue.forget(key);
    CHECK(queue.ready() == 1);
    CHECK(queue.waiting() == 0);
    CHECK(queue.next(t0) == kept);
    queue.forget(kept);
    CHECK(queue.running() == 1);
    queue.done(kept, t0);
    CHECK(queue.running() == 0);
    CHECK_FALSE(queue.next(t0 + 1h));
}

TEST_CASE("a key that waits for Retry-After is not forgotten", "[kube]") {
    kube::WorkQueue queue;
    queue.add(a, t0);
    queue.next(t0);
    queue.failed(a, t0, 30s);
    queue.forget(a);
    queue.add(a, t0);
    CHECK_FALSE(queue.next(t0 + 29s));
    CHECK(queue.next(t0 + 30s) == a);
}

TEST_CASE("after forgive(), a key's backoff starts again", "[kube]") {
    kube::WorkQueue queue;
    for (const auto wait : {1s, 2s, 4s}) {
        queue.add(a, t0);
        REQUIRE(queue.next(t0) == a);
        CHECK(queue.failed(a, t0) == wait);
    }
    queue.add(a, t0);
    REQUIRE(queue.next(t0) == a);
    queue.forgive(a);
    queue.forgive(b);  // the key is not in the queue
    CHECK(queue.failed(a, t0) == 1s);
}
