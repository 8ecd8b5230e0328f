#include "merge/merge_patch.hpp"

namespace merge {

void merge_patch(api::Json& target, const api::Json& patch) {
    if (!patch.is_object()) {
        target = patch;
        return;
    }
    if (!target.is_object()) target = api::Json::object();
    for (const auto& [key, value] : patch.members()) {
        if (value.is_null())
            target.erase(key);
        else
            merge_patch(target[key], value);
    }
}

}  // namespace merge
