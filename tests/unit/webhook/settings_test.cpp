#include "settings/settings.hpp"

#include <catch2/catch.hpp>

#include "support/printers.hpp"

namespace {

webhook::Settings valid() {
    webhook::Settings settings = webhook::default_settings();
    settings.tls_cert = "tls.crt";
    settings.tls_key = "tls.key";
    return settings;
}

}  // namespace

TEST_CASE("invalid settings are refused with the option's name", "[settings]") {
    struct Case {
        const char* name;
        void (*change)(webhook::Settings&);
        std::string want;  // in the message; empty: valid
    };
    const Case cases[] = {
        {"defaults with a certificate", [](auto&) {}, ""},
        {"no certificate", [](auto& s) { s.tls_cert.clear(); }, "--tls-cert is missing"},
        {"no key", [](auto& s) { s.tls_key.clear(); }, "--tls-key is missing"},
        {"no thread", [](auto& s) { s.threads = 0; }, "--threads must be from 1 to 256"},
        {"more threads than connections", [](auto& s) { s.threads = 3, s.limits.max_connections = 2; },
         "--max-connections must be at least one per thread, 3"},
        {"no room for a body", [](auto& s) { s.limits.total_bytes = 7'000'000; }, "--max-bytes-in-flight"},
        {"no time for headers", [](auto& s) { s.limits.header_timeout = {}; }, "--header-timeout must be"},
        {"an endless shutdown", [](auto& s) { s.shutdown_delay = std::chrono::hours(1); },
         "--shutdown-delay"},
        {"only suites of TLS 1.2 without TLS 1.2",
         [](auto& s) {
             s.tls = {.min_version = net::TlsVersion::v1_3,
                      .suites = {{"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"}}};
         },
         "--tls-cipher-suites has suites of TLS 1.2 only"},
        {"an address of secure metrics without them", [](auto& s) { s.metrics.listen.port = 9090; },
         "--metrics-listen is for --metrics-secure"},
        {"files and self-signed", [](auto& s) { s.self_signed = true; }, "leave one of the two away"},
        {"self-signed",
         [](auto& s) {
             s.tls_cert = s.tls_key = "";
             s.self_signed = true;
             s.cert_secret = s.service = {"ns", "name"};
         },
         ""},
        {"self-signed without a secret",
         [](auto& s) {
             s.tls_cert = s.tls_key = "";
             s.self_signed = true;
             s.service = {"ns", "name"};
         },
         "--cert-secret is missing"},
        {"self-signed without a service",
         [](auto& s) {
             s.tls_cert = s.tls_key = "";
             s.self_signed = true;
             s.cert_secret = {"ns", "name"};
         },
         "--service is missing"},
        {"a short life", [](auto& s) { s.cert_lifetime = std::chrono::seconds(29); }, "--cert-lifetime"},
        {"a gate that there is not",
         [](auto& s) {
             s.feature_gates = {{"TrainJobStats", true}};
         },
         "TrainJobStats"},
        {"users without an audience", [](auto& s) { s.token_users = "alice"; },
         "--token-audience is missing"},
        {"tokens of no account",
         [](auto& s) {
             s.token_audience = "webhook";
             s.token_users = ",";
         },
         "--token-users names no user"},
        {"too many threads", [](auto& s) { s.threads = 257; }, "--threads"},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) {
            auto settings = valid();
            c.change(settings);
            const auto checked = check(settings);
            CHECK(checked.has_value() == c.want.empty());
            if (!checked) CHECK_THAT(checked.error().message, Catch::Contains(c.want));
        }
    }
}

