#include <catch2/catch.hpp>

#include "api/admission_review.hpp"
#include "support/printers.hpp"

using namespace api;

namespace {

const std::string review = R"({
    "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
    "request": {"uid": "705ab4f5", "kind": {"group": "trainer.kubeflow.org", "version": "v1alpha1", "kind": "TrainJob"},
                "resource": {"group": "trainer.kubeflow.org", "version": "v1alpha1", "resource": "trainjobs"},
                "subResource": "status", "name": "job", "namespace": "team", "operation": "UPDATE",
                "userInfo": {"username": "alice"}, "object": {"spec": {"suspend": true}},
                "oldObject": {"spec": {"suspend": false}}, "dryRun": true,
                "options": {"kind": "UpdateOptions", "fieldManager": "kubectl-edit"}}})";

// Returns the review with one member of the request removed or set.
AdmissionRequest changed(void (*change)(Json& request)) {
    Json tree = *parse_json(review);
    change(tree["request"]);
    auto request = decode_admission_review(to_json(tree));
    REQUIRE(request);
    return *std::move(request);
}

}  // namespace

TEST_CASE("an AdmissionReview is decoded", "[api]") {
    const auto request = decode_admission_review(review);
    REQUIRE(request);
    CHECK(request->uid == "705ab4f5");
    CHECK(request->group == "trainer.kubeflow.org");
    CHECK(request->version == "v1alpha1");
    CHECK(request->kind == "TrainJob");
    CHECK(request->sub_resource == "status");
    CHECK(request->name == "job");
    CHECK(request->ns == "team");
    CHECK(request->operation == "UPDATE");
    CHECK(request->dry_run);
    CHECK(request->username == "alice");
    CHECK(request->field_manager == "kubectl-edit");
    CHECK(request->object == Json::object({{"spec", Json::object({{"suspend", true}})}}));
    CHECK(request->old_object == Json::object({{"spec", Json::object({{"suspend", false}})}}));
}

TEST_CASE("absent members of a request are read as empty", "[api]") {
    const auto request = decode_admission_review(
        R"({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "1"}})");
    REQUIRE(request);
    CHECK(request->kind.empty());
    CHECK(request->name.empty());
    CHECK(request->ns.empty());
    CHECK(request->operation.empty());
    CHECK_FALSE(request->dry_run);
    CHECK(request->object.is_null());
    CHECK(request->old_object.is_null());
}

TEST_CASE("a request without a name has that of its object, which was generated", "[api]") {
    const auto name = [](const char* object) {
        const auto decoded = decode_admission_review(
            std::string(
                R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u",)") +
            R"("operation":"CREATE","object":)" + object + "}}");
        return decoded ? decoded->name : "no review";
    };
    CHECK(name(R"({"metadata":{"generateName":"a-","name":"a-b2c3d"}})") == "a-b2c3d");
    CHECK(name(R"({"metadata":{"generateName":"a-"}})").empty());
    CHECK(name("null").empty());
}

TEST_CASE("an object may be null, and of any other shape", "[api]") {
    CHECK(changed([](Json& r) { r["object"] = nullptr; }).object.is_null());
    CHECK(changed([](Json& r) { r["oldObject"] = nullptr; }).old_object.is_null());
    CHECK(changed([](Json& r) { r["object"] = "text"; }).object == Json("text"));
    CHECK(changed([](Json& r) { r["kind"] = "TrainJob"; }).kind.empty());
    CHECK_FALSE(changed([](Json& r) { r["dryRun"] = "true"; }).dry_run);
}

