#pragma once
#include <string>
#include <string_view>

namespace merge {

/// The position of a walk in a tree, as links on the stack. text() renders it ("spec.containers[2].env"), for
/// errors only. A default Place is the root.
struct Place {
    const Place* outer = nullptr;
    std::string_view member = {};  ///< empty: an item
    std::size_t index = 0;

    std::string text() const {
        std::string path = outer ? outer->text() : std::string();
        if (member.empty()) return outer ? path + "[" + std::to_string(index) + "]" : path;
        if (!path.empty()) path += ".";
        return path.append(member);
    }
};

}  // namespace merge
