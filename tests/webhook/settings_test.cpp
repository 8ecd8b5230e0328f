#include "settings.hpp"

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

TEST_CASE("settings that make no sense are refused with the option's name", "[settings]") {
    struct Case {
        const char* name;
        void (*change)(webhook::Settings&);
        std::string want;  // in the message; empty: fine
    };
    const Case cases[] = {
        {"defaults with a certificate", [](auto&) {}, ""},
        {"no certificate", [](auto& s) { s.tls_cert.clear(); }, "--tls-cert is missing"},
        {"no key", [](auto& s) { s.tls_key.clear(); }, "--tls-key is missing"},
        {"no thread", [](auto& s) { s.threads = 0; }, "--threads must be from 1 to 256"},
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

TEST_CASE("every option sets what it names", "[settings]") {
    webhook::Settings settings;
    net::Options options("signalbox-webhook", "", "0");
    add_options(options, settings);
    const char* const arguments[] = {"--kubeconfig=k", "--listen=127.0.0.1:1", "--tls-cert=c",
                                     "--tls-key=y",    "--client-ca=a",        "--admin-listen=:2",
                                     "--threads=3",    "--log-level=debug",    "--log-format=text"};
    REQUIRE(options.parse(arguments));
    CHECK(settings.kubeconfig == "k");
    CHECK(settings.listen == net::HostPort{"127.0.0.1", 1});
    CHECK(settings.tls_cert == "c");
    CHECK(settings.tls_key == "y");
    CHECK(settings.client_ca == "a");
    CHECK(settings.admin_listen.port == 2);
    CHECK(settings.threads == 3);
    CHECK(settings.log_level == net::LogLevel::debug);
    CHECK(settings.log_format == net::LogFormat::text);
}
