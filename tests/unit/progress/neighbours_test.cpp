// What one job, or the jobs of one namespace, may cost the others.
#include <random>

#include "scheduling.hpp"

using namespace test;
using std::chrono::milliseconds;

namespace {

api::ObjectKey in(const char* ns, int i) { return {.ns = ns, .name = "job-" + std::to_string(i)}; }

// The jobs of a tenant and one of another, each with a report a second. Returns the longest time between two
// writes of the latter.
milliseconds longest_gap_beside(int jobs, std::size_t bytes, progress::ScheduleLimits limits = {}) {
    Plan plan(limits);
    const api::ObjectKey other = in("other", 0);
    for (int i = 0; i < jobs; ++i) plan.stored[in("tenant", i)].bytes = bytes;
    for (int i = 0; i < jobs; ++i) plan.update(in("tenant", i));
    plan.update(other);
    milliseconds last{0}, longest{0};
    for (int step = 0; step < 6000; ++step) {
        if (step % 50 == 0) {
            for (int i = 0; i < jobs; ++i) plan.submit(step % 99, in("tenant", i));
            plan.submit(step % 99, other);
        }
        for (auto write = plan.take(); write; write = plan.take()) {
            if (write->job == other)
                longest = std::max(longest, plan.passed - std::exchange(last, plan.passed));
            plan.store(*write);
        }
        plan.pass(20ms);
    }
    CHECK(last > 100s);
    return longest;
}

}  // namespace

