#include "kube/client/credentials.hpp"

#include <catch2/catch.hpp>
#include <map>

#include "support/printers.hpp"

using namespace std::chrono_literals;
using Outcome = kube::Credentials::Outcome;

namespace Catch {
template <>
struct StringMaker<Outcome> {
    static std::string convert(Outcome outcome) { return std::to_string(static_cast<int>(outcome)); }
};
}  // namespace Catch

namespace {

const kube::SteadyTime t0 = kube::SteadyTime(1000h);

std::string pem(const std::string& what) {
    return "-----BEGIN CERTIFICATE-----\n" + what + "\n-----END CERTIFICATE-----\n";
}

struct Fixture {
    std::map<std::string, std::string> files = {
        {"ca", pem("ca1")}, {"cert", pem("c1")}, {"key", pem("k1")}, {"token", "t1\n"}};
    int reads = 0;
    kube::Credentials credentials{{.host = "h",
                                   .port = "1",
                                   .base_path = "/p",
                                   .server_name = "s",
                                   .ca = {.file = "ca"},
                                   .client_cert = {.file = "cert"},
                                   .client_key = {.file = "key"},
                                   .token = {.file = "token"}},
                                  [this](const std::string& path) -> api::Result<std::string> {
                                      ++reads;
                                      if (files.contains(path)) return files[path];
                                      return api::Error{.code = api::Errc::not_found,
                                                        .message = path + " does not exist"};
                                  }};
};

}  // namespace

TEST_CASE("credentials are read from files repeatedly", "[kube]") {
    Fixture fixture;
    auto& credentials = fixture.credentials;
    REQUIRE(*credentials.refresh(t0) == Outcome::connection_changed);
    CHECK(credentials.authorization() == "Bearer t1");
    CHECK(credentials.connection().ca_pem == pem("ca1"));
    CHECK(credentials.connection().client_cert_pem == pem("c1"));
    CHECK(credentials.connection().client_key_pem == pem("k1"));
    CHECK(credentials.connection().host == "h");
    CHECK(credentials.connection().server_name == "s");
    CHECK(fixture.reads == 4);

    fixture.files["token"] = "t2";
    SECTION("not at every request") {
        CHECK(*credentials.refresh(t0 + 29s) == Outcome::unchanged);
        CHECK(fixture.reads == 4);
        CHECK(credentials.authorization() == "Bearer t1");
    }
    SECTION("but within a minute") {
        CHECK(*credentials.refresh(t0 + 30s) == Outcome::token_changed);
        CHECK(credentials.authorization() == "Bearer t2");
        CHECK(*credentials.refresh(t0 + 60s) == Outcome::unchanged);
    }
    SECTION("or at once when a check is forced") {
        CHECK(*credentials.refresh(t0, true) == Outcome::token_changed);
    }
    SECTION("new certificates need new connections") {
        fixture.files[GENERATE("ca", "cert", "key")] = pem("new");
        CHECK(*credentials.refresh(t0, true) == Outcome::connection_changed);
    }
    SECTION("a file that cannot be read leaves the former credentials in use") {
        const std::string file = GENERATE("ca", "cert", "key", "token");
        fixture.files.erase(file);
        const auto outcome = credentials.refresh(t0, true);
        REQUIRE(outcome.has_error());
        CHECK_THAT(outcome.error().message, Catch::Contains(file));
        CHECK(credentials.authorization() == "Bearer t1");
        CHECK(credentials.connection().ca_pem == pem("ca1"));
    }
}

TEST_CASE("invalid credentials are refused without showing them", "[kube]") {
    Fixture fixture;
    struct Case {
        const char* file;
        const char* text;
        const char* want;
    };
    const Case cases[] = {
        {"ca", "hello", "ca holds no PEM block"},
        {"key", "", "key holds no PEM block"},
        {"token", "", "the token in token is empty"},
        {"token", "s3cret\r\nX-Evil: 1", "the token in token contains blanks"},
        {"token", "s3cret s3cret", "the token in token contains blanks"},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.want) {
            fixture.files[c.file] = c.text;
            const auto outcome = fixture.credentials.refresh(t0);
            REQUIRE(outcome.has_error());
            CHECK_THAT(outcome.error().message, Catch::Contains(c.want) && !Catch::Contains("s3cret"));
        }
    }
}

TEST_CASE("no credentials at all", "[kube]") {
    kube::Credentials credentials({.host = "h", .port = "1", .tls = false});
    CHECK(*credentials.refresh(t0) == Outcome::unchanged);
    CHECK(credentials.authorization().empty());
}
