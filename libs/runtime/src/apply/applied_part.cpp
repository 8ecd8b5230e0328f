#include <map>
#include <vector>

#include "api/named_items.hpp"
#include "api/names.hpp"
#include "runtime/live_defaults.hpp"
#include "template/open_fields.hpp"

namespace runtime {
namespace {

using api::Json;

// Returns this controller's entry of managedFields with the API version of this release, which is a separate
// owner to the API server; nullptr: none.
const Json* fields_of_own_apply(const Json& live) {
    for (const Json& entry : live["metadata"]["managedFields"].items())
        if (entry["manager"].as_string() == api::field_manager && entry["operation"].as_string() == "Apply" &&
            entry["subresource"].as_string().empty() && entry["apiVersion"] == live["apiVersion"])
            return &entry["fieldsV1"];
    return nullptr;
}

Json part_of(const Json& fields, const Json& live, const Json& built);

// Finds the items of a list that is a map to the API server, by the keys in the field names
// (`k:{"name":"node"}`).
class KeyedItems {
public:
    explicit KeyedItems(const Json& fields) {
        for (const auto& [step, below] : fields.members()) {
            if (!step.starts_with("k:")) continue;
            const auto key = api::parse_json(std::string_view(step).substr(2));
            if (!key) continue;
            if (names_.empty())
                for (const auto& [name, value] : key->members()) names_.push_back(name);
            fields_.emplace(to_json(*key), &below);
        }
    }

    bool empty() const { return fields_.empty(); }
    Json part_of_items(const Json& live, const Json& built) const {
        std::map<std::string, const Json*> wanted;
        for (const Json& item : built.items()) wanted.emplace(key_of(item), &item);
        static const Json none;
        Json kept = Json::array();
        for (const Json& item : live.items()) {
            const std::string key = key_of(item);
            const auto at = fields_.find(key);
            if (at == fields_.end()) continue;
            const auto same = wanted.find(key);
            kept.push_back(part_of(*at->second, item, same == wanted.end() ? none : *same->second));
        }
        return kept;
    }

private:
    std::string key_of(const Json& item) const {
        Json key = Json::object();
        for (const std::string& name : names_) key[name] = item[name];
        return to_json(key);
    }

    std::vector<std::string> names_;
    std::map<std::string, const Json*> fields_;
};

// Returns the part of `live` that `fields` (FieldsV1) names.
Json part_of(const Json& fields, const Json& live, const Json& built) {
    // The fields do not name its content: it is a scalar, or atomic, or an object that was applied empty,
    // which others may have filled.
    if (fields.empty()) return built.is_object() && built.empty() ? built : live;
    if (live.is_object()) {
        Json::Object::Members kept;
        for (const auto& [key, value] : live.members())
            if (const Json* below = fields.find("f:" + key))
                kept.push_back({key, part_of(*below, value, built[key])});
        return Json(Json::Object(std::move(kept)));
    }
    if (!live.is_array()) return live;
    const KeyedItems items(fields);
    return items.empty() ? live : items.part_of_items(live, built);
}

}  // namespace

Json with_applied_template(const Json& wanted, const Json& built, const Json& live) {
    const Json* fields = fields_of_own_apply(live);
    const Json* of_spec = fields ? fields->find("f:spec") : nullptr;
    Json spec = of_spec ? part_of(*of_spec, live["spec"], built["spec"]) : Json::object();
    take(spec, "suspend", wanted["spec"]);
    const Json kept = std::as_const(spec)["replicatedJobs"];
    Json jobs = Json::array();
    api::NamedItems kept_jobs, wanted_jobs;
    for (const Json& there : live["spec"]["replicatedJobs"].items()) {
        const std::string_view name = there["name"].as_string();
        const Json* job = kept_jobs.find(kept, name);
        const Json* same = wanted_jobs.find(wanted["spec"]["replicatedJobs"], name);
        if (!job && !same) continue;
        Json sent = job ? *job : Json::object({{"name", name}});
        if (same) take_open_fields(sent, *same);
        jobs.push_back(std::move(sent));
    }
    if (!jobs.empty()) spec["replicatedJobs"] = std::move(jobs);
    Json sent = wanted;
    sent["spec"] = std::move(spec);
    return sent;
}

}  // namespace runtime
