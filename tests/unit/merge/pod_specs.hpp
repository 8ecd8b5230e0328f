#pragma once
#include <algorithm>
#include <random>
#include <string>

#include "api/json.hpp"

/// Random Pod specs with few names each, so that a base and a patch often share some. Keys of maps may look
/// like directives of the merge, which are ordinary keys there.
class PodSpecs {
public:
    using Json = api::Json;

    explicit PodSpecs(unsigned seed) : random_(seed) {}

    api::Json make() {
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
        static const char* const directives[] = {"$patch", "$retainKeys", "$deleteFromPrimitiveList/a"};
        if (number(4) == 0) map[directives[number(3)]] = number(2) == 0 ? "replace" : "delete";
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
        if (often()) result["resources"] = Json::object({{"limits", string_map()}});
        if (often())
            result["volumeMounts"] = list([this](std::string path) {
                return Json::object({{"mountPath", path}, {"name", letter()}});
            });
        return result;
    }

    std::mt19937 random_;
};
