#include "kube/client/credential_plugin.hpp"

#include <catch2/catch.hpp>
#include <deque>

#include "kube/client/credentials.hpp"
#include "support/printers.hpp"

using namespace std::chrono_literals;
using Input = kube::ExecPlugin::Input;
using Outcome = kube::Credentials::Outcome;

namespace {

constexpr kube::SteadyTime t0 = kube::SteadyTime(1000h);
constexpr kube::MicroTime ten = std::chrono::sys_days(std::chrono::year(2026) / 1 / 15) + 10h;

std::string answer(const std::string& status) {
    return R"({"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":)" + status +
           "}";
}
std::string token(const std::string& text, const std::string& expires = "") {
    return answer(R"({"token":")" + text + R"(")" +
                  (expires.empty() ? "" : R"(,"expirationTimestamp":")" + expires + R"(")") + "}");
}
std::string certificate(const std::string& name) {
    return answer(R"({"clientCertificateData":"-----BEGIN )" + name + R"(","clientKeyData":"-----BEGIN k"})");
}

// A plugin that prints one text after the other.
struct Fixture {
    std::deque<api::Result<std::string>> prints;
    std::vector<std::string> infos;
    std::vector<bool> interactive;
    kube::MicroTime now = ten;
    kube::ExecPlugin plugin = {.api_version = "client.authentication.k8s.io/v1",
                               .command = "login",
                               .install_hint = "Install it from there."};
    bool terminal = true;

    kube::PluginHost host() {
        return {.run = [this](const kube::ExecPlugin& asked, const std::string& info,
                              bool with_terminal) -> api::Result<std::string> {
                    CHECK(asked.command == "login");
                    infos.push_back(info);
                    interactive.push_back(with_terminal);
                    if (prints.empty()) return api::invalid("", "ended with exit status 1");
                    auto text = std::move(prints.front());
                    prints.pop_front();
                    return text;
                },
                .terminal = terminal,
                .wall = [this] { return now; }};
    }
    kube::Credentials credentials() {
        return kube::Credentials({.host = "h", .port = "1", .ca = {.text = "-----BEGIN ca"}, .exec = plugin},
                                 {}, host());
    }
    std::size_t runs() const { return infos.size(); }
};

}  // namespace

TEST_CASE("a plugin's token is used until it expires", "[kube]") {
    Fixture fixture;
    fixture.prints = {token("t1", "2026-01-15T10:05:00Z"), token("t2")};
    auto credentials = fixture.credentials();
    REQUIRE(credentials.refresh(t0));
    CHECK(credentials.authorization() == "Bearer t1");
    fixture.now = ten + 5min;
    REQUIRE(*credentials.refresh(t0 + 5min) == Outcome::unchanged);
    // A request without an answer does not run it again, unlike for files.
    REQUIRE(*credentials.refresh(t0 + 5min, true) == Outcome::unchanged);
    CHECK(fixture.runs() == 1);
    fixture.now = ten + 5min + 1s;
    // Also shortly after the last check.
    CHECK(*credentials.refresh(t0 + 5min) == Outcome::token_changed);
    CHECK(credentials.authorization() == "Bearer t2");
    fixture.now = ten + 1000h;
    CHECK(*credentials.refresh(t0 + 1000h) == Outcome::unchanged);
    CHECK(fixture.runs() == 2);
}

TEST_CASE("a plugin runs again when the API server rejects its credentials", "[kube]") {
    Fixture fixture;
    fixture.prints = {token("t1"), token("t2"), token("t2")};
    auto credentials = fixture.credentials();
    REQUIRE(credentials.refresh(t0));
    CHECK(*credentials.renew(t0) == Outcome::token_changed);
    CHECK(credentials.authorization() == "Bearer t2");
    CHECK(*credentials.renew(t0) == Outcome::unchanged);
    CHECK(fixture.runs() == 3);
}

TEST_CASE("a plugin's certificate needs a new connection", "[kube]") {
    Fixture fixture;
    fixture.prints = {certificate("one"), certificate("two")};
    auto credentials = fixture.credentials();
    REQUIRE(*credentials.refresh(t0) == Outcome::connection_changed);
    CHECK(credentials.connection().client_cert_pem == "-----BEGIN one");
    CHECK(credentials.connection().client_key_pem == "-----BEGIN k");
    CHECK(credentials.authorization().empty());
    CHECK(*credentials.renew(t0) == Outcome::connection_changed);
    CHECK(credentials.connection().client_cert_pem == "-----BEGIN two");
}

