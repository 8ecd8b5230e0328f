#include "template/limits.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "merge/place.hpp"

namespace runtime {
namespace {

using api::Json;
using merge::Place;

// The limits of manifests/base/crds/trainjobs.yaml, which a test compares. Sorted.
constexpr Limit limits[] = {
    {"accessModes", 16},
    {"add", 128},
    {"annotations", 1024},
    {"args", 128},
    {"claims", 128, "name"},
    {"command", 128},
    {"containers", 64, "name"},
    {"drop", 128},
    {"env", 128, "name"},
    {"finalizers", 256},
    {"imagePullSecrets", 64, "name"},
    {"initContainers", 64, "name"},
    {"items", 1024},
    {"labels", 256},
    {"limits", 128},
    {"matchExpressions", 256},
    {"matchFields", 256},
    {"matchLabelKeys", 256},
    {"matchLabels", 256},
    {"mismatchLabelKeys", 256},
    {"monitors", 256},
    {"namespaces", 1024},
    {"nodeSelector", 256},
    {"nodeSelectorTerms", 1024},
    {"options", 256},
    {"portals", 256},
    {"preferredDuringSchedulingIgnoredDuringExecution", 1024},
    {"replicatedJobs", 100, "name"},
    {"requests", 128},
    {"requiredDuringSchedulingIgnoredDuringExecution", 1024},
    {"resourceClaims", 32, "name"},
    {"resourceClaimsPerNode", 32, "name"},
    {"runtimePatches", 16, "manager"},
    {"schedulingGates", 16, "name"},
    {"sources", 256},
    {"supplementalGroups", 65536},
    {"sysctls", 256},
    {"targetWWNs", 256},
    {"tolerations", 128},
    {"userAnnotations", 1024},
    {"values", 5000},
    {"volumeAttributes", 256},
    {"volumeMounts", 128, "name"},
    {"volumes", 128, "name"},
    {"wwids", 256},
};

// Orders names by length first: most names differ in length from the one that is searched for.
constexpr bool below(std::string_view left, std::string_view right) {
    return left.size() != right.size() ? left.size() < right.size() : left < right;
}

constexpr auto by_length = [] {
    auto sorted = std::to_array(limits);
    std::sort(sorted.begin(), sorted.end(),
              [](const Limit& left, const Limit& right) { return below(left.name, right.name); });
    return sorted;
}();

const Limit* limit_of(std::string_view name) {
    const auto at =
        std::lower_bound(by_length.begin(), by_length.end(), name,
                         [](const Limit& limit, std::string_view key) { return below(limit.name, key); });
    return at != by_length.end() && at->name == name ? &*at : nullptr;
}

// The key of an item. Keys are in the order of their last bytes, in which most of them differ.
struct ItemKey {
    std::uint64_t end = 0;
    std::string_view text = {};
    std::size_t item = 0;

    auto operator<=>(const ItemKey&) const = default;
};

std::uint64_t last_bytes(std::string_view text) {
    std::uint64_t bytes = 0;
    text.remove_prefix(text.size() - std::min(text.size(), sizeof bytes));
    std::memcpy(&bytes, text.data(), text.size());
    return bytes;
}

// Sorted rather than hashed, since users can easily choose keys with equal hashes.
api::Result<> check_keys(const Json& list, std::string_view key, const Place& place) {
    const auto& items = list.items();
    std::vector<ItemKey> keys;
    keys.reserve(items.size());
    for (std::size_t i = 0; i < items.size(); ++i)
        if (const std::string_view text = items[i][key].as_string(); !text.empty())
            keys.push_back({last_bytes(text), text, i});
    std::sort(keys.begin(), keys.end());
    std::size_t repeated = items.size();
    for (std::size_t i = 1; i < keys.size(); ++i)
        if (keys[i - 1].text == keys[i].text) repeated = std::min(repeated, keys[i].item);
    if (repeated == items.size()) return {};
    return api::invalid(Place{.outer = &place, .index = repeated}.text(),
                        "repeats the " + std::string(key) + " of an earlier item: each may be there once");
}

api::Result<> check_limit(const Json& value, const Limit& limit, const Place& place) {
    const std::size_t size = value.is_array() ? value.items().size() : value.members().size();
    if (size > limit.most)
        return api::invalid(place.text(), "must have at most " + std::to_string(limit.most) +
                                              (value.is_array() ? " items" : " entries"));
    return limit.key.empty() ? api::Result<>() : check_keys(value, limit.key, place);
}

api::Result<> check(const Json& value, const Place& place) {
    const auto& items = value.items();
    for (std::size_t i = 0; i < items.size(); ++i)
        if (auto checked = check(items[i], {.outer = &place, .index = i}); !checked) return checked;
    for (const auto& [name, member] : value.members()) {
        if (!member.is_array() && !member.is_object()) continue;
        const Place here = {.outer = &place, .member = name};
        if (const Limit* limit = limit_of(name))
            if (auto checked = check_limit(member, *limit, here); !checked) return checked;
        if (auto checked = check(member, here); !checked) return checked;
    }
    return {};
}

}  // namespace

std::span<const Limit> train_job_limits() { return limits; }

api::Result<> check_train_job_limits(const Json& spec, const Json& old_spec) {
    const Place root;
    const Place place = {.outer = &root, .member = "spec"};
    auto checked = check(spec, place);
    return checked || check(old_spec, place) ? checked : api::Result<>();
}

}  // namespace runtime
