#include "kube/client/status.hpp"

#include <catch2/catch.hpp>

#include "support/printers.hpp"

using api::Errc;

namespace {

api::Error error(int status, std::string body, net::Headers headers = {}) {
    return kube::error_from({.status = status, .headers = std::move(headers), .body = std::move(body)});
}

std::string status(int code, const std::string& reason, const std::string& message,
                   const std::string& details = "{}") {
    return R"({"kind":"Status","apiVersion":"v1","status":"Failure","code":)" + std::to_string(code) +
           R"(,"reason":")" + reason + R"(","message":")" + message + R"(","details":)" + details + "}";
}

}  // namespace

TEST_CASE("every status has an error code", "[kube]") {
    struct Case {
        int status;
        Errc want;
    };
    const Case cases[] = {
        {400, Errc::invalid},     {401, Errc::unauthorized}, {403, Errc::forbidden},
        {404, Errc::not_found},   {405, Errc::invalid},      {408, Errc::unavailable},
        {409, Errc::conflict},    {410, Errc::gone},         {413, Errc::invalid},
        {415, Errc::invalid},     {422, Errc::invalid},      {429, Errc::unavailable},
        {500, Errc::unavailable}, {502, Errc::unavailable},  {503, Errc::unavailable},
        {504, Errc::unavailable}, {302, Errc::internal},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION("HTTP " << c.status) {
            for (const std::string& body :
                 {std::string(), status(c.status, "Some", "why"), std::string("<html>")}) {
                const auto got = error(c.status, body);
                CHECK(got.code == c.want);
                CHECK(got.http_status == c.status);
                CHECK(!got.message.empty());
            }
        }
    }
}

TEST_CASE("AlreadyExists for a create is a conflict", "[kube]") {
    const auto taken = error(
        422,
        status(
            422, "Invalid",
            "jobsets \\\"a\\\" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified",
            R"({"causes":[{"reason":"FieldValueInvalid","field":"metadata.resourceVersion","message":"Invalid value: 0: must be specified"}]})"));
    CHECK(taken.code == Errc::conflict);
    CHECK(taken.http_status == 422);
    const auto other =
        R"({"causes":[{"reason":"FieldValueInvalid","field":"metadata.name","message":"no"}]})";
    CHECK(error(422, status(422, "Invalid", "no", other)).code == Errc::invalid);
}

TEST_CASE("the server's message is kept", "[kube]") {
    SECTION("message and reason") {
        const auto got = error(409, status(409, "AlreadyExists", "jobsets \\\"x\\\" already exists"));
        CHECK(got.message == "jobsets \"x\" already exists");
        CHECK(got.reason == "AlreadyExists");
        CHECK(got.field.empty());
    }
    SECTION("causes that the message does not name") {
        const auto got = error(
            422,
            status(
                422, "Invalid", "x is invalid: spec.a: Required value",
                R"({"causes":[{"field":"spec.a","message":"Required value"},{"field":"spec.b","message":"too long"},{"message":"odd"},{}]})"));
        CHECK(got.message == "x is invalid: spec.a: Required value; spec.b: too long; odd");
    }
    SECTION("a Status without a message") {
        CHECK(error(500, status(500, "InternalError", "")).message == "InternalError");
    }
    SECTION("a body that is no Status is quoted and cut") {
        CHECK(error(404, "404 page not found\n").message == "HTTP status 404: 404 page not found");
        CHECK(error(502, "").message == "HTTP status 502");
        CHECK(error(502, "a\x01\r\nb").message == "HTTP status 502: a   b");
        CHECK(error(502, std::string(5000, 'x')).message.size() < 600);
        CHECK(error(400, R"({"kind":"Other","message":"x"})").message.find("Other") != std::string::npos);
    }
    SECTION("a Status of unexpected shape") {
        const auto got =
            error(403, R"({"kind":"Status","code":"x","message":7,"details":{"causes":[1,null,"x"]}})");
        CHECK(got.code == Errc::forbidden);
    }
}

TEST_CASE("Retry-After is honoured", "[kube]") {
    using std::chrono::seconds;
    struct Case {
        const char* name;
        net::Headers headers;
        std::string body;
        std::optional<seconds> want;
    };
    const std::string seven = status(429, "TooManyRequests", "slow", R"({"retryAfterSeconds":7})");
    const Case cases[] = {
        {"neither", {}, "", {}},
        {"header", {{"retry-after", "3"}}, "", seconds(3)},
        {"details", {}, seven, seconds(7)},
        {"header before details", {{"Retry-After", "3"}}, seven, seconds(3)},
        {"a date is not understood", {{"Retry-After", "Wed, 21 Oct 2026 07:28:00 GMT"}}, seven, seconds(7)},
        {"negative", {{"Retry-After", "-1"}}, "", {}},
        {"absurd", {{"Retry-After", "99999999999"}}, "", seconds(60)},
        {"not a number", {{"Retry-After", "99999999999999999999999"}}, "", {}},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) { CHECK(error(429, c.body, c.headers).retry_after == c.want); }
    }
}

