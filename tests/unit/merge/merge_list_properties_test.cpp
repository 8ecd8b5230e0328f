// What holds for any base and any patch within the lists and maps that both of them touch.
#include <algorithm>
#include <map>

#include "pod_specs.hpp"
#include "tree.hpp"

using api::Json;

namespace {

constexpr unsigned pairs = 1000;

// Lists whose items are distinguished by a member, by their name in the spec of a Pod or in a container.
const std::map<std::string_view, std::string_view> keyed = {{"containers", "name"},
                                                            {"env", "name"},
                                                            {"imagePullSecrets", "name"},
                                                            {"volumeMounts", "mountPath"},
                                                            {"volumes", "name"}};

bool is_map(std::string_view name) { return name == "nodeSelector" || name == "limits"; }

std::vector<std::string> keys_of(const Json& list, std::string_view key) {
    std::vector<std::string> keys;
    for (const Json& item : list.items()) keys.emplace_back(item[key].as_string());
    return keys;
}

const Json& item_of(const Json& list, std::string_view key, const std::string& value) {
    static const Json nothing;
    for (const Json& item : list.items())
        if (item[key].as_string() == value) return item;
    return nothing;
}

// Calls `check(name, base, patch, merged)` for every list with keys and every map that base and patch both
// have.
template <class Check>
void for_each_touched(const Json& base, const Json& patch, const Json& merged, const Check& check) {
    for (const auto& [name, value] : patch.members()) {
        if (!base.contains(name)) continue;
        if (keyed.contains(name) || is_map(name)) check(name, base[name], value, merged[name]);
        if (value.is_object()) for_each_touched(base[name], value, merged[name], check);
        if (const auto at = keyed.find(name); at != keyed.end())
            for (const Json& item : value.items()) {
                const std::string key(item[at->second].as_string());
                for_each_touched(item_of(base[name], at->second, key), item,
                                 item_of(merged[name], at->second, key), check);
            }
    }
}

// The same tree with the items of such lists in the order of their keys.
Json in_any_order(Json tree) {
    if (!tree.is_object()) return tree;
    for (auto& [name, value] : tree.members()) {
        value = in_any_order(std::move(value));
        const auto at = keyed.find(name);
        if (at == keyed.end() || !value.is_array()) continue;
        for (Json& item : value.items()) item = in_any_order(std::move(item));
        std::sort(value.items().begin(), value.items().end(), [&](const Json& a, const Json& b) {
            return a[at->second].as_string() < b[at->second].as_string();
        });
    }
    return tree;
}

// Takes from a patch all that the other says too: of lists with keys the shared items, of maps the shared
// keys, of anything else the member.
void make_disjoint(Json& patch, const Json& other) {
    patch.members().erase_if([&](const auto& member) {
        return other.contains(member.key) && !keyed.contains(member.key) && !is_map(member.key);
    });
    for (auto& [name, value] : patch.members()) {
        const Json& said = other[name];
        if (is_map(name))
            value.members().erase_if([&](const auto& member) { return said.contains(member.key); });
        const auto at = keyed.find(name);
        if (at == keyed.end()) continue;
        const auto& key = at->second;
        std::erase_if(value.items(), [&](const Json& item) {
            return !item_of(said, key, std::string(item[key].as_string())).is_null();
        });
    }
}

}  // namespace

TEST_CASE("items that a patch does not name keep their bytes and their order among each other", "[merge]") {
    unsigned seen = 0;
    for (unsigned seed = 0; seed < pairs; ++seed) {
        PodSpecs random(seed);
        const Json base = random.make(), patch = random.make();
        const Json merged = merge_pod_spec(base, patch).value();
        INFO("base " << base << " patch " << patch);
        for_each_touched(
            base, patch, merged,
            [&](std::string_view name, const Json& below, const Json& above, const Json& result) {
                if (is_map(name)) return;
                const std::string_view key = keyed.at(name);
                std::vector<std::string> rest, rest_of_result;
                const auto named = keys_of(above, key);
                const auto is_named = [&](const std::string& each) {
                    return std::find(named.begin(), named.end(), each) != named.end();
                };
                for (const std::string& each : keys_of(below, key))
                    if (!is_named(each)) rest.push_back(each);
                for (const std::string& each : keys_of(result, key))
                    if (!is_named(each)) rest_of_result.push_back(each);
                REQUIRE(rest_of_result == rest);
                for (const std::string& each : rest)
                    REQUIRE(to_json(item_of(result, key, each)) == to_json(item_of(below, key, each)));
                seen += rest.empty() ? 0 : 1;
            });
    }
    CHECK(seen > pairs / 2);
}

TEST_CASE("a merged list has each item of base and patch once, and keys of a map are data", "[merge]") {
    unsigned directives = 0;
    for (unsigned seed = 0; seed < pairs; ++seed) {
        PodSpecs random(seed);
        const Json base = random.make(), patch = random.make();
        const Json merged = merge_pod_spec(base, patch).value();
        INFO("base " << base << " patch " << patch);
        for_each_touched(
            base, patch, merged,
            [&](std::string_view name, const Json& below, const Json& above, const Json& result) {
                if (!is_map(name)) {
                    auto wanted = keys_of(below, keyed.at(name));
                    for (const std::string& each : keys_of(above, keyed.at(name)))
                        if (std::find(wanted.begin(), wanted.end(), each) == wanted.end())
                            wanted.push_back(each);
                    auto have = keys_of(result, keyed.at(name));
                    std::sort(wanted.begin(), wanted.end());
                    std::sort(have.begin(), have.end());
                    REQUIRE(have == wanted);
                    return;
                }
                Json wanted = below;
                for (const auto& [key, value] : above.members()) {
                    wanted[key] = value;
                    directives += key.starts_with('$') ? 1 : 0;
                }
                REQUIRE(to_json(result) == to_json(wanted));
            });
    }
    CHECK(directives > 20);
}

TEST_CASE("patches of different items and keys may come in either order", "[merge]") {
    unsigned met = 0;
    for (unsigned seed = 0; seed < pairs; ++seed) {
        PodSpecs random(seed);
        const Json base = random.make(), left = random.make();
        Json right = random.make();
        make_disjoint(right, left);
        for (const auto& [name, value] : right.members())
            met += left.contains(name) && !value.empty() ? 1 : 0;
        INFO("base " << base << " left " << left << " right " << right);
        const Json one = merge_pod_spec(merge_pod_spec(base, left).value(), right).value();
        const Json other = merge_pod_spec(merge_pod_spec(base, right).value(), left).value();
        REQUIRE(in_any_order(one) == in_any_order(other));
    }
    CHECK(met > pairs / 2);
}
