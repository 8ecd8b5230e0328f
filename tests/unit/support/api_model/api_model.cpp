#include "api_model.hpp"

#include <algorithm>
#include <limits>

#include "admission.hpp"
#include "api/meta.hpp"
#include "merge/merge_patch.hpp"
#include "preconditions.hpp"

namespace model {
namespace {

using api::Json;

// Copies metadata that only the server writes from `live`.
void keep_identity(Json& object, const Json& live) {
    Json& metadata = object["metadata"];
    for (const char* name : {"uid", "creationTimestamp", "generation", "deletionTimestamp",
                             "deletionGracePeriodSeconds", "resourceVersion", "name", "namespace"}) {
        if (const Json* value = live["metadata"].find(name))
            metadata[name] = *value;
        else
            metadata.erase(name);
    }
    metadata.erase("managedFields");
    object["apiVersion"] = live["apiVersion"];
    object["kind"] = live["kind"];
}

void forget_nothing_owned(std::map<Manager, FieldSet>& managers) {
    std::erase_if(managers, [](const auto& entry) { return entry.second.empty(); });
}

// A field that a writer changed belongs to this writer alone.
void note_update(std::map<Manager, FieldSet>& managers, const Manager& writer, const Difference& found) {
    for (auto& [manager, set] : managers)
        if (manager != writer) set = subtract(subtract(set, found.changed), found.removed);
    FieldSet& ours = managers[writer];
    ours = unite(subtract(ours, found.removed), found.changed);
    forget_nothing_owned(managers);
}

// "label=value", percent-encoded.
bool has_label(const Json& object, std::string_view selector) {
    for (const auto& [name, value] : object["metadata"]["labels"].members())
        if (selector == kube::percent_encode(name + "=" + std::string(value.as_string()))) return true;
    return false;
}

// "involvedObject.uid=u,type=Warning", percent-encoded.
bool has_fields(const Json& object, const std::string& selector) {
    const auto decoded = [&] {
        std::string text;
        for (std::size_t i = 0; i < selector.size(); ++i)
            if (selector[i] == '%') {
                text += static_cast<char>(std::stoi(selector.substr(i + 1, 2), nullptr, 16));
                i += 2;
            } else {
                text += selector[i];
            }
        return text;
    }();
    for (std::size_t at = 0; at < decoded.size();) {
        const auto end = std::min(decoded.find(',', at), decoded.size());
        const auto equals = decoded.find('=', at);
        const bool differs = decoded[equals - 1] == '!';
        const auto path_end = differs ? equals - 1 : equals;
        const Json* value = &object;
        for (std::size_t step = at; step < path_end;) {
            const auto dot = std::min(decoded.find('.', step), path_end);
            value = &(*value)[decoded.substr(step, dot - step)];
            step = dot + 1;
        }
        const bool is_equal = value->as_string() == decoded.substr(equals + 1, end - equals - 1);
        if (is_equal == differs) return false;
        at = end + 1;
    }
    return true;
}

Json spec_only(const Json& object) {
    Json tree = object;
    for (const char* name : {"metadata", "status", "apiVersion", "kind"}) tree.erase(name);
    return tree;
}

}  // namespace

Reply failure(int code, std::string_view reason, const std::string& message) {
    Json status = Json::object({{"kind", "Status"},
                                {"apiVersion", "v1"},
                                {"status", "Failure"},
                                {"message", message},
                                {"code", code}});
    if (!reason.empty()) status["reason"] = reason;
    return {.status = code, .body = to_json(status)};
}

ApiModel::Target ApiModel::parse(const std::string& text) {
    const auto question = std::min(text.find('?'), text.size());
    Target target;
    for (std::size_t at = question; at < text.size();) {
        const auto end = std::min(text.find('&', at + 1), text.size());
        const std::string pair = text.substr(at + 1, end - at - 1);
        const auto equals = std::min(pair.find('='), pair.size());
        target.query[pair.substr(0, equals)] = equals < pair.size() ? pair.substr(equals + 1) : "";
        at = end;
    }
    std::vector<std::string> parts;
    for (std::size_t at = 0; at < question;) {
        const auto end = std::min(text.find('/', at + 1), question);
        parts.push_back(text.substr(at + 1, end - at - 1));
        at = end;
    }
    if (parts.size() < 3) return target;
    const bool core = parts[0] == "api";
    std::size_t at = core ? 2 : 3;
    if (parts.size() > at + 2 && parts[at] == "namespaces") {
        target.key.ns = parts[at + 1];
        at += 2;
    }
    if (parts.size() <= at) return target;
    target.kind = kind_of(core ? parts[at] : parts[at] + "." + parts[1]);
    if (parts.size() > at + 1) target.key.name = parts[at + 1];
    target.status = parts.size() > at + 2 && parts[at + 2] == "status";
    return target;
}

Reply ApiModel::handle(const kube::Request& request, const std::string& user) {
    const Target target = parse(request.target);
    if (!target.kind) return failure(404, "NotFound", "the server could not find the requested resource");
    const Json body = request.body.empty() ? Json() : api::parse_json(request.body).value();
    if (request.method == "GET") return get(target);
    const auto named = target.query.find("fieldManager");
    Target of = target;
    of.user = user;
    of.query["fieldManager"] =
        named == target.query.end() ? (user.empty() ? "unknown" : user) : named->second;
    const Manager writer = {.name = of.query["fieldManager"], .subresource = of.status ? "status" : ""};
    if (request.method == "POST") {
        of.key.name = body["metadata"]["name"].as_string();
        return create(of, body, writer, false);
    }
    if (request.method == "PATCH" && request.content_type == "application/apply-patch+yaml")
        return apply(of, body);
    if (!find(of.kind->resource, of.key))
        return failure(404, "NotFound",
                       std::string(of.kind->resource) + " \"" + of.key.name + "\" not found");
    if (request.method == "PATCH") return merge_patch(of, body);
    const bool unconditional = body["metadata"]["resourceVersion"].as_string().empty();
    if (request.method == "PUT" && unconditional && !allows_unconditional_update(*of.kind))
        return must_be_specified(*of.kind, of.key);
    if (request.method == "PUT") return replace(of, body);
    if (request.method == "DELETE") return remove(of, body);
    return failure(405, "MethodNotAllowed",
                   "the server does not allow this method on the requested resource");
}

void ApiModel::restore(std::string_view resource, Json object) {
    const Kind& kind = *kind_of(resource);
    const api::ObjectKey key = api::parse_meta(object).key();
    const Stored* stored = find(resource, key);
    auto managers = stored ? stored->managers : std::map<Manager, FieldSet>();
    Json& metadata = object["metadata"];
    if (!metadata.contains("uid")) metadata["uid"] = "uid-" + std::to_string(++uids_);
    if (!metadata.contains("creationTimestamp")) metadata["creationTimestamp"] = api::format_time(now_());
    object["apiVersion"] = kind.api_version;
    object["kind"] = kind.kind;
    default_by_schema(kind, object);
    default_by_webhook(kind, object);
    const Target target = {.kind = &kind, .key = key};
    store(target, Json(), std::move(object), std::move(managers));
}

const Stored* ApiModel::find(std::string_view resource, const api::ObjectKey& key) const {
    const auto& objects = all(resource);
    const auto at = objects.find(key);
    return at == objects.end() ? nullptr : &at->second;
}

ApiModel::Name ApiModel::name_of(const std::string& text) {
    const Target of = parse(text);
    return of.kind ? Name{of.kind->resource, of.key} : Name{};
}

const Stored* ApiModel::find_target(const std::string& text) const {
    const Target of = parse(text);
    return of.kind ? find(of.kind->resource, of.key) : nullptr;
}

const std::map<api::ObjectKey, Stored>& ApiModel::all(std::string_view resource) const {
    static const Objects none;
    const auto at = objects_.find(resource);
    return at == objects_.end() ? none : at->second;
}

const std::deque<Change>& ApiModel::history(std::string_view resource) const {
    static const std::deque<Change> none;
    const auto at = history_.find(resource);
    return at == history_.end() ? none : at->second;
}

void ApiModel::compact(std::string_view resource) { compacted_[std::string(resource)] = version_; }

std::uint64_t ApiModel::compacted(std::string_view resource) const {
    const auto at = compacted_.find(resource);
    return at == compacted_.end() ? 0 : at->second;
}

Reply ApiModel::get(const Target& target) const {
    if (target.key.name.empty()) return list(target);
    if (const Stored* stored = find(target.kind->resource, target.key))
        return {.status = 200, .body = *stored->text};
    return failure(404, "NotFound",
                   std::string(target.kind->resource) + " \"" + target.key.name + "\" not found");
}

Reply ApiModel::list(const Target& target) const {
    // The model keeps no pages. A real server may answer so at any time, since etcd forgets old versions.
    if (target.query.contains("continue"))
        return failure(410, "Expired", "The provided continue parameter is too old");
    Json items = Json::array();
    const auto selector = target.query.find("labelSelector");
    const auto fields = target.query.find("fieldSelector");
    const auto limit = target.query.find("limit");
    const std::size_t most =
        limit == target.query.end() ? std::numeric_limits<std::size_t>::max() : std::stoul(limit->second);
    bool is_complete = true;
    for (const auto& [key, stored] : all(target.kind->resource)) {
        if (!target.key.ns.empty() && key.ns != target.key.ns) continue;
        if (fields != target.query.end() && !has_fields(stored.object, fields->second)) continue;
        if (selector != target.query.end() && !has_label(stored.object, selector->second)) continue;
        is_complete = items.items().size() < most;
        if (!is_complete) break;
        items.push_back(stored.object);
    }
    Json answer = Json::object({{"apiVersion", target.kind->api_version},
                                {"kind", std::string(target.kind->kind) + "List"},
                                {"items", std::move(items)}});
    answer["metadata"]["resourceVersion"] = std::to_string(version_);
    if (!is_complete) answer["metadata"]["continue"] = "the rest";
    return {.status = 200, .body = to_json(answer)};
}

Reply ApiModel::create(const Target& target, Json object, const Manager& manager, bool applied) {
    const Kind& kind = *target.kind;
    if (!applied && !std::as_const(object)["metadata"]["resourceVersion"].as_string().empty())
        return failure(500, "", "resourceVersion should not be set on objects to be created");
    if (applied && !std::as_const(object)["metadata"]["uid"].as_string().empty())
        return failure(409, "Conflict",
                       "uid mismatch: the provided object specified a uid, and no existing object was found");
    if (kind.has_status) object.erase("status");
    const FieldSet applied_fields = fields_of(object);
    default_by_schema(kind, object);
    const FieldSet fields = applied ? applied_fields : fields_written(object);
    object["metadata"]["namespace"] = target.key.ns;
    default_by_webhook(kind, object);
    if (mutate_create) mutate_create(kind, object);
    if (auto refused = admit(kind, Json(), object)) return *refused;
    if (kind.kind == "JobSet")
        if (auto refused = admit_claims(*this, object)) return *refused;
    if (admit_create)
        if (auto refused = admit_create(kind, object)) return *refused;
    // Only storing the object shows whether it has changed.
    if (find(kind.resource, target.key))
        return failure(409, "AlreadyExists",
                       std::string(kind.resource) + " \"" + target.key.name + "\" already exists");
    if (target.query.contains("dryRun")) return {.status = 201, .body = to_json(object)};
    Json& metadata = object["metadata"];
    if (target.key.ns.empty()) metadata.erase("namespace");
    metadata["uid"] = "uid-" + std::to_string(++uids_);
    metadata["creationTimestamp"] = api::format_time(now_());
    metadata.erase("managedFields");
    if (kind.has_generation) metadata["generation"] = 1;
    object["apiVersion"] = kind.api_version;
    object["kind"] = kind.kind;
    std::map<Manager, FieldSet> managers;
    if (kind.tracks_fields) managers[manager] = fields;
    forget_nothing_owned(managers);
    Reply reply = store(target, Json(), std::move(object), std::move(managers));
    reply.status = 201;
    return reply;
}

Reply ApiModel::merge_patch(const Target& target, const Json& patch) {
    const Json& live = find(target.kind->resource, target.key)->object;
    Json object = live;
    merge::merge_patch(object, patch);
    if (patch["metadata"]["resourceVersion"].is_null()) object["metadata"].erase("resourceVersion");
    if (auto refused = check_versions(*target.kind, patch["metadata"], live, target.status)) return *refused;
    object["metadata"].erase("uid");
    return replace(target, object);
}

Reply ApiModel::replace(const Target& target, const Json& wanted) {
    const Kind& kind = *target.kind;
    const Stored& stored = *find(kind.resource, target.key);
    if (auto refused = check_preconditions(kind, wanted["metadata"], stored.object)) return *refused;
    Json object = wanted;
    keep_identity(object, stored.object);
    if (target.status) {
        Json status = std::as_const(object)["status"];
        object = stored.object;
        if (status.is_null())
            object.erase("status");
        else
            object["status"] = std::move(status);
    } else if (kind.has_status) {
        if (stored.object.contains("status"))
            object["status"] = stored.object["status"];
        else
            object.erase("status");
    }
    if (!target.status) {
        if (target.user == kueue) restore_for_kueue(kind, stored.object, object, now_());
        default_by_schema(kind, object);
        if (auto refused = admit(kind, stored.object, object)) return *refused;
        if (reviews_edits && kind.kind == "TrainJob")
            if (auto refused = admit_edit(*this, stored.object, object)) return *refused;
    }
    std::map<Manager, FieldSet> managers = stored.managers;
    // An object that was created without managed fields is tracked from the first apply on.
    if (kind.tracks_fields && !managers.empty())
        note_update(managers, {target.query.at("fieldManager"), false, target.status ? "status" : ""},
                    difference(stored.object, object));
    const Json before = stored.object;
    return store(target, before, std::move(object), std::move(managers));
}

Reply ApiModel::apply(const Target& target, const Json& config) {
    const Kind& kind = *target.kind;
    const Manager applier = {.name = target.query.at("fieldManager"), .applies = true};
    const Stored* stored = find(kind.resource, target.key);
    if (!stored) return create(target, config, applier, true);
    Json asked = config["metadata"];
    const bool unversioned = asked["resourceVersion"].as_string() == "0";
    if (unversioned) asked.erase("resourceVersion");
    if (auto refused = check_versions(kind, asked, stored->object, false)) return *refused;

    Json bare = config;
    if (kind.has_status) bare.erase("status");
    std::map<Manager, FieldSet> managers = stored->managers;
    if (managers.empty()) managers[{"before-first-apply"}] = fields_written(stored->object);
    const FieldSet before = managers.contains(applier) ? managers[applier] : FieldSet();
    managers[applier] = fields_of(bare);
    FieldSet owned;
    for (const auto& [manager, set] : managers) owned = unite(owned, set);
    Json object = pruned(merged(stored->object, bare), subtract(before, owned), owned);
    keep_identity(object, stored->object);

    const Difference found = difference(stored->object, object);
    std::string conflicts;
    for (auto& [manager, set] : managers) {
        if (manager == applier) continue;
        if (!intersect(set, found.changed).empty())
            conflicts += (conflicts.empty() ? "\"" : ", \"") + manager.name + "\"";
        set = subtract(subtract(set, found.changed), found.removed);
    }
    if (!conflicts.empty() && target.query.find("force") != target.query.end() &&
        target.query.at("force") != "true")
        return failure(409, "Conflict", "Apply failed with conflicts: conflicts with " + conflicts);
    if (unversioned && !allows_unconditional_update(kind)) return must_be_specified(kind, target.key);
    forget_nothing_owned(managers);
    default_by_schema(kind, object);
    if (auto refused = admit(kind, stored->object, object)) return *refused;
    const Json live = stored->object;
    return store(target, live, std::move(object), std::move(managers));
}

Reply ApiModel::remove(const Target& target, const Json& options) {
    const Kind& kind = *target.kind;
    const Stored& stored = *find(kind.resource, target.key);
    if (auto refused = check_preconditions(kind, options["preconditions"], stored.object)) return *refused;
    Json object = stored.object;
    Json finalizers = Json::array();
    const std::string_view how = options["propagationPolicy"].as_string();
    for (const Json& finalizer : std::as_const(object)["metadata"]["finalizers"].items())
        if (finalizer.as_string() != "foregroundDeletion" && finalizer.as_string() != "orphan")
            finalizers.push_back(finalizer);
    if (how == "Foreground") finalizers.push_back("foregroundDeletion");
    if (how == "Orphan") finalizers.push_back("orphan");
    Reply reply = {.status = 200, .body = *stored.text};
    if (finalizers.empty()) {
        drop(kind, target.key);
        return reply;
    }
    Json& metadata = object["metadata"];
    metadata["finalizers"] = std::move(finalizers);
    if (!metadata.contains("deletionTimestamp")) {
        metadata["deletionTimestamp"] = api::format_time(now_());
        metadata["deletionGracePeriodSeconds"] = 0;
        if (kind.has_generation) metadata["generation"] = std::as_const(metadata)["generation"].int_or(0) + 1;
    }
    const Json before = stored.object;
    return store(target, before, std::move(object), stored.managers);
}

// `after` gets the metadata of `before`, except what a user may write.
Reply ApiModel::store(const Target& target, const Json& before, Json after,
                      std::map<Manager, FieldSet> managers) {
    const Kind& kind = *target.kind;
    Stored& stored = objects_[std::string(kind.resource)][target.key];
    if (after == before && managers == stored.managers) return {.status = 200, .body = *stored.text};
    Json& metadata = after["metadata"];
    if (kind.has_generation && !before.is_null() && spec_only(after) != spec_only(before))
        metadata["generation"] = std::as_const(metadata)["generation"].int_or(0) + 1;
    if (metadata.contains("deletionTimestamp") && std::as_const(metadata)["finalizers"].empty()) {
        drop(kind, target.key);
        return {.status = 200, .body = to_json(after)};
    }
    metadata["resourceVersion"] = std::to_string(++version_);
    stored.object = std::move(after);
    stored.managers = std::move(managers);
    stored.text = written(kind, stored);
    const auto text = stored.text;
    note(kind, target.key, before.is_null() ? Change::Type::added : Change::Type::modified, stored.uid(),
         text);
    if (changed) {
        const Json now = stored.object;
        changed(kind, target.key, before, now);
    }
    return {.status = 200, .body = *text};
}

void ApiModel::drop(const Kind& kind, const api::ObjectKey& key) {
    Objects& objects = objects_[std::string(kind.resource)];
    Stored stored = std::move(objects.at(key));
    objects.erase(key);
    const Json before = stored.object;
    stored.object["metadata"]["resourceVersion"] = std::to_string(++version_);
    note(kind, key, Change::Type::deleted, stored.uid(), written(kind, stored));
    if (changed) changed(kind, key, before, Json());
}

void ApiModel::note(const Kind& kind, const api::ObjectKey& key, Change::Type type, std::string uid,
                    std::shared_ptr<const std::string> text) {
    history_[std::string(kind.resource)].push_back({version_, type, key, std::move(uid), std::move(text)});
}

std::shared_ptr<const std::string> ApiModel::written(const Kind& kind, const Stored& stored) const {
    if (!kind.tracks_fields) return std::make_shared<const std::string>(to_json(stored.object));
    Json object = stored.object;
    Json list = Json::array();
    for (const auto& [manager, set] : stored.managers) {
        Json entry = Json::object({{"manager", manager.name},
                                   {"operation", manager.applies ? "Apply" : "Update"},
                                   {"apiVersion", kind.api_version},
                                   {"time", api::format_time(now_())},
                                   {"fieldsType", "FieldsV1"},
                                   {"fieldsV1", to_json_tree(set)}});
        if (!manager.subresource.empty()) entry["subresource"] = manager.subresource;
        list.push_back(std::move(entry));
    }
    if (!list.empty()) object["metadata"]["managedFields"] = std::move(list);
    return std::make_shared<const std::string>(to_json(object));
}

}  // namespace model
