#include "preconditions.hpp"

namespace model {

using api::Json;

std::optional<Reply> check_preconditions(const Kind& kind, const Json& wanted, const Json& live) {
    const auto differs = [&](const char* name) {
        return !wanted[name].as_string().empty() &&
               wanted[name].as_string() != live["metadata"][name].as_string();
    };
    const std::string name(live["metadata"]["name"].as_string());
    const std::string what =
        "Operation cannot be fulfilled on " + std::string(kind.resource) + " \"" + name + "\": ";
    if (differs("uid"))
        return failure(
            409, "Conflict",
            what + "Precondition failed: UID in precondition: " + std::string(wanted["uid"].as_string()) +
                ", UID in object meta: " + std::string(live["metadata"]["uid"].as_string()));
    if (differs("resourceVersion"))
        return failure(409, "Conflict",
                       what +
                           "the object has been modified; please apply your changes to the latest version "
                           "and try again");
    return std::nullopt;
}

std::optional<Reply> check_versions(const Kind& kind, const Json& patched, const Json& live, bool status) {
    Json versions = patched;
    versions.erase("uid");
    if (auto refused = check_preconditions(kind, versions, live)) return refused;
    const std::string_view uid = patched["uid"].as_string();
    if (status || uid.empty() || uid == live["metadata"]["uid"].as_string()) return std::nullopt;
    return failure(422, "Invalid", std::string(kind.kind) + " is invalid: metadata.uid: field is immutable");
}

Reply must_be_specified(const Kind& kind, const api::ObjectKey& key) {
    const std::string what = "Invalid value: 0: must be specified for an update";
    const std::string field = "metadata.resourceVersion";
    Reply reply =
        failure(422, "Invalid",
                std::string(kind.resource) + " \"" + key.name + "\" is invalid: " + field + ": " + what);
    Json status = api::parse_json(reply.body).value();
    status["details"]["causes"] =
        Json::array({Json::object({{"reason", "FieldValueInvalid"}, {"field", field}, {"message", what}})});
    reply.body = to_json(status);
    return reply;
}

bool allows_unconditional_update(const Kind& kind) {
    // Of the groups that the model serves, only those of custom resources and Leases have a dot.
    return kind.api_version.find('.') == std::string_view::npos;
}

}  // namespace model
