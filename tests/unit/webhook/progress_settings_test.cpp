#include "settings/progress_settings.hpp"

#include <catch2/catch.hpp>

#include "settings/settings.hpp"
#include "support/printers.hpp"

using webhook::Services;

namespace {

// Returns "ok" or the error.
std::string start_with(std::vector<const char*> arguments) {
    webhook::Settings settings = webhook::default_settings();
    net::Options options("signalbox-webhook", "Serves.", "1");
    webhook::add_options(options, settings);
    if (const auto parsed = options.parse(arguments); !parsed) return parsed.error().message;
    if (const auto valid = webhook::check_services(options, settings.services); !valid)
        return valid.error().message;
    const auto valid = webhook::check(settings);
    return valid ? "ok" : valid.error().message;
}

}  // namespace

TEST_CASE("the services are admission, progress or both", "[settings]") {
    const std::pair<const char*, Services> rows[] = {{"admission", {true, false}},
                                                     {"progress", {false, true}},
                                                     {"admission,progress", {true, true}},
                                                     {"progress,admission", {true, true}}};
    for (const auto& [text, wanted] : rows) {
        CAPTURE(text);
        Services services;
        CHECK(read_option(text, services));
        CHECK(services == wanted);
    }
    for (const char* text : {"", ",", "admision", "all", "progress progress"}) {
        CAPTURE(text);
        Services services = {false, true};
        CHECK(!read_option(text, services));
        CHECK(services == Services{false, true});
    }
    CHECK(show_option(Services()) == "admission");
    CHECK(show_option(Services{true, true}) == "admission,progress");
}

TEST_CASE("options of a service that is not started are errors", "[settings]") {
    using Arguments = std::vector<const char*>;
    const char *cert = "--tls-cert=a", *key = "--tls-key=b";
    const char *progress_cert = "--progress-tls-cert=c", *progress_key = "--progress-tls-key=d";
    const char *made = "--progress-cert-secret=ns/a", *service = "--progress-service=ns/b";
    const std::pair<Arguments, std::string> rows[] = {
        {{cert, key}, "ok"},
        {{cert, key, "--serve=admission"}, "ok"},
        {{cert, key, "--progress-interval=5s"},
         "--progress-interval is for progress, which --serve leaves out"},
        {{"--serve=progress", progress_cert, progress_key}, "ok"},
        {{"--serve=progress", progress_cert, progress_key, "--max-connections=2048"}, "ok"},
        {{"--serve=progress", progress_cert, progress_key, "--namespaces=a"}, "ok"},
        {{"--serve=progress", progress_cert, progress_key, cert},
         "--tls-cert is for admission, which --serve leaves out"},
        {{"--serve=progress", progress_cert, progress_key, "--threads=2"},
         "--threads is for admission, which --serve leaves out"},
        {{"--serve=progress", progress_cert, progress_key, "--source-rate=2"},
         "--source-rate is for admission, which --serve leaves out"},
        {{"--serve=admission,progress", cert, key, progress_cert, progress_key}, "ok"},
        {{"--serve=progress", made, service, "--cert-lifetime=1h"}, "ok"},
        {{cert, key, made}, "--progress-cert-secret is for progress, which --serve leaves out"},
        {{cert, key, service}, "--progress-service is for progress, which --serve leaves out"},
    };
    for (const auto& [arguments, wanted] : rows) CHECK(start_with(arguments) == wanted);
}

TEST_CASE("invalid settings of progress are refused with the option's name", "[settings]") {
    const std::pair<const char*, const char*> rows[] = {
        {"--progress-tls-cert=", "--progress-tls-cert is missing"},
        {"--progress-tls-key=", "--progress-tls-key is missing"},
        {"--progress-interval=999ms", "--progress-interval must be at least 1s"},
        {"--progress-writes-per-second=0", "--progress-writes-per-second must be more than 0"},
        {"--progress-bytes-per-second=1000", "--progress-bytes-per-second must be at least 1Ki"},
        {"--progress-jobs=0", "--progress-jobs must be at least 1"},
        {"--progress-source-rate=-1", "--progress-source-rate=-1: must be a number of at least 0"},
    };
    for (const auto& [argument, wanted] : rows)
        CHECK_THAT(
            start_with({"--serve=progress", "--progress-tls-cert=c", "--progress-tls-key=d", argument}),
            Catch::StartsWith(wanted));
}

TEST_CASE("the certificate for progress is read from files, or created and stored in a Secret",
          "[settings]") {
    const char *cert = "--progress-tls-cert=c", *key = "--progress-tls-key=d";
    const char *secret = "--progress-cert-secret=ns/a", *service = "--progress-service=ns/b";
    const std::pair<std::vector<const char*>, std::string> rows[] = {
        {{cert, key}, "ok"},
        {{secret, service}, "ok"},
        {{secret, service, cert}, "leave one of the two away"},
        {{secret, service, key}, "leave one of the two away"},
        {{secret}, "--progress-service is missing"},
        {{service, cert, key}, "--progress-cert-secret is missing"},
        {{key}, "--progress-tls-cert is missing"},
        {{}, "--progress-cert-secret to have them made"}};
    for (auto [arguments, wanted] : rows) {
        arguments.push_back("--serve=progress");
        CHECK_THAT(start_with(arguments), Catch::Contains(wanted));
    }
}

TEST_CASE("the server of reports takes small bodies quickly, and has a rate of connections of its own",
          "[settings]") {
    using namespace std::chrono_literals;
    const webhook::ProgressSettings settings = {.source_rate = 7};
    const net::ServerLimits process = {
        .max_connections = 100, .body_timeout = 20s, .idle_timeout = 3s, .connections_per_source = 50};
    const net::ServerLimits limits = webhook::report_limits(settings, process);
    CHECK(limits.body_bytes == 64 * 1024);
    CHECK(limits.body_timeout == 10s);
    CHECK(limits.connections_per_source == 7);
    CHECK(limits.kept_connections == 75);
    CHECK(limits.max_connections == 100);
    CHECK(limits.idle_timeout == 3s);
    CHECK(webhook::report_limits(settings, {.body_timeout = 4s}).body_timeout == 4s);
}
