#pragma once
#include "api/json.hpp"

/// Applies a JSON merge patch (RFC 7396), for fakes of the API server.
inline void merge_into(api::Json& target, const api::Json& patch) {
    if (!patch.is_object()) {
        target = patch;
        return;
    }
    if (!target.is_object()) target = api::Json::object();
    for (const auto& [key, value] : patch.members()) {
        if (value.is_null())
            target.erase(key);
        else
            merge_into(target[key], value);
    }
}