TEST_CASE("refusals with the same status are distinguished", "[kube]") {
    const auto rbac = error(
        403, status(403, "Forbidden",
                    "jobsets.jobset.x-k8s.io is forbidden: User \\\"u\\\" cannot create resource "
                    "\\\"jobsets\\\" in API group \\\"jobset.x-k8s.io\\\" in the namespace \\\"ns\\\""));
    const auto quota = error(
        403,
        status(403, "Forbidden", "jobsets \\\"x\\\" is forbidden: exceeded quota: q, requested: pods=1"));
    const auto terminating = error(
        403,
        status(
            403, "Forbidden", "x is forbidden: namespace ns is being terminated",
            R"({"causes":[{"reason":"NamespaceTerminating","field":"metadata.namespace","message":"namespace ns is being terminated"}]})"));
    CHECK(kube::is_missing_permission(rbac));
    CHECK(!kube::is_missing_permission(quota));
    CHECK(!kube::missing_permission(terminating));
    CHECK(!kube::is_missing_permission(terminating));
    CHECK(kube::is_namespace_terminating(terminating));
    CHECK(!kube::is_namespace_terminating(rbac));
    CHECK(!kube::is_transient(quota));

    const auto future = error(
        504,
        status(
            504, "Timeout", "Too large resource version: 9, current: 3",
            R"({"causes":[{"reason":"ResourceVersionTooLarge","message":"Too large resource version"}],"retryAfterSeconds":1})"));
    CHECK(kube::is_too_large_resource_version(future));
    CHECK(kube::is_transient(future));
    CHECK(!kube::is_too_large_resource_version(error(504, status(504, "Timeout", "slow"))));
    CHECK(error(400, status(400, "Expired", "old")).code == Errc::gone);
}

TEST_CASE("warnings are read from their headers", "[kube]") {
    struct Case {
        const char* name;
        net::Headers headers;
        std::vector<std::string> want;
    };
    const Case cases[] = {
        {"none", {{"Content-Type", "x"}, {"X-Warning", "299 - \"no\""}}, {}},
        {"one", {{"Warning", "299 - \"v1alpha1 is deprecated\""}}, {"v1alpha1 is deprecated"}},
        {"any case", {{"warning", "299 - \"a\""}}, {"a"}},
        {"several headers", {{"Warning", "299 - \"a\""}, {"Warning", "299 - \"b\""}}, {"a", "b"}},
        {"several in one", {{"Warning", "299 - \"a, b\", 299 - \"c\" \"date\""}}, {"a, b", "c"}},
        {"escapes", {{"Warning", R"(299 - "say \"x\\y\"")"}}, {R"(say "x\y")"}},
        {"broken", {{"Warning", "299 - \"never ends"}}, {}},
        {"empty", {{"Warning", ""}, {"Warning", "299 - \"\""}}, {}},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) { CHECK(kube::warnings_of(c.headers) == c.want); }
    }
}

TEST_CASE("a refusal names the missing permission", "[kube]") {
    struct Case {
        const char* name;
        std::string message;
        std::optional<kube::Permission> want;
    };
    const std::string beginning = "x is forbidden: User \"u\" cannot ";
    const Case cases[] = {
        {"of a group",
         beginning + R"(patch resource "jobsets" in API group "jobset.x-k8s.io" in the namespace "ns")",
         kube::Permission{"patch", "jobsets.jobset.x-k8s.io"}},
        {"of the core group",
         beginning + R"(create resource "configmaps" in API group "" in the namespace "ns")",
         kube::Permission{"create", "configmaps"}},
        {"of a subresource",
         beginning + R"(patch resource "trainjobs/status" in API group "trainer.kubeflow.org")",
         kube::Permission{"patch", "trainjobs.trainer.kubeflow.org/status"}},
        {"of an owner's finalizers",
         "x is forbidden: cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't "
         "set "
         "finalizers on: , <nil>",
         kube::Permission{"update", "finalizers of the owner"}},
        {"cut short", beginning + "patch resource \"jobsets", std::nullopt},
        {"another policy", "exceeded quota: cannot create more", std::nullopt},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) {
            const api::Error error = {.code = Errc::forbidden, .message = c.message, .http_status = 403};
            CHECK((kube::missing_permission(error) == c.want));
        }
    }
}

TEST_CASE("of a Status of any size, a message of limited size is kept", "[kube]") {
    std::string causes;
    for (int i = 0; i < 100'000; ++i)
        causes +=
            std::string(i == 0 ? "" : ",") + R"({"field":"f","message":"m)" + std::to_string(i) + R"("})";
    const auto many = error(422, status(422, "Invalid", "bad", R"({"causes":[)" + causes + "]}"));
    CHECK(many.message.starts_with("bad; f: m0; f: m1;"));
    CHECK(many.message.ends_with("and 99900 more causes"));
    CHECK(many.message.size() <= kube::max_status_message);
    const std::string word(kube::max_status_message, 'w');
    const auto longest = error(500, status(500, word + "r", word + "m", R"({"causes":[{"message":"why"}]})"));
    CHECK(longest.message == word);
    CHECK(longest.reason == word);
}
