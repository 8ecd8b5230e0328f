#include "api/admission_review.hpp"

#include "api/base64.hpp"
#include "api/json.hpp"

namespace api {
namespace {

constexpr std::string_view review_api_version = "admission.k8s.io/v1";
constexpr std::string_view review_kind = "AdmissionReview";

// No verdict depends on these. Managed fields are half of many objects.
constexpr std::string_view object_fields[] = {"request", "object", "metadata", "managedFields"};
constexpr std::string_view old_object_fields[] = {"request", "oldObject", "metadata", "managedFields"};
constexpr std::string_view resource[] = {"request", "resource"};
constexpr std::string_view request_kind[] = {"request", "requestKind"};
constexpr std::string_view request_resource[] = {"request", "requestResource"};
constexpr std::string_view groups[] = {"request", "userInfo", "groups"};
constexpr std::string_view extra[] = {"request", "userInfo", "extra"};
constexpr JsonPath unread[] = {
    object_fields, old_object_fields, resource, request_kind, request_resource, groups, extra};

std::string text_of(const Json& value) { return std::string(value.as_string()); }

Json take_member(Json& object, std::string_view key) {
    Json* member = object.find(key);
    return member ? std::move(*member) : Json();
}

Error no_review(std::string why) { return invalid("", "not an AdmissionReview: " + std::move(why)); }

Json to_status(const AdmissionRequest& request, const Denial& denial) {
    Json status = Json::object({{"status", "Failure"},
                                {"code", denial.code},
                                {"reason", denial.reason},
                                {"message", denial.message}});
    if (denial.causes.empty()) return status;
    Json causes = Json::array();
    for (const FieldError& error : denial.causes)
        causes.push_back(Json::object(
            {{"reason", cause_reason(error.type)}, {"message", body(error)}, {"field", error.field}}));
    status["details"] = Json::object({{"group", request.group},
                                      {"kind", request.kind},
                                      {"name", request.name},
                                      {"causes", std::move(causes)}});
    return status;
}

std::string joined(const auto& list) {
    std::string text = "[";
    for (const auto& item : list) {
        if (text.size() > 1) text += ',';
        text += to_json(item);
    }
    return text + "]";
}

std::vector<std::string> sent(const Warnings& warnings) {
    std::vector<std::string> texts;
    for (const Warning& warning : warnings) texts.push_back(warning.text);
    if (warnings.more() > 0) texts.push_back("and " + std::to_string(warnings.more()) + " more warnings");
    return texts;
}

Verdict denied(int code, std::string reason, std::string message) {
    return {.denial = Denial{.code = code, .reason = std::move(reason), .message = std::move(message)}};
}

// Only a guess: the API server writes the operation so, before the objects.
bool seems_to_create(std::string_view body) {
    constexpr std::size_t most_before_objects = 4096;
    constexpr std::string_view wanted = R"("CREATE")", key = R"("operation":)";
    const std::string_view text = body.substr(0, most_before_objects);
    // By a letter that is rarer than a quotation mark.
    for (auto at = text.find('C', 1); at != text.npos; at = text.find('C', at + 1))
        if (text.substr(at - 1).starts_with(wanted) && text.substr(0, at - 1).ends_with(key)) return true;
    return false;
}

Result<AdmissionRequest> decode(std::string_view body, JsonPaths omit) {
    auto review = parse_json_without(body, omit);
    if (!review) return review.error();
    if (std::as_const(*review)["apiVersion"].as_string() != review_api_version ||
        std::as_const(*review)["kind"].as_string() != review_kind)
        return no_review("expected apiVersion " + std::string(review_api_version) + " and kind " +
                         std::string(review_kind));
    Json request = take_member(*review, "request");
    if (!request.is_object()) return no_review("it has no request");

    const Json& read = request;
    AdmissionRequest decoded = {.uid = text_of(read["uid"]),
                                .group = text_of(read["kind"]["group"]),
                                .version = text_of(read["kind"]["version"]),
                                .kind = text_of(read["kind"]["kind"]),
                                .sub_resource = text_of(read["subResource"]),
                                .name = text_of(read["name"]),
                                .ns = text_of(read["namespace"]),
                                .operation = text_of(read["operation"]),
                                .dry_run = read["dryRun"].bool_or(false),
                                .username = text_of(read["userInfo"]["username"]),
                                .field_manager = text_of(read["options"]["fieldManager"])};
    if (decoded.uid.empty()) return no_review("its request has no uid");
    decoded.object = take_member(request, "object");
    decoded.old_object = take_member(request, "oldObject");
    // With generateName a request has no name; the object that is validated has one.
    if (decoded.name.empty()) decoded.name = text_of(std::as_const(decoded.object)["metadata"]["name"]);
    return decoded;
}

}  // namespace

Result<AdmissionRequest> decode_admission_review(std::string_view body, JsonPaths unread_on_create) {
    if (!unread_on_create.empty() && seems_to_create(body)) {
        std::vector<JsonPath> omit(std::begin(unread), std::end(unread));
        omit.insert(omit.end(), unread_on_create.begin(), unread_on_create.end());
        auto decoded = decode(body, omit);
        if (!decoded || decoded->operation == "CREATE") return decoded;
    }
    return decode(body, unread);
}

Verdict allowed() { return {}; }

Verdict bad_request(std::string message) { return denied(400, "BadRequest", std::move(message)); }

Verdict unavailable(std::string message) { return denied(503, "ServiceUnavailable", std::move(message)); }

Verdict validated(const AdmissionRequest& request, FieldErrors errors) {
    if (errors.empty()) return allowed();
    FieldErrorExcerpt found = excerpt(std::move(errors));
    const std::string kind = request.group.empty() ? request.kind : request.kind + "." + request.group;
    Verdict verdict =
        denied(422, "Invalid", kind + " " + to_json(request.name) + " is invalid: " + found.text);
    verdict.denial->causes = std::move(found.errors);
    return verdict;
}

std::string encode_admission_review(const AdmissionRequest& request, const Verdict& verdict) {
    // Text rather than a tree: most answers are nothing but a uid.
    std::string text = R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":)";
    text += to_json(request.uid);
    text += verdict.allowed() ? R"(,"allowed":true)" : R"(,"allowed":false)";
    if (verdict.denial) text += R"(,"status":)" + to_json(to_status(request, *verdict.denial));
    if (verdict.allowed() && !verdict.patch.empty())
        text += R"(,"patchType":"JSONPatch","patch":")" + to_base64(joined(verdict.patch)) + '"';
    if (!verdict.warnings.empty()) text += R"(,"warnings":)" + joined(sent(verdict.warnings));
    return text + "}}";
}

}  // namespace api
