#include "api/applied_note.hpp"

#include <algorithm>

#include "api/names.hpp"

namespace api {

AppliedNote applied_note(const Json& object) {
    std::string_view rest = object["metadata"]["annotations"][applied_hash_annotation].as_string();
    const auto take_until = [&rest](char end) {
        const std::string_view part = rest.substr(0, rest.find(end));
        rest.remove_prefix(std::min(part.size() + 1, rest.size()));
        return part;
    };
    const std::string_view hashes = take_until(' ');
    AppliedNote note = {.placement = rest};
    rest = hashes;
    note.hash = take_until('.');
    note.fixed_part = take_until('.');
    note.source = take_until('.');
    note.nodes = rest;
    return note;
}

}  // namespace api
