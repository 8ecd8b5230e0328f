#include <catch2/catch.hpp>

#include "api/admission_review.hpp"
#include "api/base64.hpp"
#include "support/printers.hpp"

using namespace api;

namespace {

const AdmissionRequest request = {
    .uid = "705ab4f5", .group = "trainer.kubeflow.org", .kind = "TrainJob", .name = "job", .ns = "team"};

// Checks the envelope and returns the member `response`.
Json response_to(const AdmissionRequest& to, const Verdict& verdict) {
    const auto review = parse_json(encode_admission_review(to, verdict));
    REQUIRE(review);
    const Json& read = *review;
    CHECK(read["apiVersion"] == Json("admission.k8s.io/v1"));
    CHECK(read["kind"] == Json("AdmissionReview"));
    CHECK(read["response"]["uid"] == Json(to.uid));
    CHECK(read["response"]["allowed"] == Json(verdict.allowed()));
    return read["response"];
}

Json warnings_of(const Warnings& warnings) {
    return response_to(request, {.warnings = warnings})["warnings"];
}

Json warnings_of(std::initializer_list<std::string> texts) {
    Warnings warnings;
    for (const std::string& text : texts) warnings.push_back(text);
    return warnings_of(warnings);
}

}  // namespace

TEST_CASE("an allowed request is answered with little more than its uid", "[api]") {
    CHECK(response_to(request, allowed()) == Json::object({{"uid", "705ab4f5"}, {"allowed", true}}));
}

TEST_CASE("the uid of the request is returned unchanged", "[api]") {
    AdmissionRequest odd = request;
    odd.uid = "\"},\n\\é";
    response_to(odd, allowed());
}

TEST_CASE("a patch is base64 of its operations, with its type", "[api]") {
    const Json add = Json::object({{"op", "add"}, {"path", "/spec/a"}, {"value", "ü"}});
    const Json remove = Json::object({{"op", "remove"}, {"path", "/spec/b"}});
    const Json response = response_to(request, {.patch = {add, remove}});
    CHECK(response["patchType"] == Json("JSONPatch"));
    const auto text = from_base64(response["patch"].as_string());
    REQUIRE(text);
    CHECK(*parse_json(*text) == Json::array({add, remove}));
    CHECK(response["patch"].as_string().size() % 4 == 0);
}

TEST_CASE("a denial carries no patch", "[api]") {
    Verdict verdict = bad_request("no");
    verdict.patch.push_back(Json::object({{"op", "remove"}, {"path", "/a"}}));
    const Json response = response_to(request, verdict);
    CHECK_FALSE(response.contains("patch"));
    CHECK_FALSE(response.contains("patchType"));
}

TEST_CASE("field errors are denied with one cause each", "[api]") {
    const Verdict verdict = validated(
        request, {{.type = FieldErrorType::required, .field = "spec.a", .detail = "name it"},
                  {.type = FieldErrorType::invalid, .field = "spec.b", .value = 3, .detail = "too many"}});
    CHECK(response_to(request, verdict)["status"] == *parse_json(R"({
        "status": "Failure", "code": 422, "reason": "Invalid",
        "message": "TrainJob.trainer.kubeflow.org \"job\" is invalid: [spec.a: Required value: name it, spec.b: Invalid value: 3: too many]",
        "details": {"group": "trainer.kubeflow.org", "kind": "TrainJob", "name": "job", "causes": [
            {"reason": "FieldValueRequired", "field": "spec.a", "message": "Required value: name it"},
            {"reason": "FieldValueInvalid", "field": "spec.b", "message": "Invalid value: 3: too many"}]}})"));
}

TEST_CASE("a single field error is written without brackets", "[api]") {
    const Verdict verdict = validated(
        request, {{.type = FieldErrorType::forbidden, .field = "spec.a", .detail = "field is immutable"}});
    REQUIRE(verdict.denial);
    CHECK(verdict.denial->message ==
          "TrainJob.trainer.kubeflow.org \"job\" is invalid: spec.a: Forbidden: field is immutable");
}

