// What holds for any base and any patch.
#include <algorithm>
#include <functional>
#include <random>

#include "tree.hpp"

using api::Json;

namespace {

// Pod specs of a few names each, so that a base and a patch often meet.
class Generator {
public:
    explicit Generator(unsigned seed) : random_(seed) {}

    Json pod_spec() {
        Json pod = Json::object();
        if (often())
            pod["containers"] = list([this](std::string name) { return container(std::move(name)); });
        if (often()) pod["volumes"] = list([this](std::string name) { return volume(std::move(name)); });
        if (often()) pod["nodeSelector"] = string_map();
        if (often())
            pod["tolerations"] = Json::array({Json::object({{"key", letter()}, {"value", scalar()}})});
        if (often())
            pod["securityContext"] = Json::object({{"runAsUser", number(3)}, {"fsGroup", number(3)}});
        if (often())
            pod["imagePullSecrets"] = list([](std::string name) { return Json::object({{"name", name}}); });
        if (often())
            pod["unknown"] = Json::object({{"a", scalar()}, {"b", Json::array({scalar(), scalar()})}});
        return pod;
    }

private:
    unsigned number(unsigned below) { return static_cast<unsigned>(random_() % below); }
    bool often() { return number(3) > 0; }
    std::string letter() { return std::string(1, static_cast<char>('a' + number(5))); }
    Json scalar() { return number(4) == 0 ? Json("") : Json(letter()); }

    Json string_map() {
        Json map = Json::object();
        for (unsigned i = number(4); i > 0; --i) map[letter()] = scalar();
        return map;
    }

    template <class Make>
    Json list(Make make) {
        Json items = Json::array();
        std::string names = "abcde";
        std::shuffle(names.begin(), names.end(), random_);
        for (unsigned i = number(5); i > 0; --i) items.push_back(make(std::string(1, names[i - 1])));
        return items;
    }

    Json volume(std::string name) {
        Json result = Json::object({{"name", std::move(name)}});
        if (const unsigned kind = number(4); kind == 0)
            result["emptyDir"] = Json::object();
        else if (kind == 1)
            result["secret"] = Json::object({{"secretName", letter()}, {"optional", number(2) == 0}});
        else if (kind == 2)
            result["configMap"] = Json::object({{"name", letter()}, {"defaultMode", number(2)}});
        return result;
    }

    Json container(std::string name) {
        Json result = Json::object({{"name", std::move(name)}});
        if (often())
            result["env"] = list([this](std::string variable) {
                Json entry = Json::object({{"name", std::move(variable)}});
                if (often())
                    entry["value"] = scalar();
                else
                    entry["valueFrom"] =
                        Json::object({{"fieldRef", Json::object({{"fieldPath", letter()}})}});
                return entry;
            });
        if (often())
            result["volumeMounts"] = list([this](std::string path) {
                return Json::object({{"mountPath", path}, {"name", letter()}});
            });
        return result;
    }

    std::mt19937 random_;
};

constexpr unsigned pairs = 500;

}  // namespace

TEST_CASE("merging the same patch twice changes nothing more", "[merge]") {
    for (unsigned seed = 0; seed < pairs; ++seed) {
        Generator generator(seed);
        const Json base = generator.pod_spec(), patch = generator.pod_spec();
        const auto once = merge_pod_spec(base, patch);
        REQUIRE(once.has_value());
        INFO("base " << base << " patch " << patch);
        REQUIRE(merge_pod_spec(*once, patch).value() == *once);
    }
}

TEST_CASE("what a patch does not name stays as it was", "[merge]") {
    for (unsigned seed = 0; seed < pairs; ++seed) {
        Generator generator(seed);
        const Json base = generator.pod_spec(), patch = generator.pod_spec();
        const auto merged = merge_pod_spec(base, patch);
        REQUIRE(merged.has_value());
        INFO("base " << base << " patch " << patch);
        for (const auto& [name, value] : base.members())
            if (!patch.contains(name)) REQUIRE(to_json(value) == to_json((*merged)[name]));
    }
}

TEST_CASE("patches of different fields may come in either order", "[merge]") {
    for (unsigned seed = 0; seed < pairs; ++seed) {
        Generator generator(seed);
        const Json base = generator.pod_spec();
        Json left = generator.pod_spec(), right = generator.pod_spec();
        for (const auto& [name, value] : std::as_const(left).members()) right.erase(name);
        REQUIRE(merge_pod_spec(merge_pod_spec(base, left).value(), right).value() ==
                merge_pod_spec(merge_pod_spec(base, right).value(), left).value());
    }
}

TEST_CASE("any tree merged into any other is a result or an error", "[merge]") {
    std::mt19937 random(7);
    const std::function<Json(int)> any = [&](int depth) -> Json {
        switch (random() % (depth > 0 ? 8u : 5u)) {
            case 0: return {};
            case 1: return false;
            case 2: return static_cast<int>(random() % 3);
            case 3: return "";
            case 4: return "node";
            case 5: {
                Json list = Json::array();
                for (auto i = random() % 3; i > 0; --i) list.push_back(any(depth - 1));
                return list;
            }
            default: {
                static const char* const names[] = {"replicatedJobs", "name",   "template",   "spec",
                                                    "metadata",       "labels", "containers", "env",
                                                    "value",          "volumes"};
                Json map = Json::object();
                for (auto i = random() % 4; i > 0; --i)
                    map[names[random() % std::size(names)]] = any(depth - 1);
                return map;
            }
        }
    };
    for (int i = 0; i < 5'000; ++i) {
        const Json base = any(8), patch = any(8);
        const auto merged = merge::strategic_merge(base, patch, merge::job_set_spec());
        if (!merged) REQUIRE(merged.error().code == api::Errc::invalid);
    }
}
