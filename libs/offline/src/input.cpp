#include "offline/input.hpp"

#include <algorithm>
#include <set>

#include "api/meta.hpp"
#include "api/names.hpp"
#include "api/nearest.hpp"
#include "crd/crd.hpp"

namespace offline {
namespace {

using api::Json;

// An API server cuts a generateName, so that the name has at most 63 characters.
constexpr std::size_t longest_generated_base = 58;
constexpr std::string_view any_suffix = "xxxxx";

const crd::StructuralSchema* schema_of(const Json& object) {
    if (object["apiVersion"].as_string() != api::trainer_api_version) return nullptr;
    return crd::find(object["kind"].as_string());
}

// A mistyped kind or version of the Trainer is an error: no cluster would accept the object.
bool seems_of_trainer(const Json& object) {
    const std::string_view version = object["apiVersion"].as_string();
    return crd::find(object["kind"].as_string()) != nullptr ||
           version.substr(0, version.find('/')) == api::trainer_group;
}

api::Error no_such_kind(const Document& document) {
    const Json& object = document.object();
    const std::string kind(object["kind"].as_string());
    return api::invalid("", document.place(crd::find(kind) ? "apiVersion" : "kind") +
                                ": no cluster knows the kind \"" + kind + "\" of " +
                                std::string(object["apiVersion"].as_string()) +
                                "; there are TrainJob, TrainingRuntime and ClusterTrainingRuntime of " +
                                std::string(api::trainer_api_version));
}

// Sets the metadata that an API server sets before validation.
void complete_metadata(Json& metadata, const kube::Resource& resource, const std::string& ns) {
    const Json& read = metadata;
    if (!resource.namespaced)
        metadata.erase("namespace");
    else if (read["namespace"].as_string().empty())
        metadata["namespace"] = ns;
    const std::string_view base = read["generateName"].as_string();
    if (read["name"].as_string().empty() && !base.empty())
        metadata["name"] = std::string(base.substr(0, longest_generated_base)).append(any_suffix);
}

InputObject known_of(const Document& document, const kube::Resource& resource, const std::string& ns) {
    InputObject known = {.document = &document, .resource = resource, .object = document.object()};
    complete_metadata(known.object["metadata"], resource, ns);
    known.kind = std::as_const(known.object)["kind"].as_string();
    known.key = api::parse_meta(known.object).key();
    known.is_of_trainer = schema_of(known.object) != nullptr;
    if (known.is_of_trainer) known.unknown_fields = prune_and_default(known.object);
    return known;
}

}  // namespace

const InputObject* Input::find(const kube::Resource& resource, const api::ObjectKey& key) const {
    const std::string path = kube::path(resource, key);
    const auto at = std::find_if(known.begin(), known.end(), [&](const InputObject& each) {
        return kube::path(each.resource, each.key) == path;
    });
    return at == known.end() ? nullptr : &*at;
}

api::Result<Input> load_input(const std::vector<Document>& documents, const std::string& ns,
                              std::span<const kube::Resource> kinds) {
    Input input;
    for (const Document& document : documents) {
        const Json& object = document.object();
        const kube::Resource* resource =
            api::find_resource(object["apiVersion"].as_string(), object["kind"].as_string(), kinds);
        if (!resource && seems_of_trainer(object)) return no_such_kind(document);
        if (!resource) {
            input.others.push_back(&document);
            continue;
        }
        InputObject known = known_of(document, *resource, ns);
        const InputObject* first = input.find(*resource, known.key);
        if (first && !known.key.name.empty())
            return api::invalid("", document.place() + ": " + known.name() +
                                        " is given a second time, after " + first->document->place());
        input.known.push_back(std::move(known));
    }
    return input;
}

std::vector<std::string> prune_and_default(Json& object) {
    const crd::StructuralSchema* schema = schema_of(object);
    return schema ? schema->prune_and_default(object) : std::vector<std::string>();
}

std::vector<api::StatusCause> validate_schema(const Json& object, const Json& old_object) {
    const crd::StructuralSchema* schema = schema_of(object);
    if (!schema) return {};
    std::vector<api::StatusCause> errors = crd::check_metadata(object["metadata"]);
    for (api::StatusCause& error : schema->validate(object, old_object)) errors.push_back(std::move(error));
    if (std::any_of(errors.begin(), errors.end(), crd::blocks_rules))
        errors.push_back({.reason = "FieldValueInvalid",
                          .field = std::string(api::no_field),
                          .message =
                              "Invalid value: null: some validation rules were not checked because the "
                              "object was invalid; correct the existing errors to complete validation"});
    return errors;
}

std::string status_message(const Json& object, const std::vector<api::StatusCause>& causes) {
    std::vector<std::string> lines;
    for (const api::StatusCause& cause : causes) {
        std::string line = cause.field + ": " + cause.message;
        if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(std::move(line));
    }
    std::string text = std::string(object["kind"].as_string()) + "." + std::string(api::trainer_group) + " " +
                       to_json(object["metadata"]["name"]) + " is invalid: ";
    if (lines.size() == 1) return text + lines.front();
    text += "[";
    for (const std::string& line : lines) text += (&line == &lines.front() ? "" : ", ") + line;
    return text + "]";
}

std::string suggest_runtime(const api::RuntimeRef& wanted, const std::string& ns,
                            const std::vector<InputObject>& known) {
    const auto named = [&](bool same_kind) {
        const auto at = std::find_if(known.begin(), known.end(), [&](const InputObject& each) {
            return each.is_of_trainer && each.kind != api::train_job_kind && each.key.name == wanted.name &&
                   (each.kind == wanted.kind) == same_kind;
        });
        return at == known.end() ? nullptr : &*at;
    };
    const InputObject* other = named(false);
    if (other && (other->key.ns.empty() || other->key.ns == ns))
        return "there is a " + other->kind + " \"" + wanted.name + "\": set spec.runtimeRef.kind to " +
               other->kind;
    const InputObject* elsewhere = named(true);
    if (elsewhere && elsewhere->key.ns != ns)
        return elsewhere->name() + " is there, but the TrainJob is in namespace \"" + ns + "\"";
    api::Nearest nearest(wanted.name);
    for (const InputObject& each : known)
        if (each.is_of_trainer && each.kind == wanted.kind && (each.key.ns.empty() || each.key.ns == ns))
            nearest.offer(each.key.name);
    if (nearest.found().empty()) return "";
    return "did you mean " + wanted.kind + " \"" + nearest.found() + "\"?";
}

}  // namespace offline