TEST_CASE("JSON that is no AdmissionReview is an error", "[api]") {
    struct Case {
        const char* name;
        const char* text;
        const char* message;
    };
    const Case cases[] = {
        {"empty", "", "not valid JSON at byte 0: The document is empty."},
        {"no JSON", "kind: AdmissionReview", "not valid JSON at byte 0: Invalid value."},
        {"a list", "[]",
         "not an AdmissionReview: expected apiVersion admission.k8s.io/v1 and kind AdmissionReview"},
        {"an old version", R"({"apiVersion": "admission.k8s.io/v1beta1", "kind": "AdmissionReview"})",
         "not an AdmissionReview: expected apiVersion admission.k8s.io/v1 and kind AdmissionReview"},
        {"another kind", R"({"apiVersion": "admission.k8s.io/v1", "kind": "ConversionReview"})",
         "not an AdmissionReview: expected apiVersion admission.k8s.io/v1 and kind AdmissionReview"},
        {"no request", R"({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"})",
         "not an AdmissionReview: it has no request"},
        {"a null request",
         R"({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": null})",
         "not an AdmissionReview: it has no request"},
        {"no uid", R"({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {}})",
         "not an AdmissionReview: its request has no uid"},
        {"an odd uid",
         R"({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": 1}})",
         "not an AdmissionReview: its request has no uid"},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) {
            const auto request = decode_admission_review(c.text);
            REQUIRE(request.has_error());
            CHECK(request.error().code == Errc::invalid);
            CHECK(request.error().message == c.message);
        }
    }
}

TEST_CASE("a review that is cut anywhere is read or refused without a crash", "[api]") {
    for (std::size_t size = 0; size < review.size(); ++size)
        CHECK(decode_admission_review(std::string_view(review).substr(0, size)).has_error());
}

TEST_CASE("managed fields are left out of both objects, and nothing else is", "[api]") {
    const auto request = changed([](Json& r) {
        for (const char* object : {"object", "oldObject"}) {
            r[object]["metadata"]["managedFields"] = Json::array({Json::object({{"manager", "kubectl"}})});
            r[object]["metadata"]["labels"]["managedFields"] = "mine";
            r[object]["spec"]["managedFields"] = 1;
        }
    });
    for (const Json& object : {request.object, request.old_object}) {
        CHECK(object["metadata"] == Json::object({{"labels", Json::object({{"managedFields", "mine"}})}}));
        CHECK(object["spec"]["managedFields"] == Json(1));
    }
}

TEST_CASE("a CREATE may lack what its verdict does not depend on, and other operations lack nothing",
          "[api]") {
    static constexpr std::string_view trainer[] = {"request", "object", "spec", "trainer"};
    static constexpr std::string_view patched[] = {"request", "object", "spec", "patches", "[]", "spec"};
    static constexpr JsonPath unread[] = {trainer, patched};
    const std::string spec = R"({"patches":[{"manager":"a","spec":{"x":1}}],"trainer":{"image":"i"}})";
    const std::string brief = R"({"patches":[{"manager":"a"}]})";
    const std::string before_object =
        R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u",)";
    const auto object = [](const std::string& text) { return R"("object":{"spec":)" + text + "}"; };
    struct Case {
        const char* name;
        std::string members;
        std::string want;
    };
    const Case cases[] = {
        {"create", R"("operation":"CREATE",)" + object(spec), brief},
        {"an operation after the object", object(spec) + R"(,"operation":"CREATE")", brief},
        {"one far behind it",
         object(spec) + R"(,"name":")" + std::string(5000, 'n') + R"(","operation":"CREATE")", spec},
        {"written in another way", R"("operation": "CREATE",)" + object(spec), spec},
        {"update", R"("operation":"UPDATE",)" + object(spec), spec},
        {"an update that has the words of a create",
         R"("operation":"UPDATE","options":{"operation":"CREATE"},)" + object(spec), spec},
        {"the last of two operations", R"("operation":"CREATE",)" + object(spec) + R"(,"operation":"UPDATE")",
         spec},
        {"no operation", R"("options":{"operation":"CREATE"},)" + object(spec), spec},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) {
            const auto request = decode_admission_review(before_object + c.members + "}}", unread);
            REQUIRE(request);
            CHECK(to_json(request->object["spec"]) == c.want);
            const auto whole = decode_admission_review(before_object + c.members + "}}");
            REQUIRE(whole);
            CHECK(to_json(whole->object["spec"]) == spec);
        }
    }
}
