#pragma once
#include <compare>
#include <functional>
#include <string>

#include "api/hash.hpp"

namespace api {

/// Names one object of a kind. `ns` is empty for cluster-scoped kinds.
struct ObjectKey {
    std::string ns = {};
    std::string name = {};

    auto operator<=>(const ObjectKey&) const = default;
};

/// Returns "namespace/name", or the name alone.
inline std::string to_string(const ObjectKey& key) {
    return key.ns.empty() ? key.name : key.ns + "/" + key.name;
}

}  // namespace api

template <>
struct std::hash<api::ObjectKey> {
    std::size_t operator()(const api::ObjectKey& key) const noexcept {
        return api::keyed_hash(key.ns, key.name);
    }
};
