#include "admission/memory_bound.hpp"

#include <catch2/catch.hpp>
#include <fstream>
#include <regex>
#include <sstream>

#include "admission/rationed_server.hpp"
#include "net/server/http_server.hpp"
#include "settings/settings.hpp"
#include "support/places.hpp"

using namespace admission;
using namespace webhook;

namespace {

std::string text_of(const std::string& file) {
    std::ifstream stream(test::source() / file);
    std::stringstream text;
    text << stream.rdbuf();
    return text.str();
}

// Returns 100000 as "100,000".
std::string number(std::size_t value) {
    std::string text = std::to_string(value);
    for (int at = static_cast<int>(text.size()) - 3; at > 0; at -= 3)
        text.insert(static_cast<std::size_t>(at), ",");
    return text;
}

std::string kibibytes(std::size_t bytes) { return std::to_string(bytes >> 10) + " KiB"; }
std::string mebibytes(std::size_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }
std::string megabytes(std::size_t bytes) { return std::to_string((bytes + 500'000) / 1'000'000) + " MB"; }

}  // namespace

TEST_CASE("the documented limits are the compiled ones", "[limits]") {
    const std::string page = text_of("docs/webhook-limits.md");
    const net::ServerLimits server;
    const Settings settings = default_settings();
    const int at_once = share(settings.limits, 1).connections_at_once;
    const admission::RuntimeInformer::Bounds bounds;
    const admission::Ration ration;
    const std::string expected[] = {
        megabytes(memory_bound::base) + " + " + std::to_string(memory_bound::of_connection / 1000) +
            " kB x connections + bytes in flight + " + megabytes(memory_bound::of_runtimes) + " + " +
            megabytes(memory_bound::of_thread) + " x threads",
        megabytes(memory_bound::of_lookups) + " of it are for lookups",
        number(admission::max_review_values) + " values in a review | | 431; 413; 400; 413 |",
        number(max_runtime_values) + " values in a runtime |",
        megabytes(bounds.of_all) + "** of runtimes in namespaces are kept, " +
            megabytes(bounds.of_namespace) + " of each namespace",
        "| for unknown callers " + number(static_cast<std::size_t>(ration.per_second)) + " a second, " +
            number(static_cast<std::size_t>(ration.at_once)) + " saved up;",
        "for " + number(admission::most_reread_runtimes) + " runtimes at a time",
        "| " + kibibytes(admission::lookup_limits::usual_object) + " over " +
            number(admission::lookup_limits::connections) +
            " connections of each thread; larger ones one at a time, up to " +
            mebibytes(admission::lookup_limits::largest_object) + ";",
        mebibytes(admission::lookup_limits::largest_page) + " a page",
        "| " + number(static_cast<std::size_t>(settings.limits.connections_per_source)) + " a second, " +
            number(static_cast<std::size_t>(at_once)) + " saved up; beyond " + number(net::most_sources) +
            " addresses at a time",
        "; a body of " + mebibytes(server.body_bytes) + ";",
        "| " + kibibytes(server.header_bytes) + " of request line and headers,",
        "Small bodies (" + kibibytes(net::ServerLimits::uncounted_bytes) + ",",
    };
    for (const std::string& line : expected) CHECK_THAT(page, Catch::Contains(line));
}

TEST_CASE("the Deployment's memory limit is above the bound of the webhook", "[limits]") {
    const Settings settings = default_settings();
    const std::size_t bound =
        memory_bound::of_process(2, settings.limits.max_connections, settings.limits.total_bytes);
    const std::string page = text_of("docs/webhook-limits.md");
    CHECK_THAT(page, Catch::Contains("the two threads of our Deployment that is " + megabytes(bound)));

    const std::string deployment = text_of("manifests/base/webhook-deployment.yaml");
    std::smatch limit;
    REQUIRE(std::regex_search(deployment, limit,
                              std::regex("memory: (\\d+)Mi  # the bound of docs/webhook-limits.md")));
    const std::size_t granted = std::stoul(limit[1]) << 20;
    CHECK(bound < granted / 20 * 19);
    CHECK_THAT(page, Catch::Contains("fits into its " + limit[1].str() + "Mi"));

    const std::string alerts = text_of("manifests/components/prometheus/alerts.yaml");
    std::smatch threshold;
    REQUIRE(std::regex_search(alerts, threshold,
                              std::regex("job=\"signalbox-webhook\"\\} > (\\d+) \\* 1024 \\* 1024")));
    CHECK(bound < std::stoul(threshold[1]) << 20);
}
