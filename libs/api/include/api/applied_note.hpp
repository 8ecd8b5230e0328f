#pragma once
#include <string_view>

#include "api/json.hpp"

namespace api {

/// The parts of applied_hash_annotation, `<hash>.<template>.<source>.<nodes> <placement>`, which
/// runtime/applied_hash.hpp writes and explains. Objects that are no JobSet have the first one, and older
/// releases wrote fewer; what is missing is empty. Users can edit all of them. Refers to the object.
struct AppliedNote {
    std::string_view hash = {};
    std::string_view fixed_part = {};
    std::string_view source = {};
    std::string_view nodes = {};
    std::string_view placement = {};
};
AppliedNote applied_note(const Json& object);

}  // namespace api
