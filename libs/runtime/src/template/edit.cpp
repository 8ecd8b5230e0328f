#include "template/edit.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace runtime {
namespace {

using api::Json;

void upsert_by(Json& list, std::string_view key, Json entry) {
    const std::string_view wanted = std::as_const(entry)[key].as_string();
    for (Json& item : list.items())
        if (std::as_const(item)[key].as_string() == wanted) {
            item = std::move(entry);
            return;
        }
    list.push_back(std::move(entry));
}

// Upserts made(entry), which has the name of the entry, for each entry. Uses an index of names, so that
// thousands of entries in a list of thousands do not take millions of comparisons.
template <class Made>
void upsert_all(Json::Array& list, const Json& entries, Made made) {
    constexpr auto nowhere = static_cast<std::size_t>(-1);
    std::map<std::string_view, std::size_t> places;  // the keys are views of `entries`, which do not change
    for (const Json& entry : entries.items()) places.emplace(entry["name"].as_string(), nowhere);
    for (std::size_t i = 0; i < list.size(); ++i)
        if (const auto at = places.find(std::as_const(list[i])["name"].as_string());
            at != places.end() && at->second == nowhere)
            at->second = i;
    for (const Json& entry : entries.items()) {
        std::size_t& place = places[entry["name"].as_string()];
        if (place == nowhere) {
            place = list.size();
            list.push_back(made(entry));
        } else {
            list[place] = made(entry);
        }
    }
}

std::string_view protocol_of(const Json& port) {
    return port["protocol"].as_string().empty() ? "TCP" : port["protocol"].as_string();
}

// Sources of variables are copied unchanged, with one exception: `apiVersion: v1` of a field reference, which
// the original omits. The API server's default is v1, so the Pods are the same. But in a JobSet that the
// original applied this controller does not own such a field, and sending it would be a change.
Json without_default_version(Json entry) {
    Json* source = entry.find("valueFrom");
    Json* field = source ? source->find("fieldRef") : nullptr;
    if (field && std::as_const(*field)["apiVersion"].as_string() == "v1") field->erase("apiVersion");
    return entry;
}

}  // namespace

Json env_value(std::string_view name, std::string value) {
    return Json::object({{"name", name}, {"value", std::move(value)}});
}

Json env_rank(std::string_view name) {
    // Set by the Job controller on the Pods of Indexed Jobs.
    const Json field =
        Json::object({{"fieldPath", "metadata.annotations['batch.kubernetes.io/job-completion-index']"}});
    return Json::object({{"name", name}, {"valueFrom", Json::object({{"fieldRef", field}})}});
}

void upsert_env(Json& container, Json entry) { upsert_by(container["env"], "name", std::move(entry)); }

void upsert_all_env(Json& container, const Json& entries) {
    if (!entries.items().empty()) upsert_all(container["env"].items(), entries, without_default_version);
}

void upsert_mount(Json& container, Json mount) {
    upsert_by(container["volumeMounts"], "mountPath", std::move(mount));
}

void upsert_volume(Json& pod_spec, Json volume) { upsert_by(pod_spec["volumes"], "name", std::move(volume)); }

void upsert_all_claims(Json& pod_spec, const Json& claims) {
    if (claims.items().empty()) return;
    upsert_all(pod_spec["resourceClaims"].items(), claims, [](const Json& claim) {
        Json made = Json::object({{"name", claim["name"]}});
        for (const std::string_view source : {"resourceClaimName", "resourceClaimTemplateName"})
            if (!claim[source].empty()) made[source] = claim[source];
        return made;
    });
}

void add_missing_claims(Json& container, const Json& claims) {
    if (claims.items().empty()) return;
    Json::Array& list = container["resources"]["claims"].items();
    std::set<std::string, std::less<>> known;
    for (const Json& claim : list) known.emplace(claim["name"].as_string());
    for (const Json& claim : claims.items())
        if (known.emplace(claim["name"].as_string()).second)
            list.push_back(Json::object({{"name", claim["name"]}}));
}

api::Result<> upsert_port(Json& container, Json port) {
    // Ports are identified by number, not by name: most have no name.
    const Json& wanted = port;
    const auto same = [&wanted](const Json& other) {
        return other["containerPort"] == wanted["containerPort"] && protocol_of(other) == protocol_of(wanted);
    };
    Json::Array& ports = container["ports"].items();
    const std::string_view name = wanted["name"].as_string();
    for (std::size_t i = 0; i < ports.size() && !name.empty(); ++i)
        if (std::as_const(ports[i])["name"].as_string() == name && !same(ports[i]))
            return api::invalid("ports[" + std::to_string(i) + "].name",
                                "two ports are called \"" + std::string(name) +
                                    "\": this one and one that the runtime's framework needs");
    const auto place = std::find_if(ports.begin(), ports.end(), same);
    if (place == ports.end())
        ports.push_back(std::move(port));
    else
        *place = std::move(port);
    return {};
}

}  // namespace runtime
