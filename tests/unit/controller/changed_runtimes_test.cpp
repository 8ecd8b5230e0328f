#include "controller/cache/changed_runtimes.hpp"

#include <catch2/catch.hpp>
#include <vector>

using controller::ChangedRuntimes;
using namespace std::chrono_literals;

namespace {

constexpr kube::SteadyTime start = kube::SteadyTime(1000h);
const std::vector<api::ObjectKey> keys(16);

// As many users of the runtime as come next; it has no others if `at_end`. Returns it; 0 if nothing is due.
std::size_t look(ChangedRuntimes& changed, kube::SteadyTime now, std::size_t users, bool at_end = true,
                 std::size_t from = 0) {
    auto turn = changed.next(now);
    if (!turn) return 0;
    CHECK(turn->last == (from == 0 ? nullptr : &keys[from]));
    turn->last = &keys[from + 1];
    changed.ended(*turn, users, at_end, now);
    return turn->runtime;
}

}  // namespace

TEST_CASE("a runtime is looked at once for all changes before") {
    ChangedRuntimes changed;
    CHECK(!changed.next_at());
    for (int i = 0; i < 3; ++i) changed.note("ns", 7);
    CHECK(*changed.next_at() <= start);
    CHECK(look(changed, start, 1) == 7);
    CHECK(!changed.next_at());
    CHECK(look(changed, start, 1) == 0);
}

TEST_CASE("a runtime that changes while its users are looked at is looked at once more, from the first one") {
    ChangedRuntimes changed;
    changed.note("ns", 7);
    CHECK(look(changed, start, 5, false) == 7);
    changed.note("ns", 7);
    changed.note("ns", 7);
    CHECK(look(changed, start, 5, false, 1) == 7);
    CHECK(look(changed, start, 5, true, 2) == 7);
    CHECK(look(changed, start, 5, false) == 7);
    CHECK(look(changed, start, 5, true, 1) == 7);
    CHECK(!changed.next_at());
}

TEST_CASE(
    "of the runtimes of one namespace a thousand users a second are looked at, and a thousand at once") {
    ChangedRuntimes changed;
    std::size_t users = 0;
    for (auto now = start; now < start + 10s; now += 1ms) {
        for (std::size_t runtime = 1; runtime <= 3; ++runtime) changed.note("ns", runtime);
        while (look(changed, now, 250) != 0) users += 250;
    }
    CHECK(users >= 11'000);
    CHECK(users <= 11'500);
    CHECK(*changed.next_at() > start + 9s);
    CHECK(*changed.next_at() < start + 10s + 250ms);
}

TEST_CASE("runtimes of a namespace take turns, and namespaces by what they have had") {
    ChangedRuntimes changed;
    changed.note("a", 1);
    changed.note("a", 2);
    CHECK(look(changed, start, 900) == 1);
    changed.note("a", 1);
    changed.note("b", 3);
    CHECK(look(changed, start, 10) == 3);
    CHECK(look(changed, start, 200) == 2);
    // It has had its share.
    CHECK(look(changed, start, 1) == 0);
    changed.note("b", 3);
    CHECK(look(changed, start, 10) == 3);
    CHECK(look(changed, start + 100ms, 1) == 1);
}

TEST_CASE("a namespace whose runtimes have not changed for a while takes no memory") {
    ChangedRuntimes changed;
    for (int i = 0; i < 100; ++i) {
        changed.note(std::to_string(i), 1);
        look(changed, start, 250);
    }
    CHECK(changed.namespaces() == 100);
    CHECK(!changed.next(start + 2s));
    CHECK(changed.namespaces() == 0);
}
