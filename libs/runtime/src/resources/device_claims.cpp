#include "resources/resources.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "api/text.hpp"
#include "template/edit.hpp"

namespace runtime {
namespace {

using api::Json;

namespace resources = api::resources;
constexpr const api::Resource* kinds[] = {&resources::resource_claims, &resources::resource_claim_templates,
                                          &resources::device_classes};
const Json nothing;

// Each is a request to the API server in every reconcile that builds. The number is unknown if a
// container uses more claims than a patch may have (32, as in the schema), or claims for more classes of
// devices than the requests of two of them can name.
constexpr std::size_t most_sources = 32;
constexpr std::size_t most_classes = 64;

// Returns the need of an object about devices. If the object may not be read, the number is unknown, and the
// build goes on.
Need need_of(const api::Resource& resource, std::string_view ns, std::string_view name) {
    return {.resource = resource, .key = {std::string(ns), std::string(name)}, .optional = true};
}

std::string named(const Need& need) { return std::string(need.resource.kind) + " \"" + need.key.name + "\""; }

// Requests of a claim that one reference of the container names.
struct Reference {
    std::string claim = {};    // the Pod's name of the claim
    std::string request = {};  // empty = all of them
    Need source = {};          // ResourceClaim or ResourceClaimTemplate
};

// The references of the container, or why they are unknown.
struct References {
    std::vector<Reference> list = {};
    std::string why_not = {};
};

References references(const CountedResources& counted, const std::string& ns) {
    References found;
    api::NamedItems of_pod;
    std::set<std::pair<std::string_view, std::string_view>> sources;
    if (!counted.pod_spec) return found;
    const auto& claims = counted.resources["claims"].items();
    if (!claims.empty() && counted.pod_spec->contains("schedulingGroup"))
        return {.why_not = "claim \"" + std::string(claims.front()["name"].as_string()) +
                           "\": Pods of a schedulingGroup may share its devices"};
    for (const Json& entry : counted.resources["claims"].items()) {
        const auto name = entry["name"].as_string();
        const Json* claim = of_pod.find((*counted.pod_spec)["resourceClaims"], name);
        // The reference is one of `resourcesPerNode`, which another job gets, too: that job is counted
        // already.
        if (!claim) return {.why_not = "claim \"" + std::string(name) + "\": their Pod has no such claim"};
        const auto existing = (*claim)["resourceClaimName"].as_string();
        const auto made = (*claim)["resourceClaimTemplateName"].as_string();
        if (existing.empty() && made.empty()) continue;
        sources.emplace(existing, existing.empty() ? made : existing);
        if (sources.size() > most_sources)
            return {.why_not =
                        "the container uses more than " + std::to_string(most_sources) + " different claims"};
        found.list.push_back({std::string(name), std::string(entry["request"].as_string()),
                              existing.empty() ? need_of(resources::resource_claim_templates, ns, made)
                                               : need_of(resources::resource_claims, ns, existing)});
    }
    return found;
}

// The observed objects about devices; there may be very many.
class Devices {
public:
    explicit Devices(const std::vector<Json>& observed) {
        for (const Json& object : observed)
            if (std::any_of(std::begin(kinds), std::end(kinds),
                            [&](auto* kind) { return is_of(*kind, object); }))
                by_key_.emplace(Key(object["kind"].as_string(), object["metadata"]["namespace"].as_string(),
                                    object["metadata"]["name"].as_string()),
                                &object);
    }

    // Returns the object; nullptr if it does not exist, or cannot be read.
    const Json* find(const Need& need) const {
        const auto at = by_key_.find(Key(need.resource.kind, need.key.ns, need.key.name));
        return at == by_key_.end() ? nullptr : at->second;
    }

private:
    using Key = std::tuple<std::string_view, std::string_view, std::string_view>;
    std::map<Key, const Json*> by_key_ = {};
};

const Json& devices_of(const Json& source) {
    const Json& spec = source["spec"];
    return (source["kind"].as_string() == "ResourceClaim" ? spec : spec["spec"])["devices"];
}

// Returns the parts of a request that have a class, a mode and a count: its alternatives, or the one exact
// request.
std::vector<const Json*> alternatives(const Json& request) {
    std::vector<const Json*> found;
    for (const Json& entry : request["firstAvailable"].items()) found.push_back(&entry);
    if (request["exactly"].is_object()) found.push_back(&request["exactly"]);
    return found;
}

// What an administrator may call a request whose class says nothing: "gpus".
bool names_gpus(std::string_view request) { return api::to_lower(request).find("gpu") != std::string::npos; }

// Returns the classes of which neither their own names nor those of the requests show what their devices are,
// without repetition.
std::set<std::string> unclear_classes(const CountedResources& counted, const References& references,
                                      const DeviceTable& table, const Devices& observed) {
    std::set<std::string> names;
    for (const auto& [name, count] : devices_by_class(counted.resources)) names.insert(name);
    for (const Reference& reference : references.list)
        if (const Json* source = observed.find(reference.source))
            for (const Json& request : devices_of(*source)["requests"].items())
                for (const Json* entry : alternatives(request))
                    if (const auto name = (*entry)["deviceClassName"].as_string();
                        !name.empty() && !names_gpus(request["name"].as_string()))
                        names.emplace(name);
    std::erase_if(names, [&](const std::string& name) { return table.find(name).has_value(); });
    return names;
}

// Returns the drivers that the selectors of a class compare a device's with, by equality.
std::vector<std::string_view> drivers_of(const Json& device_class) {
    constexpr std::string_view member = "device.driver";
    std::vector<std::string_view> found;
    for (const Json& selector : device_class["spec"]["selectors"].items()) {
        const std::string_view text = selector["cel"]["expression"].as_string();
        for (auto at = text.find(member); at != text.npos; at = text.find(member, at + 1)) {
            std::string_view rest = text.substr(at + member.size());
            rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
            if (!rest.starts_with("==")) continue;
            rest.remove_prefix(std::min(rest.find_first_not_of(' ', 2), rest.size()));
            if (!rest.starts_with('"') && !rest.starts_with('\'')) continue;
            found.push_back(rest.substr(1, rest.find(rest.front(), 1) - 1));
        }
    }
    return found;
}

bool is_monitoring(const Json& request) { return request["exactly"]["adminAccess"].bool_or(false); }

// A number of devices, or the reason why it is unknown.
struct Number {
    std::int64_t count = 0;
    DeviceUnit unit = DeviceUnit::none;
    std::string_view name = {};  // the one in the table
    std::string why = {};

