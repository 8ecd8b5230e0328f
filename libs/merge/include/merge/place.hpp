#pragma once
#include <string>
#include <string_view>

namespace merge {

/// Where in a tree a walk is, as links on the stack: rendered ("spec.containers[2].env") only when something
/// is wrong there. A default Place is the root.
struct Place {
    const Place* outer = nullptr;
    std::string_view member = {};  ///< empty: an item
    std::size_t index = 0;

    std::string text() const;
};

}  // namespace merge
