#include "lifecycle/deadline.hpp"

#include <limits>

#include "objects.hpp"
#include "text.hpp"

namespace lifecycle {
namespace {

constexpr auto max = std::numeric_limits<std::int64_t>::max();

void suspend_condition(api::TrainJob& job, const char* status, std::chrono::seconds at) {
    job.conditions.push_back(condition("Suspended", status, "Any", start + at));
}

}  // namespace

TEST_CASE("the deadline counts from creation or the last resume", "[deadline]") {
    struct Case {
        const char* name;
        void (*change)(api::TrainJob&);
        std::chrono::seconds elapsed;
        std::optional<std::chrono::seconds> want;
    };
    const Case cases[] = {
        {"counts down", [](auto&) {}, 20s, 40s},
        {"is not reached a second before", [](auto&) {}, 59s, 1s},
        {"is zero when it is reached", [](auto&) {}, 60s, 0s},
        {"stays zero", [](auto&) {}, 1h, 0s},
        {"needs a limit", [](auto& j) { j.active_deadline_seconds.reset(); }, 1h, std::nullopt},
        {"ignores a limit of zero", [](auto& j) { j.active_deadline_seconds = 0; }, 1h, std::nullopt},
        {"ignores a negative limit", [](auto& j) { j.active_deadline_seconds = -5; }, 1h, std::nullopt},
        {"is off while the spec says suspended", [](auto& j) { j.suspend = true; }, 1h, std::nullopt},
        {"is off while the status says suspended", [](auto& j) { suspend_condition(j, "True", 10s); }, 1h,
         std::nullopt},
        {"counts from the resume", [](auto& j) { suspend_condition(j, "False", 1h); }, 1h + 20s, 40s},
        {"is off after the next suspension",
         [](auto& j) {
             suspend_condition(j, "False", 1h);
             j.suspend = true;
         },
         2h, std::nullopt},
        {"grows when the clock steps back", [](auto&) {}, -1h, 3660s},
        {"passes when the clock steps forward", [](auto&) {}, 1h, 0s},
        {"never comes at 2^63-1", [](auto& j) { j.active_deadline_seconds = max; }, 1h, std::nullopt},
        {"never comes at 2^63-1 from a resume",
         [](auto& j) {
             j.active_deadline_seconds = max;
             suspend_condition(j, "False", 10s);
         },
         1h, std::nullopt},
        {"comes late at 2^62", [](auto& j) { j.active_deadline_seconds = max / 2 + 1; }, 0s,
         std::chrono::seconds(max / 2 + 1)},
        {"does not overflow for a creation before 1970",
         [](auto& j) {
             j.meta.creation = api::Time(-100s);
             j.active_deadline_seconds = max;
         },
         0s, std::chrono::seconds(max - 100 - start.time_since_epoch().count())},
    };
    for (const Case& c : cases) DYNAMIC_SECTION(c.name) {
            api::TrainJob job = *with_deadline(running()).job;
            c.change(job);
            CHECK(time_left(job, start + c.elapsed) == c.want);
        }
}

}  // namespace lifecycle