TEST_CASE("while a plugin fails there are no credentials", "[kube]") {
    Fixture fixture;
    fixture.prints = {token("t1", "2026-01-15T10:05:00Z"), api::invalid("", "ended with exit status 1"),
                      token("t2")};
    auto credentials = fixture.credentials();
    REQUIRE(credentials.refresh(t0));
    CHECK(!credentials.missing());
    fixture.now = ten + 6min;
    const auto failed = credentials.refresh(t0 + 6min);
    REQUIRE(failed.has_error());
    REQUIRE(credentials.missing());
    CHECK(credentials.missing()->message == "the credential plugin login ended with exit status 1");
    CHECK(credentials.missing()->code == api::Errc::invalid);
    CHECK(*credentials.refresh(t0 + 6min) == Outcome::token_changed);
    CHECK(!credentials.missing());
}

TEST_CASE("a missing plugin is an error with its install hint", "[kube]") {
    Fixture fixture;
    const api::Error not_there = {.code = api::Errc::not_found, .message = "was not found"};
    fixture.prints = {not_there, not_there};
    CHECK(fixture.credentials().refresh(t0).error().message ==
          "the credential plugin login was not found; Install it from there.");
    fixture.plugin.install_hint.clear();
    CHECK(fixture.credentials().refresh(t0).error().message ==
          "the credential plugin login was not found; install it, or correct the PATH");
}

TEST_CASE("a plugin may use the terminal if it is allowed and there is one", "[kube]") {
    struct Case {
        Input input;
        bool terminal;
        const char* want;
    };
    const Case cases[] = {
        {Input::never, true, "no"},
        {Input::never, false, "no"},
        {Input::if_available, true, "yes"},
        {Input::if_available, false, "no"},
        {Input::always, true, "yes"},
        {Input::always, false,
         "the credential plugin login needs a terminal (interactiveMode: Always), and standard input is "
         "none"},
    };
    for (const Case& c : cases) {
        CAPTURE(static_cast<int>(c.input), c.terminal);
        Fixture fixture;
        fixture.plugin.input = c.input;
        fixture.terminal = c.terminal;
        fixture.prints = {token("t")};
        const auto got = fixture.credentials().refresh(t0);
        if (got) {
            const bool given = fixture.interactive.at(0);
            CHECK(std::string(given ? "yes" : "no") == c.want);
            CHECK_THAT(fixture.infos.at(0),
                       Catch::Contains(given ? "\"interactive\":true" : "\"interactive\":false"));
        } else {
            CHECK(got.error().message == c.want);
            CHECK(fixture.runs() == 0);
        }
    }
}

TEST_CASE("a plugin that requires it gets the CA of the cluster", "[kube]") {
    Fixture fixture;
    fixture.plugin.cluster = api::Json::object({{"server", "https://h:1"}});
    fixture.prints = {token("t")};
    REQUIRE(fixture.credentials().refresh(t0));
    CHECK_THAT(fixture.infos.at(0),
               Catch::Contains("\"certificate-authority-data\":\"LS0tLS1CRUdJTiBjYQ==\""));
}

TEST_CASE("a program without support for plugins refuses them", "[kube]") {
    Fixture fixture;
    kube::Credentials credentials({.host = "h", .port = "1", .exec = fixture.plugin});
    CHECK(credentials.refresh(t0).error().message ==
          "the credential plugin login is not run by this program");
}

TEST_CASE("the name, groups and more of an impersonated user become headers", "[kube]") {
    const kube::Credentials credentials(
        {.host = "h",
         .port = "1",
         .as = {.user = "a", .uid = "7", .groups = {"g", "h"}, .extra = {{"ex.org/sc%", {"x", "y"}}}}});
    CHECK(credentials.impersonation() == net::Headers{{"Impersonate-User", "a"},
                                                      {"Impersonate-Uid", "7"},
                                                      {"Impersonate-Group", "g"},
                                                      {"Impersonate-Group", "h"},
                                                      {"Impersonate-Extra-ex.org%2Fsc%25", "x"},
                                                      {"Impersonate-Extra-ex.org%2Fsc%25", "y"}});
    CHECK(kube::Credentials({.host = "h", .port = "1"}).impersonation().empty());
}
