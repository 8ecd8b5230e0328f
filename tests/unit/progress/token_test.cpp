#include "progress/token.hpp"

#include <catch2/catch.hpp>

#include "support/printers.hpp"
#include "tokens.hpp"

using api::Json;
using progress::bearer_token;
using progress::read_claims;
using namespace std::chrono_literals;

namespace {

const api::ObjectKey job = {.ns = "ns", .name = "job"};
constexpr api::Time now = api::Time(std::chrono::hours(500'000));

Json usual() { return test::claims_of(job, "job-node-0-0-x", "uid-1", now); }

bool is_taken(const Json& claims, api::Time when = now) {
    return read_claims(test::token_of(claims), job, when).has_value();
}

}  // namespace

TEST_CASE("a token is the second of exactly two words of the header", "[token]") {
    const std::pair<const char*, const char*> rows[] = {{"Bearer token", "token"},
                                                        {"bearer token", "token"},
                                                        {"BEARER token", "token"},
                                                        {"Bearer \t token", "token"},
                                                        {"  Bearer token  ", "token"},
                                                        {"", ""},
                                                        {"   ", ""},
                                                        {"Bearer", ""},
                                                        {"Bearer ", ""},
                                                        {"token", ""},
                                                        {"Basic dXNlcjpwYXNz", ""},
                                                        {"Bearerx token", ""},
                                                        {"Bearer token another", ""},
                                                        {"Bear token", ""}};
    for (const auto& [value, wanted] : rows) {
        INFO(value);
        CHECK(bearer_token(value) == wanted);
    }
}

TEST_CASE("the Pod is read from the claims of its token", "[token]") {
    const auto claims = read_claims(test::token_of(usual()), job, now);
    REQUIRE(claims);
    CHECK(claims->pod_name == "job-node-0-0-x");
    CHECK(claims->pod_uid == "uid-1");
    CHECK(claims->expires == now + 1h);
    CHECK(progress::audience_of(job) == "trainer.kubeflow.org/v1alpha1/namespaces/ns/trainjobs/job/status");
}

TEST_CASE("a token for another TrainJob or another use is refused", "[token]") {
    const std::pair<const char*, bool> audiences[] = {
        {R"("trainer.kubeflow.org/v1alpha1/namespaces/ns/trainjobs/job/status")", true},
        {R"(["x", "trainer.kubeflow.org/v1alpha1/namespaces/ns/trainjobs/job/status"])", true},
        {R"("trainer.kubeflow.org/v1alpha1/namespaces/ns/trainjobs/other/status")", false},
        {R"("trainer.kubeflow.org/v1alpha1/namespaces/other/trainjobs/job/status")", false},
        {R"(["https://kubernetes.default.svc"])", false},
        {"[]", false},
        {"null", false},
        {"{}", false}};
    for (const auto& [audience, taken] : audiences) {
        INFO(audience);
        Json claims = usual();
        claims["aud"] = *api::parse_json(audience);
        CHECK(is_taken(claims) == taken);
    }
}

TEST_CASE("a token is valid from a minute before to a minute after its time", "[token]") {
    CHECK(is_taken(usual(), now - 60s));
    CHECK(!is_taken(usual(), now - 61s));
    CHECK(is_taken(usual(), now + 1h + 59s));
    CHECK(!is_taken(usual(), now + 1h + 60s));
    Json claims = usual();
    claims.erase("nbf");
    CHECK(is_taken(claims, now - 24h));
    for (const char* date : {R"("2030")", "null", "-1", "1e300", "[]"}) {
        INFO(date);
        claims["exp"] = *api::parse_json(date);
        CHECK(!is_taken(claims));
    }
    claims = usual();
    claims["nbf"] = "soon";
    CHECK(!is_taken(claims));
    claims["nbf"] = double(now.time_since_epoch().count()) + 0.5;
    CHECK(is_taken(claims));
}

TEST_CASE("a token that is not bound to a Pod of the namespace is refused", "[token]") {
    for (const char* bound :
         {"null", "{}", "[]", R"({"namespace": "ns"})",
          R"({"namespace": "other", "pod": {"name": "p", "uid": "u"}})",
          R"({"namespace": "ns", "pod": {"name": "p"}})", R"({"namespace": "ns", "pod": {"uid": "u"}})",
          R"({"namespace": "ns", "pod": {"name": 1, "uid": "u"}})",
          R"({"pod": {"name": "p", "uid": "u"}})"}) {
        INFO(bound);
        Json claims = usual();
        claims["kubernetes.io"] = *api::parse_json(bound);
        CHECK(!is_taken(claims));
    }
}

TEST_CASE("text that is no JSON web token is refused", "[token]") {
    const std::string good = test::token_of(usual());
    const std::string payload = test::base64url(api::to_json(usual()));
    CHECK(read_claims(good, job, now));
    for (const std::string& token :
         {std::string(), std::string("."), std::string(".."), std::string("a.b"), "a." + payload, payload,
          "a." + payload + ".", "." + payload + ".c", "a." + payload + ".c.d",
          "a." + payload + ".c=", "a!." + payload + ".c", "a.=" + payload + ".c", "a." + payload + "A.c",
          good + " ", good + "\n", std::string("a.e30.c"), std::string("a.bnVsbA.c"),
          "a." + test::base64url("{") + ".c", "a." + test::base64url(std::string(300, '[')) + ".c"}) {
        INFO(token);
        CHECK(!read_claims(token, job, now));
    }
}

TEST_CASE("a token is read up to the maximum size", "[token]") {
    const std::string shortest = test::token_of(usual());
    CHECK(read_claims(shortest + std::string(progress::max_token_bytes - shortest.size(), 'a'), job, now));
    CHECK(
        !read_claims(shortest + std::string(progress::max_token_bytes - shortest.size() + 1, 'a'), job, now));
}
