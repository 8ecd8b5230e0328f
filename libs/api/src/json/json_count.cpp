#include "api/json_reader.hpp"

namespace api {

std::size_t count_values(std::string_view json) {
    std::size_t count = 1;
    for (const char c : json)
        count += static_cast<std::size_t>(c == ',') + static_cast<std::size_t>(c == ':') +
                 static_cast<std::size_t>(c == '[') + static_cast<std::size_t>(c == '{');
    return count;
}

std::size_t count_tree_values(const Json& value) {
    std::size_t count = 1;
    for (const Json& item : value.items()) count += count_tree_values(item);
    for (const auto& [key, member] : value.members()) count += 1 + count_tree_values(member);
    return count;
}

}  // namespace api
