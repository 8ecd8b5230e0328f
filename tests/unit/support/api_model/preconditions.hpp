#pragma once
#include <optional>

#include "api_model.hpp"

namespace faults {

/// Of a DELETE or a PUT: the uid and the resourceVersion that `wanted` names, if any, must be those of
/// `live`.
std::optional<Reply> check_preconditions(const Kind& kind, const api::Json& wanted, const api::Json& live);

/// Of a patch, with the metadata that it carries: a UID is no precondition there, but a field that cannot
/// change. That of a status is not even looked at.
std::optional<Reply> check_versions(const Kind& kind, const api::Json& patched, const api::Json& live,
                                    bool status);

}  // namespace faults
