#include "merge/place.hpp"

namespace merge {

std::string Place::text() const {
    std::string path = outer ? outer->text() : std::string();
    if (member.empty()) return outer ? path + "[" + std::to_string(index) + "]" : path;
    if (!path.empty()) path += ".";
    return path.append(member);
}

}  // namespace merge