TEST_CASE("the response stays readable however many rules are broken", "[api]") {
    FieldErrors errors;
    for (int i = 0; i < 200'000; ++i)
        errors.push_back({.type = FieldErrorType::invalid,
                          .field = "spec.list[" + std::to_string(i / 2) + "]",
                          .value = i / 2,
                          .detail = "no"});
    const Verdict verdict = validated(request, errors);
    REQUIRE(verdict.denial);
    CHECK(verdict.denial->causes.size() == 100);
    CHECK(verdict.denial->message.find("[spec.list[0]: Invalid value: 0: no, spec.list[1]: ") !=
          std::string::npos);
    CHECK(verdict.denial->message.ends_with("spec.list[99]: Invalid value: 99: no] and 199800 more"));

    // Few errors, each of them huge.
    errors = {};
    for (int i = 0; i < 50; ++i)
        errors.push_back({.field = "spec." + std::to_string(i) + std::string(1'000'000, 'x'),
                          .value = std::string(1'000'000, 'y'),
                          .detail = "no"});
    const std::string encoded = encode_admission_review(request, validated(request, errors));
    CHECK(encoded.size() < 100'000);
    CHECK(encoded.find(" more") != std::string::npos);
}

TEST_CASE("no field error means allowed", "[api]") { CHECK(validated(request, {}).allowed()); }

TEST_CASE("other denials have their code and reason and no details", "[api]") {
    CHECK(response_to(request, bad_request("wrong kind"))["status"] ==
          *parse_json(
              R"({"status": "Failure", "code": 400, "reason": "BadRequest", "message": "wrong kind"})"));
    CHECK(response_to(request, unavailable("timeout"))["status"] == *parse_json(R"(
        {"status": "Failure", "code": 503, "reason": "ServiceUnavailable", "message": "timeout"})"));
}

TEST_CASE("warnings are sent with any verdict", "[api]") {
    Verdict verdict = bad_request("no");
    verdict.warnings = {{.text = "deprecated"}};
    CHECK(response_to(request, verdict)["warnings"] == Json::array({"deprecated"}));
    CHECK(warnings_of({"b", "a"}) == Json::array({"b", "a"}));
}

TEST_CASE("of many warnings, the first are sent with the number of the others", "[api]") {
    Warnings warnings;
    for (int i = 0; i < 60'000; ++i) warnings.push_back("warning " + std::to_string(i));
    for (int i = 0; i < 10; ++i) warnings.push_back("warning 1");
    const Json sent = warnings_of(warnings);
    REQUIRE(sent.items().size() == 33);
    CHECK(sent[31] == Json("warning 31"));
    CHECK(sent[32] == Json("and 59978 more warnings"));

    Warnings few = {{.text = "a", .rule = api::RuleId("W1")}, {.text = "b"}};
    few.append({{.text = "b", .rule = api::RuleId("W2")}, {.text = "c"}});
    few.name_rule(1, api::RuleId("W3"));
    CHECK(few == Warnings{{.text = "a", .rule = api::RuleId("W1")},
                          {.text = "b", .rule = api::RuleId("W3")},
                          {.text = "c", .rule = api::RuleId("W3")}});
    few.append(warnings);
    CHECK(few.size() == 32);
    CHECK(few.more() == 3 + warnings.more());
}

TEST_CASE("warnings that the API server would drop are not sent", "[api]") {
    CHECK(warnings_of({"", "x", "x", "a\nb", "a\tb", "\x7F", "\u0085", "\xFF", "y"}) ==
          Json::array({"x", "y"}));
    CHECK(warnings_of({""}).is_null());
}

TEST_CASE("a warning is cut to 256 characters, never inside a character", "[api]") {
    std::string exact;
    for (int i = 0; i < 256; ++i) exact += "ü";
    CHECK(warnings_of({exact}) == Json::array({exact}));
    CHECK(warnings_of({exact + "x"}) == Json::array({exact}));
    CHECK(warnings_of({exact + "x", exact + "y"}) == Json::array({exact}));
    CHECK(warnings_of({std::string(120, 'x')}) == Json::array({std::string(120, 'x')}));
}
