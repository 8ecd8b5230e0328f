#include "admission_case.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>

#include "api/base64.hpp"
#include "api/yaml.hpp"
#include "reviews.hpp"
#include "support/golden.hpp"
#include "support/places.hpp"

namespace {

using api::Json;

std::string lower(std::string_view text) {
    std::string out(text);
    for (char& c : out)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
    return out;
}

std::string title_of(std::string_view cause_reason) {
    for (int i = 0; i <= static_cast<int>(api::FieldErrorType::internal); ++i) {
        const auto type = static_cast<api::FieldErrorType>(i);
        if (api::cause_reason(type) != cause_reason) continue;
        const std::string text = api::body({.type = type, .value = "x"});
        return text.substr(0, text.find(':'));
    }
    throw std::runtime_error("unknown cause: " + std::string(cause_reason));
}

std::string after(std::string_view text, char c) { return std::string(text.substr(text.rfind(c) + 1)); }

// Applies a patch of the webhook: `add` and `remove` of members, with indexes in the path.
void apply(Json& object, const Json& operation) {
    std::string_view path = operation["path"].as_string();
    Json* at = &object;
    const std::string last = after(path, '/');
    for (path.remove_suffix(last.size() + 1); !path.empty();) {
        path.remove_prefix(1);
        const std::string_view step = path.substr(0, path.find('/'));
        at = at->is_array() ? &at->items().at(std::stoul(std::string(step))) : &(*at)[step];
        path.remove_prefix(step.size());
    }
    if (operation["op"].as_string() == "remove") {
        if (!at->erase(last)) throw std::runtime_error("nothing to remove: " + to_json(operation));
    } else if (operation["op"].as_string() == "add") {
        (*at)[last] = operation["value"];
    } else {
        throw std::runtime_error("unexpected operation: " + to_json(operation));
    }
}

std::string plural_of(const std::string& kind) {
    return kind == "PriorityClass" ? "priorityclasses" : lower(kind) + "s";
}

// Returns the path in the form of the API server.
void store(test::Fixture& fixture, const Json& object) {
    const std::string api_version(object["apiVersion"].as_string());
    const auto slash = api_version.find('/');
    const std::string group = slash == api_version.npos ? "" : api_version.substr(0, slash);
    const std::string version = after(api_version, '/');
    const std::string plural = plural_of(std::string(object["kind"].as_string()));
    const kube::Resource resource = {.group = group,
                                     .version = version,
                                     .plural = plural,
                                     .namespaced = object["metadata"].contains("namespace")};
    fixture.store(resource, object);
}

// Removes repeated errors.
void take_errors(const Json& response, Json& outcome) {
    std::set<std::string> seen;
    std::multiset<std::string> fields;
    std::set<std::string> types;
    for (const Json& cause : response["status"]["details"]["causes"].items()) {
        if (!seen.insert(to_json(cause)).second) continue;
        fields.emplace(cause["field"].as_string());
        types.insert(title_of(cause["reason"].as_string()));
    }
    outcome["fields"] = Json::Array(fields.begin(), fields.end());
    outcome["types"] = Json::Array(types.begin(), types.end());
    if (const Json& message = response["status"]["message"]; !message.is_null()) outcome["message"] = message;
}

AdmissionCase read_case(const std::filesystem::path& directory) {
    const Json input = api::parse_yaml(golden::read(directory / "admission.yaml")).value();
    AdmissionCase c = {.folder = directory,
                       .name = directory.filename().string(),
                       .operation = std::string(input["operation"].as_string()),
                       .object = input["object"],
                       .old_object = input["oldObject"],
                       .existing = input["objects"].items()};
    if (!input["runtime"].is_null()) c.existing.push_back(input["runtime"]);
    return c;
}

std::vector<AdmissionCase> read_cases() {
    std::vector<std::filesystem::path> directories;
    for (const auto& entry : std::filesystem::directory_iterator(test::data() / "admission"))
        if (entry.is_directory()) directories.push_back(entry.path());
    std::sort(directories.begin(), directories.end());
    std::vector<AdmissionCase> cases;
    for (const auto& directory : directories) cases.push_back(read_case(directory));
    return cases;
}

}  // namespace

const std::vector<AdmissionCase>& all_admission_cases() {
    // Read once: Catch runs a test again for each of its sections.
    static const std::vector<AdmissionCase> cases = read_cases();
    return cases;
}

Json answer_to(const AdmissionCase& c) {
    test::Fixture fixture;
    // The present time of the cases is ten hours after the clock's start.
    fixture.clock.freeze_for(std::chrono::hours(10));
    for (const Json& object : c.existing) store(fixture, object);
    const auto ask = [&](const std::string& path, const Json& object) {
        const test::Reply reply =
            fixture.ask(test::post(path, test::review(c.operation, object, c.old_object)));
        if (reply.http.status != 200) throw std::runtime_error("no verdict: " + reply.http.body);
        return reply.response;
    };

    const std::string kind = lower(c.object["kind"].as_string());
    Json object = c.object;
    if (kind == "trainjob") {
        const Json mutated = ask(test::mutate_path, object);
        if (const Json& patch = mutated["patch"]; !patch.is_null()) {
            const Json operations = api::parse_json(api::from_base64(patch.as_string()).value()).value();
            for (const Json& operation : operations.items()) apply(object, operation);
        }
    }
    const Json validated = ask("/validate-trainer-kubeflow-org-v1alpha1-" + kind, object);
    Json answer = Json::object(
        {{"allowed", validated["allowed"]}, {"warnings", Json::Array(validated["warnings"].items())}});
    take_errors(validated, answer);
    if (object != c.object) answer["patchedObject"] = std::move(object);
    return answer;
}
