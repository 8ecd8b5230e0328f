#include "certificate/progress_certificate.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "certificate/shared_secret.hpp"
#include "support/printers.hpp"

using api::Json;
using namespace std::chrono_literals;
using webhook::member_of;
using webhook::ProgressCertificate;
using webhook::set_member;

namespace {

constexpr api::Time start{1'000'000'000s};
constexpr auto day = 24h;
constexpr auto year = 365 * day;
const webhook::ProgressCertificateWishes wishes = {.dns_names = {"a.ns.svc", "a.ns.svc.cluster.local"},
                                                   .lifetime = 90 * day};

// Does what a replica does at that time. Returns whether it wrote.
bool look(Json& secret, api::Time now) {
    const auto made = webhook::renewed(webhook::read_progress_certificate(secret, wishes, now), wishes, now);
    if (made) webhook::store(*made, secret);
    return made.has_value();
}

std::vector<std::string> authorities(const Json& secret) {
    return net::split_certificates(member_of(secret, "ca.crt")).value();
}

bool is_shown_by_one_of(const std::vector<std::string>& trusted, const Json& secret) {
    return std::ranges::any_of(trusted, [&](const std::string& authority) {
        return net::is_issued_by(member_of(secret, "tls.crt"), authority);
    });
}

}  // namespace

TEST_CASE("without a Secret, a CA for ten years and a certificate are created", "[progress-certificate]") {
    Json secret = Json::object();
    CHECK(look(secret, start));
    REQUIRE(authorities(secret).size() == 1);
    const auto of_authority = net::certificate_fields(authorities(secret).front()).value();
    CHECK(of_authority.not_after == start + 10 * year);
    CHECK(net::is_key_of(member_of(secret, "ca.key"), authorities(secret).front()));
    const auto facts = net::certificate_fields(member_of(secret, "tls.crt")).value();
    CHECK(facts.not_after == start + 90 * day);
    CHECK(facts.not_before < start);
    CHECK(facts.dns_names == wishes.dns_names);
    CHECK(is_shown_by_one_of(authorities(secret), secret));
    CHECK_FALSE(look(secret, start + 60 * day - 1s));
}

TEST_CASE("after two thirds of its life a certificate is renewed by the same CA", "[progress-certificate]") {
    Json secret = Json::object();
    look(secret, start);
    const Json before = secret;
    CHECK(look(secret, start + 60 * day));
    CHECK(member_of(secret, "ca.crt") == member_of(before, "ca.crt"));
    CHECK(member_of(secret, "ca.key") == member_of(before, "ca.key"));
    CHECK(member_of(secret, "tls.crt") != member_of(before, "tls.crt"));
    CHECK(is_shown_by_one_of(authorities(before), secret));
}

TEST_CASE("in the last year of a CA a second one is trusted, and used 90 days later",
          "[progress-certificate]") {
    Json secret = Json::object();
    for (api::Time now = start; now < start + 9 * year; now += 60 * day) look(secret, now);
    CHECK(authorities(secret).size() == 1);
    const auto first = authorities(secret);
    look(secret, start + 9 * year);
    REQUIRE(authorities(secret).size() == 2);
    CHECK(authorities(secret).front() == first.front());
    for (api::Time now = start + 9 * year; now < start + 9 * year + 90 * day; now += 10 * day) {
        look(secret, now);
        CHECK(is_shown_by_one_of(first, secret));
    }
    look(secret, start + 9 * year + 200 * day);
    CHECK_FALSE(is_shown_by_one_of(first, secret));
    look(secret, start + 10 * year);
    CHECK(authorities(secret).size() == 1);
}

TEST_CASE("in 25 years no certificate is shown whose CA was not trusted for 90 days before",
          "[progress-certificate]") {
    Json secret = Json::object();
    look(secret, start);
    std::map<std::string, api::Time> trusted_since = {{authorities(secret).front(), start - 90 * day}};
    // A certificate has 30 days left when it is due.
    constexpr auto step = 15 * day;
    for (api::Time now = start; now < start + 25 * year; now += step) {
        if (look(secret, now)) CHECK_FALSE(look(secret, now));
        const auto facts = net::certificate_fields(member_of(secret, "tls.crt")).value();
        CAPTURE((now - start) / day);
        CHECK(facts.not_after > now + step);
        int issuers = 0;
        for (const std::string& authority : authorities(secret)) {
            trusted_since.emplace(authority, now);
            if (!net::is_issued_by(member_of(secret, "tls.crt"), authority)) continue;
            ++issuers;
            CHECK(trusted_since[authority] <= now - 90 * day);
            CHECK(net::certificate_fields(authority)->not_after >= facts.not_after);
        }
        CHECK(issuers == 1);
    }
    CHECK(trusted_since.size() == 3);
}

TEST_CASE("broken members of the Secret are created again, and a CA with its key stays",
          "[progress-certificate]") {
    Json good = Json::object();
    look(good, start);
    Json other = Json::object();
    look(other, start);
    struct Case {
        const char* name;
        const char* member;
        std::string text;
        bool keeps_authority;
    };
    for (const Case& c : {Case{"no certificate", "tls.crt", "", true}, Case{"no key", "tls.key", "", true},
                          Case{"a broken certificate", "tls.crt", "hello", true},
                          Case{"another's key", "tls.key", member_of(other, "tls.key"), true},
                          Case{"a certificate of another CA", "tls.crt", member_of(other, "tls.crt"), true},
                          Case{"no CA", "ca.crt", "", false}, Case{"a broken CA", "ca.crt", "hello", false},
                          Case{"no key of the CA", "ca.key", "", false},
                          Case{"a broken key of the CA", "ca.key", "-----BEGIN PRIVATE KEY-----\n", false},
                          Case{"the key of another CA", "ca.key", member_of(other, "ca.key"), false}}) {
        INFO(c.name);
        Json secret = good;
        set_member(secret, c.member, c.text);
        CHECK(look(secret, start + 1h));
        CHECK((authorities(secret) == authorities(good)) == c.keeps_authority);
        CHECK(is_shown_by_one_of(authorities(secret), secret));
        CHECK_FALSE(look(secret, start + 1h));
    }
    Json renamed = good;
    const webhook::ProgressCertificateWishes others = {.dns_names = {"b.ns.svc"}, .lifetime = 90 * day};
    const auto made =
        webhook::renewed(webhook::read_progress_certificate(renamed, others, start), others, start);
    REQUIRE(made);
    CHECK(net::certificate_fields(made->identity.cert_pem)->dns_names == others.dns_names);
    CHECK(made->authorities.front().cert_pem == authorities(good).front());
}

TEST_CASE("of a Secret with very many CAs the first eight are read", "[progress-certificate]") {
    Json secret = Json::object();
    look(secret, start);
    std::string bundle, keys;
    for (int i = 0; i < 12; ++i) {
        const net::Authority authority = net::make_authority(
            std::to_string(i), {.not_before = start, .not_after = start + 10 * year, .dns_names = {}});
        bundle += authority.cert_pem;
        keys += authority.key_pem;
    }
    set_member(secret, "ca.crt", member_of(secret, "ca.crt") + bundle);
    set_member(secret, "ca.key", member_of(secret, "ca.key") + keys);
    const ProgressCertificate read = webhook::read_progress_certificate(secret, wishes, start + 1h);
    CHECK(read.authorities.size() == ProgressCertificate::most_authorities);
    CHECK(read.identity.cert_pem == member_of(secret, "tls.crt"));
}
