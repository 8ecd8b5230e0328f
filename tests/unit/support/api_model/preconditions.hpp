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

/// Whether objects of a kind are replaced without a resourceVersion, and the answer where they are not.
bool allows_unconditional_update(const Kind& kind);
Reply must_be_specified(const Kind& kind, const api::ObjectKey& key);

}  // namespace faults
