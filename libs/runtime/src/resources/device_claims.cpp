#include "resources/resources.hpp"

#include <algorithm>
#include <limits>
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

// Each is a request to the API server in every reconcile that builds. The number of GPUs is unknown if a
// container uses more claims than a patch may have (32, as in the schema), or claims for more classes of
// devices than the requests of two of them can name.
constexpr std::size_t most_sources = 32;
constexpr std::size_t most_classes = 64;

// Returns the need of an object about devices. If the object may not be read, the number of GPUs is unknown,
// and the build goes on.
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
    if (!counted.pod_spec || devices_in(counted.resources).count > 0) return found;
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

bool contains_gpu(std::string_view text) {
    constexpr std::string_view gpu = "gpu";
    return std::search(text.begin(), text.end(), gpu.begin(), gpu.end(),
                       [](char a, char b) { return api::to_lower(a) == b; }) != text.end();
}

// Returns whether a class is one of parts of GPUs, such as mig.nvidia.com.
bool is_of_gpu_parts(std::string_view class_name) { return class_name.starts_with("mig."); }

// Returns the classes of which neither their own names nor those of the requests show whether they are of
// GPUs, without repetition.
std::set<std::string> unclear_classes(const CountedResources& counted, const References& references,
                                      const Devices& observed) {
    std::set<std::string> names;
    for (const auto& [name, count] : devices_by_class(counted.resources)) names.insert(name);
    for (const Reference& reference : references.list)
        if (const Json* source = observed.find(reference.source))
            for (const Json& request : devices_of(*source)["requests"].items())
                for (const Json* entry : alternatives(request))
                    if (const auto name = (*entry)["deviceClassName"].as_string();
                        !name.empty() && !contains_gpu(request["name"].as_string()))
                        names.emplace(name);
    std::erase_if(names, [](const std::string& name) { return contains_gpu(name) || is_of_gpu_parts(name); });
    return names;
}

bool is_monitoring(const Json& request) { return request["exactly"]["adminAccess"].bool_or(false); }

// A number of GPUs, or the reason why it is unknown.
struct Number {
    std::int64_t count = 0;
    std::string why = {};

    bool operator==(const Number&) const = default;
};

class Counter {
public:
    explicit Counter(const Devices& observed) : observed_(observed) {}

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
            const Json& allocation = (*source)["status"]["allocation"];
            add(claim_of(reference), shared && allocation.is_object()
                                         ? allocated(request, allocation["devices"]["results"])
                                         : requested(request));
        }
    }

    // Adds devices of the resource deviceclass.resource.kubernetes.io/<class>.
    void add_devices(const std::string& class_name, std::int64_t count) {
        Number number = is_gpu(class_name, {});
        number.count *= count;
        add("resources of class \"" + class_name + "\"", number);
    }

    // Returns the sum. Parts of GPUs count as one GPU if there are no others: a process sees one part at
    // most, however many there are.
    DeviceCount take(bool has_parts) && {
        if (sum_.known && sum_.count == 0 && (has_parts || has_parts_)) sum_.count = 1;
        return std::move(sum_);
    }

private:
    static std::string claim_of(const Reference& reference) { return "claim \"" + reference.claim + "\""; }

    void add(const std::string& what, const Number& number) {
        if (!number.why.empty()) {
            if (sum_.known) sum_.why = what + ": " + number.why;
            sum_.known = false;
            sum_.count = 0;
        }
        if (!sum_.known) return;
        const auto left = std::numeric_limits<std::int64_t>::max() - sum_.count;
        sum_.count += std::min(left, number.count);
    }

    // Returns 1 if devices that a request of that name has of the class are GPUs, 0 if they are not.
    Number is_gpu(std::string_view class_name, std::string_view request) {
        if (contains_gpu(class_name) || contains_gpu(request)) return {.count = 1};
        if (is_of_gpu_parts(class_name)) {
            has_parts_ = true;
            return {};
        }
        const Need need = need_of(resources::device_classes, "", class_name);
        const Json* device_class = class_name.empty() ? nullptr : observed_.find(need);
        if (!device_class) return {.why = named(need) + " does not exist or cannot be read"};
        return {.count = contains_gpu((*device_class)["spec"]["extendedResourceName"].as_string()) ? 1 : 0};
    }

    Number devices(const Json& entry, std::string_view request) {
        const Number gpu = is_gpu(entry["deviceClassName"].as_string(), request);
        if (!gpu.why.empty() || gpu.count == 0) return gpu;
        const auto mode = entry["allocationMode"].as_string();
        if (!mode.empty() && mode != "ExactCount")
            return {.why =
                        "allocation mode " + std::string(mode) + " does not tell how many devices there are"};
        const std::int64_t count = entry["count"].int_or(1);
        return {.count = count > 0 ? count : 1};
    }

    // Returns the number by the spec of a claim.
    Number requested(const Json& request) {
        if (is_monitoring(request)) return {};
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

    // Returns the number by the allocation: a result names its request, with the chosen alternative.
    Number allocated(const Json& request, const Json& results) {
        if (is_monitoring(request)) return {};
        const std::string name(request["name"].as_string());
        Number sum;
        for (const Json& result : results.items()) {
            const auto taken = result["request"].as_string();
            const Json* entry = nullptr;
            if (taken == name && request["exactly"].is_object()) entry = &request["exactly"];
            if (taken.starts_with(name + "/"))
                entry = find_named(request["firstAvailable"], taken.substr(name.size() + 1));
            if (!entry && taken != name && !taken.starts_with(name + "/")) continue;
            const Number gpu = is_gpu((entry ? *entry : nothing)["deviceClassName"].as_string(), name);
            if (!gpu.why.empty()) return gpu;
            sum.count += gpu.count;
        }
        return sum;
    }

    const Devices& observed_;
    std::set<std::pair<std::string, std::string>> seen_ = {};
    DeviceCount sum_ = {};
    bool has_parts_ = false;
};

}  // namespace

void add_claim_needs(const CountedResources& counted, const std::string& ns,
                     const std::vector<Json>& observed, Needs& needs) {
    const References wanted = references(counted, ns);
    std::set<std::pair<std::string_view, api::ObjectKey>> asked;
    for (const Reference& reference : wanted.list)
        if (asked.emplace(reference.source.resource.kind, reference.source.key).second)
            needs.objects.push_back(reference.source);
    if (devices_in(counted.resources).count > 0) return;
    const auto classes = unclear_classes(counted, wanted, Devices(observed));
    if (classes.size() > most_classes) return;
    for (const std::string& name : classes)
        needs.objects.push_back(need_of(resources::device_classes, "", name));
}

DeviceCount count_devices(const CountedResources& counted, const std::string& ns,
                          const std::vector<Json>& observed) {
    DeviceCount own = devices_in(counted.resources);
    if (own.count > 0) return own;
    const References wanted = references(counted, ns);
    if (!wanted.why_not.empty()) return {.known = false, .why = wanted.why_not};
    const Devices devices(observed);
    if (unclear_classes(counted, wanted, devices).size() > most_classes)
        return {
            .known = false,
            .why = "its claims are for more than " + std::to_string(most_classes) + " classes of devices"};
    Counter counter(devices);
    for (const auto& [name, count] : devices_by_class(counted.resources)) counter.add_devices(name, count);
    for (const Reference& reference : wanted.list) counter.add(reference);
    return std::move(counter).take(has_gpu_parts(counted.resources));
}

}  // namespace runtime