TEST_CASE("the large jobs of one namespace do not stretch the interval of another", "[schedule]") {
    const milliseconds alone = longest_gap_beside(0, 0);
    CHECK(alone <= 5'100ms);
    CHECK(longest_gap_beside(31, 1'400'000) <= alone + 3s);
}

TEST_CASE("the many jobs of one namespace do not stretch the interval of another", "[schedule]") {
    CHECK(longest_gap_beside(2'000, 1'000, {.writes_per_second = 50}) <= 5'200ms);
}

TEST_CASE("one namespace has half of the writes at a time, of the memory and of the jobs", "[schedule]") {
    Plan plan({.jobs = 10, .writes_at_once = 4});
    for (int i = 0; i < 5; ++i) {
        REQUIRE(plan.schedule.has_room(in("tenant", i), plan.now()));
        plan.update(in("tenant", i));
        plan.submit(1, in("tenant", i));
    }
    CHECK_FALSE(plan.schedule.has_room(in("tenant", 5), plan.now()));
    CHECK(plan.schedule.has_room(in("other", 0), plan.now()));
    const auto first = plan.must_take();
    plan.must_take();
    CHECK_FALSE(plan.take());
    plan.update(in("other", 0));
    plan.submit(1, in("other", 0));
    CHECK(plan.must_take().job == in("other", 0));
    CHECK_FALSE(plan.take());
    plan.store(first);
    CHECK(plan.must_take().job.ns == "tenant");
}

TEST_CASE("a job whose writes the API server always refuses counts for itself alone", "[schedule]") {
    const api::Error too_large = {
        .code = api::Errc::internal, .message = "etcdserver: request is too large", .http_status = 500};
    for (const api::Error& error : {too_large, broken, conflict}) {
        Plan plan;
        const api::ObjectKey huge = in("tenant", 0), other = in("other", 0);
        plan.update(huge);
        plan.update(other);
        milliseconds longest{0};
        int tries = 0;
        for (int second = 0; second < 300; ++second) {
            plan.submit(second % 99, huge);
            plan.submit(second % 99, other);
            for (auto write = plan.take(); write; write = plan.take()) {
                if (write->job == other) {
                    plan.store(*write);
                } else {
                    ++tries;
                    while (plan.fail(*write, error) == Outcome::changed &&
                           plan.read_again(*write) == Outcome::retried)
                        write = plan.must_take();
                }
            }
            longest = std::max(longest, plan.schedule.longest_wait(plan.now()));
            plan.pass(1s);
        }
        CAPTURE(error.message, error.http_status);
        CHECK(longest < 30s);
        CHECK(plan.schedule.fails_alone(huge));
        CHECK_FALSE(plan.schedule.fails_alone(other));
        CHECK(tries <= 70);
        // One success, and it counts again.
        plan.pass(30s);
        plan.submit(99, huge);
        for (auto write = plan.take(); write; write = plan.take()) plan.store(*write);
        CHECK_FALSE(plan.schedule.fails_alone(huge));
    }
}

TEST_CASE("a job that is refused for its size is written without its metrics", "[schedule]") {
    Plan plan;
    plan.update();
    progress::Report report = plan.report(40);
    report.metrics = {{.name = "loss", .value = "0.5"}};
    plan.submit({.report = report});
    for (int i = 0; i < progress::Schedule::own_failures; ++i) {
        const auto write = plan.must_take();
        CHECK(plan.status_of(write).contains("metrics"));
        plan.fail(write, broken);
        plan.pass(30s);
    }
    const auto write = plan.must_take();
    CHECK_FALSE(plan.status_of(write).contains("metrics"));
    CHECK(plan.status_of(write)["progressPercentage"].int_or(0) == 40);
    plan.store(write);
    plan.submit({.report = report});
    plan.pass(30s);
    CHECK(plan.status_of(plan.must_take()).contains("metrics"));
}

TEST_CASE("a server that does not answer, is busy, or refuses all writes fails for all jobs", "[schedule]") {
    const api::Error no_answer = {.code = api::Errc::unavailable, .message = "connection reset"};
    const api::Error busy = {
        .code = api::Errc::unavailable, .message = "later", .http_status = 429, .retry_after = 1s};
    for (const api::Error& error : {no_answer, busy, broken}) {
        Plan plan;
        const api::ObjectKey other = in("other", 0);
        for (const api::ObjectKey& key : {job, other}) plan.update(key);
        plan.submit(1, other);
        plan.write_all();
        for (int second = 0; second < 120; ++second) {
            for (const api::ObjectKey& key : {job, other}) plan.submit(second % 99, key);
            for (auto write = plan.take(); write; write = plan.take()) plan.fail(*write, error);
            plan.pass(1s);
        }
        CHECK(plan.schedule.longest_wait(plan.now()) > 100s);
        for (const api::ObjectKey& key : {job, other}) CHECK_FALSE(plan.schedule.fails_alone(key));
    }
}

TEST_CASE("whatever a job reports, it has no more writes than one per interval and one in advance",
          "[schedule]") {
    for (unsigned seed = 0; seed < 200; ++seed) {
        std::mt19937 random(seed);
        const auto chance = [&](int percent) { return random() % 100 < unsigned(percent); };
        Plan plan;
        plan.update();
        const int urgency = int(random() % 101), frequency = 1 + int(random() % 100);
        std::vector<milliseconds> writes;
        for (int step = 0; step < 600; ++step) {
            if (chance(frequency))
                plan.submit({.report = plan.report(chance(urgency) ? 100 : int(random() % 100)),
                             .pod_created = plan.wall_now(),
                             .is_first_of_pod = chance(urgency)});
            for (auto write = plan.take(); write; write = plan.take()) {
                writes.push_back(plan.passed);
                plan.store(*write);
            }
            plan.pass(100ms);
        }
        for (std::size_t i = 0; i < writes.size(); ++i)
            for (std::size_t j = i + 1; j < writes.size(); ++j) {
                const auto intervals = (writes[j] - writes[i]) / milliseconds(5'000);
                CAPTURE(seed, writes[i].count(), writes[j].count());
                CHECK(j - i <= std::size_t(intervals) + 1);
            }
    }
}

TEST_CASE("the end of a job is stored at once, also right after a write", "[schedule]") {
    Plan plan;
    plan.update();
    plan.submit(1);
    plan.write_all();
    plan.pass(5s);
    plan.submit(99);
    CHECK(plan.write_all() == 1);
    plan.pass(100ms);
    plan.submit(100);
    CHECK(plan.write_all() == 1);
}
