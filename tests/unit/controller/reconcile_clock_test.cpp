// What ends or deletes a job by the time, and clocks that cannot be relied on.
#include <algorithm>

#include "life.hpp"

namespace controller {
namespace {

// The event server's requests, as "reason: note".
std::vector<std::string> events_of(Life& life) {
    std::vector<std::string> seen;
    for (const std::string& line : life.log_lines) {
        const Json entry = api::parse_json(line).value();
        if (!entry["note"].is_null()) seen.emplace_back(entry["msg"].as_string());
    }
    return seen;
}

struct Limit {
    const char* name;
    std::function<void(Life&)> set_up;  // the limit passes 60 s later
    std::function<bool(Life&)> has_ended;
};

const Limit limits[] = {
    {"a deadline",
     [](Life& life) {
         life.set_in_job("activeDeadlineSeconds", 60);
         life.reconcile();
     },
     [](Life& life) { return life.condition("Failed") == "True/DeadlineExceeded"; }},
    {"a TTL",
     [](Life& life) {
         life.set_in_runtime("runPolicy", Json::object({{"ttlSecondsAfterFinished", 60}}));
         life.reconcile();
         life.finish_job_set();
         life.reconcile();
     },
     [](Life& life) { return life.server.take_writes() == Writes{"DELETE " + job_path}; }}};

}  // namespace

TEST_CASE("a limit ends a job no earlier than the answers of its own live reads allow") {
    for (const Limit& limit : limits) {
        DYNAMIC_SECTION(limit.name) {
            Life life;
            limit.set_up(life);
            life.server.take_writes();
            life.server.now += 59s;
            life.clock_ahead = 1s;
            CHECK(life.reconcile().requeue_after == 1s);
            CHECK_FALSE(limit.has_ended(life));
            life.clock_ahead = 24h;
            life.reconcile();
            CHECK_FALSE(limit.has_ended(life));
            life.server.now += 1s;
            life.clock_ahead = 1s;
            life.reconcile();
            CHECK(limit.has_ended(life));
        }
    }
}

TEST_CASE("a limit ends nothing while the clock is uncertain; one event says so") {
    for (const Limit& limit : limits) {
        DYNAMIC_SECTION(limit.name) {
            Life life;
            limit.set_up(life);
            life.server.take_writes();
            life.log_lines.clear();
            life.clock_is_certain = false;
            life.server.now += 30s;
            life.retry_state = life.reconcile().retry_state;
            CHECK(events_of(life).empty());
            life.server.now += 30s;
            for (int i = 0; i < 3; ++i) {
                const ReconcileResult result = life.reconcile();
                CHECK(result.requeue_after == 10s);
                CHECK_FALSE(result.error);
                life.retry_state = result.retry_state;
                life.server.now += 10s;
            }
            CHECK_FALSE(limit.has_ended(life));
            const auto events = events_of(life);
            CHECK(std::count(events.begin(), events.end(), "ClockUncertain") == 1);
            life.clock_is_certain = true;
            life.retry_state = life.reconcile().retry_state;
            CHECK(limit.has_ended(life));
            CHECK_FALSE(life.retry_state.clock_reported);
        }
    }
}

TEST_CASE("a limit ends nothing by answers without a date") {
    for (const Limit& limit : limits) {
        DYNAMIC_SECTION(limit.name) {
            Life life;
            limit.set_up(life);
            life.server.take_writes();
            life.log_lines.clear();
            life.server.date = [] { return std::optional<api::Time>(); };
            life.server.now += 61s;
            CHECK(life.reconcile().requeue_after == 10s);
            CHECK_FALSE(limit.has_ended(life));
            CHECK(events_of(life) == std::vector<std::string>{"ClockUncertain"});
        }
    }
}

TEST_CASE("an uncertain clock holds up nothing but time limits") {
    Life life;
    life.clock_is_certain = false;
    life.set_in_job("activeDeadlineSeconds", 60);
    life.reconcile();
    CHECK(life.condition("Created") == "True/JobsCreationSucceeded");
    life.server.now += 90s;
    life.finish_job_set();
    life.reconcile();
    CHECK(life.condition("Complete") == "True/AllJobsCompleted");
}

}  // namespace controller