    bool operator==(const Number& other) const {
        return count == other.count && unit == other.unit && why == other.why;
    }
};

class Counter {
public:
    Counter(const DeviceTable& table, const Devices& observed) : table_(table), observed_(observed) {}

    void add(const Reference& reference) {
        const Json* source = observed_.find(reference.source);
        if (!source)
            return add(claim_of(reference),
                       {.why = named(reference.source) + " does not exist or cannot be read"});
        for (const Json& request : devices_of(*source)["requests"].items()) {
            const std::string name(request["name"].as_string());
            if (!reference.request.empty() && reference.request != name) continue;
            // Pods share an existing claim under any names.
            const bool shared = reference.source.resource == resources::resource_claims;
            const std::string claim = shared ? "ResourceClaim " + reference.source.key.name : reference.claim;
            if (!seen_.insert({claim, name}).second) continue;
            if (is_monitoring(request)) continue;
            const Json& allocation = (*source)["status"]["allocation"];
            if (shared && allocation.is_object())
                add_allocated(claim_of(reference), request, allocation["devices"]["results"]);
            else
                add(claim_of(reference), requested(request));
        }
    }

    // Adds devices of the resource deviceclass.resource.kubernetes.io/<class>.
    void add_devices(const std::string& class_name, std::int64_t count) {
        add("resources of class \"" + class_name + "\"", times(count, device_of(class_name, {})));
    }

    DeviceCount take() && {
        if (!why_.empty()) return {.known = false, .why = std::move(why_)};
        return sum_.total();
    }

private:
    static std::string claim_of(const Reference& reference) { return "claim \"" + reference.claim + "\""; }

    void add(const std::string& what, const Number& number) {
        if (!number.why.empty() && why_.empty()) why_ = what + ": " + number.why;
        if (number.count > 0) sum_.add(number.name, number.unit, number.count);
    }

    static Number times(std::int64_t count, Number number) {
        const bool counts = number.unit == DeviceUnit::device || number.unit == DeviceUnit::together;
        if (counts) number.count = count;
        return number;
    }

    // Returns one device of the class, by the names of the class and of a request, or none.
    Number device_of(std::string_view class_name, std::string_view request) const {
        if (const auto unit = table_.find(class_name)) return one(class_name, *unit);
        if (names_gpus(request)) return one(request, DeviceUnit::device);
        const Need need = need_of(resources::device_classes, "", class_name);
        const Json* device_class = class_name.empty() ? nullptr : observed_.find(need);
        if (!device_class) return {.why = named(need) + " does not exist or cannot be read"};
        std::vector<std::string_view> names = {(*device_class)["spec"]["extendedResourceName"].as_string()};
        for (const std::string_view driver : drivers_of(*device_class)) names.push_back(driver);
        for (const std::string_view name : names)
            if (const auto unit = table_.find(name)) return one(name, *unit);
        names.push_back(need.key.name);
        if (std::any_of(names.begin(), names.end(), looks_like_device))
            return {.why = named(need) + " is in no table of accelerators (--accelerators)"};
        return {};
    }

    static Number one(std::string_view name, DeviceUnit unit) {
        if (unit == DeviceUnit::none) return {};
        // Parts of one and of another number are the same. Whatever else a name stands for as a resource,
        // what is claimed are devices.
        const bool counts = unit == DeviceUnit::together || unit == DeviceUnit::part;
        return {.count = 1, .unit = counts ? unit : DeviceUnit::device, .name = name};
    }

