#include "check/admission_chain.hpp"

#include "api/base64.hpp"
#include "api/names.hpp"
#include "api/text.hpp"
#include "merge/json_patch.hpp"

namespace cli {
namespace {

using api::Json;
using Refusal = AdmissionAnswer::Refusal;

// The objectSelector of manifests/base/webhook/validating.yaml.
constexpr std::string_view opt_out_label = "trainer.kubeflow.org/webhook-validation";
constexpr std::string_view opted_out = "disabled";

bool is_opted_out(const Json& object) {
    return object["metadata"]["labels"][opt_out_label].as_string() == opted_out;
}

// Of TrainJobs all, of runtimes those that do not opt out; an update must do so before and after.
bool is_reviewed(const Json& object, const Json& old_object) {
    if (object["kind"].as_string() == api::train_job_kind) return true;
    return !is_opted_out(object) || (!old_object.is_null() && !is_opted_out(old_object));
}

// What the API server sets itself, whatever a request says.
Json with_system_fields(Json object, const Json& old_object) {
    const bool is_create = old_object.is_null();
    if (std::as_const(object)["kind"].as_string() == api::train_job_kind) {
        object.erase("status");
        if (const Json* status = old_object.find("status")) object["status"] = *status;
    }
    Json& metadata = object["metadata"];
    for (const char* name : {"uid", "creationTimestamp", "deletionTimestamp", "generation", "resourceVersion",
                             "managedFields"}) {
        metadata.erase(name);
        if (const Json* before = old_object["metadata"].find(name)) metadata[name] = *before;
    }
    if (is_create) metadata["generation"] = 1;
    if (!metadata.contains("uid")) metadata["uid"] = offline::placeholder_uid;
    return object;
}

Json review_request(const Json& object, const Json& old_object) {
    const Json& metadata = object["metadata"];
    const Json kind = Json::object(
        {{"group", api::trainer_group}, {"version", api::trainer_version}, {"kind", object["kind"]}});
    return Json::object({{"uid", "check"},
                         {"kind", kind},
                         {"name", metadata["name"]},
                         {"namespace", metadata["namespace"]},
                         {"operation", old_object.is_null() ? "CREATE" : "UPDATE"},
                         {"object", object},
                         {"oldObject", old_object}});
}

std::vector<Json> patch_of(const Json& response) {
    if (response["patch"].is_null()) return {};
    const std::string text = api::from_base64(response["patch"].as_string()).value();
    return api::parse_json(text).value().items();
}

Refusal refusal_of(const Json& status) {
    Refusal refusal = {.code = static_cast<int>(status["code"].int_or(0)),
                       .reason = std::string(status["reason"].as_string()),
                       .message = std::string(status["message"].as_string())};
    for (const Json& cause : status["details"]["causes"].items()) {
        const std::string field(cause["field"].as_string());
        refusal.causes.push_back(api::cause_at(field, std::string(cause["reason"].as_string()),
                                               std::string(cause["message"].as_string())));
    }
    return refusal;
}

// The route whose answer is a patch has no business with a verdict, and the other way round.
std::string_view path_for(std::string_view kind, std::string_view what) {
    for (const admission::Route& route : admission::routes())
        if (route.kind == kind && route.path.substr(1).starts_with(what)) return route.path;
    return {};
}

std::string unknown_field(const std::string& path) { return "unknown field " + api::quoted(path); }

Refusal strict_refusal(const offline::InputObject& known) {
    std::string fields;
    for (const std::string& field : known.unknown_fields)
        fields += (fields.empty() ? "" : ", ") + unknown_field(field);
    return {.code = 400,
            .reason = "BadRequest",
            .message = known.kind + " in version \"" + std::string(api::trainer_version) +
                       "\" cannot be handled as a " + known.kind + ": strict decoding error: " + fields};
}

}  // namespace

OfflineAdmission::OfflineAdmission(offline::DocumentServer& server, const runtime::Pipeline& pipeline,
                                   FieldValidation validation, admission::ReviewPolicy policy)
    : validation_(validation),
      silent_(net::LogLevel::error, net::LogFormat::text, [](std::string_view) {}),
      facts_(no_runtimes_, server, pipeline),
      handler_(facts_, *clock_, unobserved_, silent_, pipeline, {}, std::move(policy)) {}

Json OfflineAdmission::ask(std::string_view path, const Json& request) {
    const Json review = Json::object(
        {{"apiVersion", "admission.k8s.io/v1"}, {"kind", "AdmissionReview"}, {"request", request}});
    net::HttpRequest http = {.method = "POST",
                             .target = std::string(path),
                             .headers = {{"Content-Type", "application/json"}},
                             .body = api::to_json(review)};
    net::HttpResponse response;
    const auto wait = [&]() -> net::Task<> { response = co_await handler_(http); };
    offline::run_to_end(context_, wait());
    const Json body = api::parse_json(response.body).value();
    return body["response"];
}

AdmissionAnswer OfflineAdmission::admit(const offline::InputObject& known,
                                        const offline::InputObject* before) {
    AdmissionAnswer answer;
    if (!known.unknown_fields.empty()) {
        if (validation_ == FieldValidation::strict) {
            answer.refusal = strict_refusal(known);
            return answer;
        }
        if (validation_ == FieldValidation::warn)
            for (const std::string& field : known.unknown_fields)
                answer.warnings.push_back(unknown_field(field));
    }
    const Json old_object = before ? before->object : Json();
    Json object = with_system_fields(known.object, old_object);
    if (const auto path = path_for(known.kind, "mutate"); !path.empty()) {
        const Json response = ask(path, review_request(object, old_object));
        merge::apply_operations(patch_of(response), object).value();
        offline::prune_and_default(object);
    }
    if (auto errors = offline::validate_schema(object, old_object); !errors.empty()) {
        answer.refusal = Refusal{.reason = "Invalid", .message = offline::status_message(object, errors)};
        answer.refusal->causes = std::move(errors);
        return answer;
    }
    if (!is_reviewed(object, old_object)) return answer;
    const Json response = ask(path_for(known.kind, "validate"), review_request(object, old_object));
    for (const Json& warning : response["warnings"].items())
        answer.warnings.emplace_back(warning.as_string());
    if (!response["allowed"].bool_or(false)) answer.refusal = refusal_of(response["status"]);
    return answer;
}

}  // namespace cli
