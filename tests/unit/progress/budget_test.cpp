#include <algorithm>

#include "scheduling.hpp"

using namespace test;

namespace {

// Runs so many jobs that report every five seconds for so long. Returns the times of the writes.
struct Load : Plan {
    Load(int jobs, std::size_t size, progress::ScheduleLimits limits = {}) : Plan(limits), count(jobs) {
        for (int i = 0; i < jobs; ++i) {
            stored[numbered(i)].bytes = size;
            update(numbered(i));
        }
    }

    void run_for(std::chrono::seconds time) {
        constexpr auto step = 20ms;
        const int turns = int(time / step), per_period = int(5s / step);
        for (int turn = 0; turn < turns; ++turn) {
            for (int i = turn % per_period; i < count; i += per_period)
                waits += submit(turn % 100, numbered(i)) == Reply::wait ? 1 : 0;
            for (auto write = take(); write; write = take()) {
                sent.push_back(passed);
                bytes.push_back(stored[write->job].bytes);
                last[write->job.name].push_back(passed);
                if (is_away)
                    fail(*write, broken);
                else
                    store(*write);
            }
            pass(step);
        }
    }
    // Returns the highest sum over any `window`.
    double most_in(std::chrono::milliseconds window, bool of_bytes) const {
        double most = 0, sum = 0;
        for (std::size_t first = 0, i = 0; i < sent.size(); ++i) {
            sum += of_bytes ? double(bytes[i]) : 1;
            for (; sent[i] - sent[first] >= window; ++first) sum -= of_bytes ? double(bytes[first]) : 1;
            most = std::max(most, sum);
        }
        return most;
    }
    std::chrono::milliseconds longest_gap(std::chrono::milliseconds after) const {
        std::chrono::milliseconds longest{0};
        for (const auto& [name, times] : last)
            for (std::size_t i = 1; i < times.size(); ++i)
                if (times[i] > after) longest = std::max(longest, times[i] - times[i - 1]);
        return longest;
    }

    int count;
    bool is_away = false;  // the API server
    int waits = 0;         // reports whose answers wait for their write
    std::vector<std::chrono::milliseconds> sent = {};
    std::vector<std::size_t> bytes = {};
    std::map<std::string, std::vector<std::chrono::milliseconds>> last = {};
};

}  // namespace

TEST_CASE("within the budget every job is written once per interval", "[schedule]") {
    Load load(100, 1000);
    load.run_for(60s);
    CHECK(load.sent.size() >= 1100);
    CHECK(load.sent.size() <= 1200);
    CHECK(load.longest_gap(0ms) <= 5020ms);
    CHECK(load.schedule.interval(load.now()) < 5100ms);
}

TEST_CASE("beyond the budget of writes every job's interval grows", "[schedule]") {
    Load load(400, 100, {.writes_per_second = 20});
    load.run_for(120s);
    CHECK(load.most_in(10s, false) <= 204);
    CHECK(load.sent.size() >= 2380);
    // 400 jobs at 20 a second; every job is written.
    CHECK(load.last.size() == 400);
    CHECK(load.longest_gap(40s) <= 22s);
    CHECK(load.schedule.interval(load.now()) > 15s);
    CHECK(load.schedule.longest_wait(load.now()) <= 22s);
}

