#pragma once
#include <string_view>

#include "api/json.hpp"

namespace runtime {

/// Returns the member at a path of names such as "trainer.env"; null if there is none.
inline const api::Json& member_at(const api::Json& tree, std::string_view path) {
    const auto dot = path.find('.');
    const api::Json& member = tree[path.substr(0, dot)];
    return dot == path.npos ? member : member_at(member, path.substr(dot + 1));
}

}  // namespace runtime
