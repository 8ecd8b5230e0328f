#pragma once
#include <optional>

#include "api_model.hpp"

namespace model {

/// Checks a DELETE or a PUT: the uid and the resourceVersion of `wanted`, if set, must be those of `live`.
std::optional<Reply> check_preconditions(const Kind& kind, const api::Json& wanted, const api::Json& live);

/// Checks the metadata of a patch: a UID is no precondition there, but a field that cannot change. For the
/// status it is ignored.
std::optional<Reply> check_versions(const Kind& kind, const api::Json& patched, const api::Json& live,
                                    bool status);

/// Returns whether objects of a kind are replaced without a resourceVersion, and the answer where they are
/// not.
bool allows_unconditional_update(const Kind& kind);
Reply must_be_specified(const Kind& kind, const api::ObjectKey& key);

}  // namespace model
