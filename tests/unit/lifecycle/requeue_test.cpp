#include "lifecycle/requeue.hpp"

#include <limits>

#include "objects.hpp"
#include "text.hpp"

namespace lifecycle {

TEST_CASE("backoff doubles from one second to five minutes", "[requeue]") {
    const std::pair<int, std::chrono::seconds> rows[] = {
        {-1, 1s}, {0, 1s},   {1, 1s},    {2, 2s},
        {3, 4s},  {9, 256s}, {10, 300s}, {std::numeric_limits<int>::max(), 300s}};
    for (const auto& [failures, want] : rows) CHECK(backoff(failures) == want);
}

TEST_CASE("the sooner one, neither at once nor beyond a day", "[requeue]") {
    using Maybe = std::optional<std::chrono::seconds>;
    CHECK(sooner({}, {}) == Maybe());
    CHECK(sooner(5s, {}) == Maybe(5s));
    CHECK(sooner({}, 5s) == Maybe(5s));
    CHECK(sooner(7s, 5s) == Maybe(5s));
    CHECK(sooner(0s, 5s) == Maybe(1s));
    CHECK(sooner(std::chrono::seconds::max(), {}) == Maybe(24h));
}

}  // namespace lifecycle