TEST_CASE("beyond the budget of bytes every job's interval grows", "[schedule]") {
    Load load(500, 5'000, {.bytes_per_second = 50'000});
    load.run_for(180s);
    CHECK(load.most_in(10s, true) <= 511'000);
    CHECK(load.sent.size() >= 1'780);
    CHECK(load.last.size() == 500);
    CHECK(load.longest_gap(60s) <= 70s);
}

TEST_CASE("a TrainJob larger than the budget of a second is still written", "[schedule]") {
    Load load(2, 1'000'000, {.bytes_per_second = 100'000});
    load.run_for(120s);
    CHECK(load.sent.size() >= 11);
    CHECK(load.sent.size() <= 13);
    CHECK(load.last.size() == 2);
}

TEST_CASE("a slow API server has a bounded number of writes at a time", "[schedule]") {
    Plan plan({.writes_at_once = 3});
    for (int i = 0; i < 10; ++i) {
        plan.update(numbered(i));
        plan.submit(1, numbered(i));
    }
    std::vector<Schedule::Write> writes;
    while (auto write = plan.take()) writes.push_back(std::move(*write));
    CHECK(writes.size() == 3);
    CHECK(plan.schedule.due() == kube::SteadyTime::max());
    plan.store(writes[0]);
    CHECK(plan.take());
    CHECK(!plan.take());
}

TEST_CASE("jobs that do not report are forgotten to make room, but none with a pending report",
          "[schedule]") {
    Plan plan({.jobs = 2});
    plan.update(numbered(1));
    plan.update(numbered(2));
    CHECK(plan.schedule.has_room(numbered(1), plan.now()));
    CHECK(!plan.schedule.has_room(numbered(3), plan.now()));
    plan.pass(30s);
    plan.submit(1, numbered(2));
    plan.pass(30s);
    CHECK(plan.schedule.has_room(numbered(3), plan.now()));
    CHECK(!plan.schedule.knows(numbered(1)));
    plan.update(numbered(3));
    plan.pass(10min);
    CHECK(plan.schedule.has_room(numbered(4), plan.now()));
    CHECK(plan.schedule.knows(numbered(2)));
    CHECK(!plan.schedule.knows(numbered(3)));
    plan.write_all();
    plan.pass(10min);
    CHECK(!plan.take());
    CHECK(plan.schedule.jobs() == 0);
}

TEST_CASE("large reports share a bounded memory", "[schedule]") {
    Plan plan({.large_reports = 100'000});
    const auto large = [&](std::size_t metrics) {
        progress::Report report = plan.report(1);
        report.metrics.assign(metrics, {.name = std::string(64, 'n'), .value = std::string(64, 'v')});
        return report;
    };
    for (int i = 0; i < 4; ++i) plan.update(numbered(i));
    CHECK(plan.submit({.report = large(250)}, numbered(0)) == Reply::accepted);
    CHECK(plan.submit({.report = large(250)}, numbered(1)) == Reply::accepted);
    CHECK(plan.submit({.report = large(250)}, numbered(2)) == Reply::no_room);
    CHECK(plan.submit({.report = large(20)}, numbered(2)) == Reply::accepted);
    CHECK(plan.submit({.report = large(250)}, numbered(1)) == Reply::accepted);  // in place of its own
    CHECK(plan.submit({.report = large(1)}, numbered(1)) == Reply::accepted);
    CHECK(plan.submit({.report = large(250)}, numbered(2)) == Reply::accepted);
    CHECK(plan.submit({.report = large(250)}, numbered(3)) == Reply::no_room);
    const auto write = plan.must_take();
    CHECK(write.job == numbered(0));
    CHECK(plan.submit({.report = large(250)}, numbered(3)) == Reply::no_room);  // the client may repeat it
    plan.store(write);
    CHECK(plan.submit({.report = large(250)}, numbered(3)) == Reply::accepted);
}

TEST_CASE("a report that waits only for the budget is answered at once", "[schedule]") {
    Load load(300, 1000, {.writes_per_second = 3});
    load.run_for(600s);
    CHECK(load.longest_gap(110s) > Schedule::healthy_for);
    CHECK(load.waits == 0);
}

TEST_CASE("a report that waits while no write succeeds is not accepted before it is stored", "[schedule]") {
    Load load(300, 1000, {.writes_per_second = 3});
    load.run_for(200s);
    load.is_away = true;
    load.run_for(Schedule::healthy_for);
    load.waits = 0;
    load.run_for(5s);
    CHECK(load.waits > 250);
    load.is_away = false;
    load.run_for(150s);  // each job is written once
    load.waits = 0;
    load.run_for(300s);
    CHECK(load.waits == 0);
}
