#include "lifecycle/ttl.hpp"

#include <limits>

#include "objects.hpp"
#include "text.hpp"

namespace lifecycle {

TEST_CASE("the TTL counts from the end of the job", "[ttl]") {
    constexpr auto max = std::numeric_limits<std::int64_t>::max();
    struct Case {
        const char* name;
        Observed (*from)();
        std::optional<std::int64_t> ttl;
        std::chrono::seconds elapsed;  // since the end, at start + 30 s
        std::optional<std::chrono::seconds> want;
    };
    const auto ended = [] { return completed(); };
    const auto ended_while_suspended = [] {
        Observed observed = completed();
        observed.job->suspend = true;
        return observed;
    };
    const auto being_deleted = [] {
        Observed observed = completed();
        observed.job->meta.deletion = start;
        return observed;
    };
    const auto not_ours = [] {
        Observed observed = completed();
        observed.job->managed_by = "kueue.x-k8s.io/multikueue";
        return observed;
    };
    const auto copy_of_multikueue = [] {
        Observed observed = completed();
        observed.job->is_multikueue_copy = true;
        return observed;
    };
    const Case cases[] = {
        {"counts down", ended, 60, 20s, 40s},
        {"zero passes at once", ended, 0, 0s, 0s},
        {"stays passed", ended, 60, 1h, 0s},
        {"no TTL, no end", ended, std::nullopt, 1h, std::nullopt},
        {"a negative one means nothing", ended, -1, 1h, std::nullopt},
        {"2^63-1 never passes", ended, max, 1h, std::nullopt},
        {"a running job has none", running, 0, 1h, std::nullopt},
        {"a suspended job has none", suspended, 0, 1h, std::nullopt},
        {"a job that ended while suspended has one", ended_while_suspended, 0, 1h, 0s},
        {"a job that is being deleted has none", being_deleted, 0, 1h, std::nullopt},
        {"somebody else's job has none", not_ours, 0, 1h, std::nullopt},
        {"a worker's copy of MultiKueue has none", copy_of_multikueue, 0, 1h, std::nullopt},
        {"grows when the clock steps back", ended, 60, -1h, 3660s},
    };
    for (const Case& c : cases) DYNAMIC_SECTION(c.name) {
            const Observed observed = c.from();
            CHECK(time_to_live(*observed.job, c.ttl, start + 30s + c.elapsed) == c.want);
            CHECK((ttl_matters(observed) || !c.want));
        }
}

TEST_CASE("the live runtime's policy counts, the snapshot's only when that is gone", "[ttl]") {
    const auto runtime = [](const char* spec) {
        return *api::parse_json(std::string("{\"spec\":") + spec + "}");
    };
    const api::Json none = runtime("{}"), ten = runtime("{\"ttlSecondsAfterFinished\":10}"),
                    twenty = runtime("{\"ttlSecondsAfterFinished\":20}");
    CHECK(ttl_policy(&ten, &twenty) == 10);
    CHECK(ttl_policy(&ten, nullptr) == 10);
    CHECK(ttl_policy(nullptr, &twenty) == 20);
    CHECK(ttl_policy(&none, &twenty) == std::nullopt);
    CHECK(ttl_policy(nullptr, nullptr) == std::nullopt);
    const api::Json negative = runtime("{\"ttlSecondsAfterFinished\":-1}"),
                    text = runtime("{\"ttlSecondsAfterFinished\":\"10\"}");
    CHECK(ttl_policy(&negative, &twenty) == std::nullopt);
    CHECK(ttl_policy(&text, nullptr) == std::nullopt);
}

}  // namespace lifecycle