    Number devices(const Json& entry, std::string_view request) const {
        Number device = device_of(entry["deviceClassName"].as_string(), request);
        if (device.count == 0 || device.unit == DeviceUnit::part) return device;
        const auto mode = entry["allocationMode"].as_string();
        if (!mode.empty() && mode != "ExactCount")
            return {.why =
                        "allocation mode " + std::string(mode) + " does not tell how many devices there are"};
        const std::int64_t count = entry["count"].int_or(1);
        return times(count > 0 ? count : 1, std::move(device));
    }

    // Returns the number by the spec of a claim.
    Number requested(const Json& request) const {
        const auto entries = alternatives(request);
        if (entries.empty())
            return {.why = "request \"" + std::string(request["name"].as_string()) +
                           "\" is of a kind that is not known here"};
        const auto name = request["name"].as_string();
        const Number first = devices(*entries.front(), name);
        for (const Json* entry : entries)
            if (const Number other = devices(*entry, name); other != first)
                return {.why = other.why.empty() ? "the alternatives of request \"" +
                                                       std::string(request["name"].as_string()) +
                                                       "\" are of different sizes"
                                                 : other.why};
        return first;
    }

    // Adds the devices of the allocation: a result names its request, with the chosen alternative.
    void add_allocated(const std::string& claim, const Json& request, const Json& results) {
        const auto name = request["name"].as_string();
        const std::string alternative = std::string(name) + "/";
        for (const Json& result : results.items()) {
            const auto taken = result["request"].as_string();
            const Json* entry = nullptr;
            if (taken == name && request["exactly"].is_object()) entry = &request["exactly"];
            if (taken.starts_with(alternative))
                entry = find_named(request["firstAvailable"], taken.substr(alternative.size()));
            if (!entry && taken != name && !taken.starts_with(alternative)) continue;
            add(claim, device_of((entry ? *entry : nothing)["deviceClassName"].as_string(), name));
        }
    }

    const DeviceTable& table_;
    const Devices& observed_;
    std::set<std::pair<std::string, std::string>> seen_ = {};
    DeviceSum sum_ = {};
    std::string why_ = {};
};

// Returns what each of the Pods has of devices that they share.
DeviceCount divided(DeviceCount shared, std::int64_t pods) {
    if (!shared.any()) return shared;
    const std::int64_t among = std::max<std::int64_t>(1, pods);
    if (shared.count % among != 0 || shared.together % among != 0)
        return {.known = false,
                .why = "the " + std::to_string(shared.count + shared.together) +
                       " devices of the gang's claims cannot be divided evenly among " +
                       std::to_string(among) + " Pods"};
    shared.count /= among;
    shared.together /= among;
    return shared;
}

DeviceCount sum(DeviceCount one, const DeviceCount& other) {
    if (!one.known || !other.known) return {.known = false, .why = one.known ? other.why : one.why};
    one.count += other.count;
    one.together += other.together;
    one.gpus = one.gpus || other.gpus;
    one.shared = one.shared || other.shared;
    return one;
}

}  // namespace

void add_claim_needs(const CountedResources& counted, const std::string& ns, const DeviceTable& table,
                     const std::vector<Json>& observed, Needs& needs) {
    if (devices_in(counted.resources, table).any()) return;
    const References wanted = references(counted, ns);
    std::set<std::pair<std::string_view, api::ObjectKey>> asked;
    for (const Reference& reference : wanted.list)
        if (asked.emplace(reference.source.resource.kind, reference.source.key).second)
            needs.objects.push_back(reference.source);
    const auto classes = unclear_classes(counted, wanted, table, Devices(observed));
    if (classes.size() > most_classes) return;
    for (const std::string& name : classes)
        needs.objects.push_back(need_of(resources::device_classes, "", name));
}

DeviceCount count_devices(const CountedResources& counted, const std::string& ns, const DeviceTable& table,
                          const std::vector<Json>& observed) {
    DeviceCount own = devices_in(counted.resources, table);
    if (own.any()) return own;
    const References wanted = references(counted, ns);
    if (!wanted.why_not.empty()) return {.known = false, .why = wanted.why_not};
    const Devices devices(observed);
    if (unclear_classes(counted, wanted, table, devices).size() > most_classes)
        return {
            .known = false,
            .why = "its claims are for more than " + std::to_string(most_classes) + " classes of devices"};
    Counter counter(table, devices);
    for (const auto& [name, count] : devices_by_class(counted.resources)) counter.add_devices(name, count);
    const auto is_shared = [&](const Reference& reference) {
        const auto& shared = counted.shared_claims;
        return std::find(shared.begin(), shared.end(), reference.claim) != shared.end();
    };
    Counter of_group(table, devices);
    for (const Reference& reference : wanted.list) (is_shared(reference) ? of_group : counter).add(reference);
    DeviceCount claimed =
        sum(std::move(counter).take(), divided(std::move(of_group).take(), counted.sharing_pods));
    // A resource that looks like a device is unknown, unless there are others.
    if (claimed.known && !claimed.any() && !own.why.empty()) return own;
    return claimed;
}

}  // namespace runtime