TEST_CASE("every option sets the setting of its name", "[settings]") {
    webhook::Settings settings;
    net::Options options("signalbox-webhook", "", "0");
    add_options(options, settings);
    const char* const arguments[] = {"--kubeconfig=k",
                                     "--listen=127.0.0.1:1",
                                     "--tls-cert=c",
                                     "--tls-key=y",
                                     "--client-ca=a",
                                     "--token-audience=w",
                                     "--token-users=x,y",
                                     "--admin-listen=:2",
                                     "--threads=3",
                                     "--log-level=debug",
                                     "--log-format=text",
                                     "--max-connections=7",
                                     "--max-bytes-in-flight=9",
                                     "--source-rate=8",
                                     "--handshake-timeout=1s",
                                     "--header-timeout=2s",
                                     "--body-timeout=3s",
                                     "--write-timeout=4s",
                                     "--idle-timeout=5s",
                                     "--shutdown-delay=6s",
                                     "--self-signed",
                                     "--cert-secret=a/b",
                                     "--service=c/d",
                                     "--cert-lifetime=1h",
                                     "--lossy-clients=p,q",
                                     "--feature-gates=TrainJobStatus=true",
                                     "--accelerators=acme.com/npu=device",
                                     "--accelerators=acme.com/npu-memory=share",
                                     "--gang-schedulers=volcano=volcano"};
    REQUIRE(options.parse(arguments));
    CHECK(settings.kubeconfig == "k");
    CHECK(settings.listen == net::HostPort{"127.0.0.1", 1});
    CHECK(settings.tls_cert == "c");
    CHECK(settings.tls_key == "y");
    CHECK(settings.client_ca == "a");
    CHECK(settings.token_audience == "w");
    CHECK(settings.token_users == "x,y");
    CHECK(settings.admin_listen.port == 2);
    CHECK(settings.threads == 3);
    CHECK(settings.limits.max_connections == 7);
    CHECK(settings.limits.total_bytes == 9);
    CHECK(settings.limits.connections_per_source == 8);
    CHECK(settings.limits.handshake_timeout == std::chrono::seconds(1));
    CHECK(settings.limits.header_timeout == std::chrono::seconds(2));
    CHECK(settings.limits.body_timeout == std::chrono::seconds(3));
    CHECK(settings.limits.write_timeout == std::chrono::seconds(4));
    CHECK(settings.limits.idle_timeout == std::chrono::seconds(5));
    CHECK(settings.shutdown_delay == std::chrono::seconds(6));
    CHECK(settings.self_signed);
    CHECK(settings.cert_secret == api::ObjectKey{"a", "b"});
    CHECK(settings.service == api::ObjectKey{"c", "d"});
    CHECK(settings.cert_lifetime == std::chrono::hours(1));
    CHECK(settings.lossy_clients == "p,q");
    CHECK(settings.log_level == net::LogLevel::debug);
    CHECK(settings.log_format == net::LogFormat::text);
    CHECK(admission::features_of(settings.feature_gates).status_server);
    CHECK_FALSE(admission::features_of({}).status_server);
    CHECK(settings.gang_schedulers == runtime::GangSchedulers{.volcano = "volcano"});
    CHECK(runtime::show_option(settings.accelerators) == "acme.com/npu=device,acme.com/npu-memory=share");
}

TEST_CASE("threads share the limits of the process", "[settings]") {
    net::ServerLimits limits;
    limits.max_connections = 100;
    limits.total_bytes = 16 * 1024 * 1024;
    CHECK(webhook::share(limits, 1).max_connections == 100);
    CHECK(webhook::share(limits, 2).max_connections == 50);
    CHECK(webhook::share(limits, 2).total_bytes == 8 * 1024 * 1024);
    // Every thread can take the largest body.
    CHECK(webhook::share(limits, 4).total_bytes == limits.body_bytes);

    limits = webhook::default_settings().limits;
    CHECK(webhook::share(limits, 1).connections_per_source == 100);
    CHECK(webhook::share(limits, 1).connections_at_once == 500);
    CHECK(webhook::share(limits, 4).connections_per_source == 25);
    CHECK(webhook::share(limits, 4).connections_at_once == 125);
    CHECK(webhook::share(limits, 50).connections_at_once == 50);
    limits.connections_per_source = 0;
    CHECK(webhook::share(limits, 2).connections_per_source == 0);
}

TEST_CASE("users are separated by commas", "[settings]") {
    const std::pair<const char*, std::set<std::string>> cases[] = {
        {"", {}},
        {"a", {"a"}},
        {"a,b", {"a", "b"}},
        {",a,,b,", {"a", "b"}},
        {"system:serviceaccount:x:y", {"system:serviceaccount:x:y"}}};
    for (const auto& [text, want] : cases) {
        CAPTURE(text);
        webhook::Settings settings;
        settings.token_users = text;
        CHECK(webhook::auth_policy(settings).users == want);
        settings.lossy_clients = text;
        const auto& lossy = webhook::review_policy(settings).lossy_clients;
        CHECK(std::set<std::string>(lossy.begin(), lossy.end()) == want);
    }
}

TEST_CASE("Kueue is a lossy client unless an option says otherwise", "[settings]") {
    const admission::ReviewPolicy policy = webhook::review_policy({});
    CHECK(policy.lossy_clients.contains("system:serviceaccount:kueue-system:kueue-controller-manager"));
}
