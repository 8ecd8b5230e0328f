#pragma once
#include <cstddef>
#include <limits>
#include <span>
#include <string_view>

namespace runtime {

struct Shape;

struct ShapeMember {
    std::string_view name;
    const Shape& shape;
};

/// The shape of an object with these members, or of a list with these items (`item` is set). Null and absent
/// values are valid, except as items. Scalars are read leniently and need no check.
struct Shape {
    std::span<const ShapeMember> members = {};
    const Shape* item = nullptr;
    bool scalars = false;                                        ///< a list of scalars
    std::size_t most = std::numeric_limits<std::size_t>::max();  ///< maximum number of items
};

inline constexpr Shape any_object = {};

}  // namespace runtime
