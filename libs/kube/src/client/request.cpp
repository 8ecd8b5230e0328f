#include "kube/client/request.hpp"

#include <algorithm>
#include <vector>

#include "api/names.hpp"
#include "api/text.hpp"

namespace kube {
namespace {

constexpr std::string_view json_type = "application/json";

bool is_unreserved(char c) {
    return api::is_letter_or_digit(c) || c == '-' || c == '.' || c == '_' || c == '~';
}

api::ObjectKey key_of(const Resource& resource, const api::Json& object) {
    const api::Json& metadata = object["metadata"];
    api::ObjectKey key = {.name = std::string(metadata["name"].as_string())};
    if (resource.namespaced) key.ns = metadata["namespace"].as_string();
    return key;
}

std::string managed(std::string path) {
    return std::move(path) + "?fieldManager=" + std::string(api::field_manager);
}

Request patch(std::string target, std::string_view type, const api::Json& body) {
    return {.method = "PATCH",
            .target = std::move(target),
            .content_type = std::string(type),
            .body = api::to_json(body)};
}

// Adds the fields of a DELETE's preconditions, or of the metadata in the body of a PATCH.
void add(const OnlyIf& only_if, api::Json& object, const char* member) {
    const auto set = [&](const char* field, const std::string& value) {
        if (!value.empty()) object[member][field] = value;
    };
    if (const auto* version = std::get_if<SameVersion>(&only_if)) {
        set("uid", version->uid);
        set("resourceVersion", version->resource_version);
    } else if (const auto* same = std::get_if<SameObject>(&only_if)) {
        set("uid", same->uid);
    }
}

Request patch_if(std::string path, api::Json body, const OnlyIf& only_if) {
    add(only_if, body, "metadata");
    return patch(managed(std::move(path)), "application/merge-patch+json", body);
}

}  // namespace

std::string percent_encode(std::string_view text) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    std::string encoded;
    encoded.reserve(text.size());
    for (const char c : text) {
        if (is_unreserved(c)) {
            encoded += c;
        } else {
            const auto byte = static_cast<unsigned char>(c);
            encoded += {'%', digits[byte >> 4], digits[byte & 15]};
        }
    }
    return encoded;
}

std::string resource_of(std::string_view target) {
    std::vector<std::string_view> parts;
    parts.reserve(8);
    target = target.substr(0, target.find('?'));
    while (!target.empty()) {
        target.remove_prefix(1);
        const auto slash = std::min(target.find('/'), target.size());
        parts.push_back(target.substr(0, slash));
        target.remove_prefix(slash);
    }
    const bool core = !parts.empty() && parts[0] == "api";
    if (!core && (parts.size() < 3 || parts[0] != "apis")) return "";
    std::size_t at = core ? 2 : 3;
    if (parts.size() > at + 2 && parts[at] == "namespaces") at += 2;
    if (parts.size() <= at) return "";
    std::string text(parts[at]);
    if (!core) text.append(".").append(parts[1]);
    if (parts.size() > at + 2) text.append("/").append(parts[at + 2]);
    return text;
}

std::string path(const Resource& resource, const api::ObjectKey& key) {
    std::string path = resource.group.empty() ? "/api/" : "/apis/" + std::string(resource.group) + "/";
    path += resource.version;
    if (resource.namespaced && !key.ns.empty()) path += "/namespaces/" + percent_encode(key.ns);
    path.append("/").append(resource.plural);
    if (!key.name.empty()) path += "/" + percent_encode(key.name);
    return path;
}

Request get(const Resource& resource, const api::ObjectKey& key) { return {.target = path(resource, key)}; }

Request create(const Resource& resource, const api::Json& object) {
    api::ObjectKey collection = key_of(resource, object);
    collection.name.clear();
    return {.method = "POST",
            .target = managed(path(resource, collection)),
            .content_type = std::string(json_type),
            .body = api::to_json(object)};
}

Request apply(const Resource& resource, api::Json object, const OnlyIf& only_if, bool force) {
    add(only_if, object, "metadata");
    const std::string target = managed(path(resource, key_of(resource, object)));
    return patch(target + (force ? "&force=true" : "&force=false"), "application/apply-patch+yaml", object);
}

Request apply_new(const Resource& resource, api::Json object) {
    object["metadata"]["resourceVersion"] = "0";
    return apply(resource, std::move(object), Unconditional(), false);
}

Request merge_patch(const Resource& resource, const api::ObjectKey& key, api::Json patch,
                    const OnlyIf& only_if) {
    return patch_if(path(resource, key), std::move(patch), only_if);
}

Request merge_patch_status(const Resource& resource, const api::ObjectKey& key, api::Json patch,
                           const OnlyIf& only_if) {
    return patch_if(path(resource, key) + "/status", std::move(patch), only_if);
}

Request replace(const Resource& resource, const api::Json& object) {
    return {.method = "PUT",
            .target = managed(path(resource, key_of(resource, object))),
            .content_type = std::string(json_type),
            .body = api::to_json(object)};
}

Request remove(const Resource& resource, const api::ObjectKey& key, Propagation how, const OnlyIf& only_if) {
    api::Json options = api::Json::object(
        {{"apiVersion", "v1"},
         {"kind", "DeleteOptions"},
         {"propagationPolicy", how == Propagation::background ? "Background" : "Foreground"}});
    add(only_if, options, "preconditions");
    return {.method = "DELETE",
            .target = path(resource, key),
            .content_type = std::string(json_type),
            .body = api::to_json(options)};
}

Request dry_run(Request write) {
    write.target += write.target.find('?') == std::string::npos ? "?dryRun=All" : "&dryRun=All";
    return write;
}

}  // namespace kube
