#pragma once
#include <optional>

#include "api_model.hpp"

namespace model {

/// Sets the defaults of JobSet 0.12's CRD that change an object from what was sent. The writer of a POST owns
/// them.
void default_by_schema(const Kind& kind, api::Json& object);
/// Sets the defaults of its webhook on CREATE. They have no owner.
void default_by_webhook(const Kind& kind, api::Json& object);
/// Returns its webhook's error for volume claims that exist already.
std::optional<Reply> admit_claims(const ApiModel& api, const api::Json& job_set);

/// Our mutating webhook, as far as Kueue's writes need it: `after` is what Kueue has written.
void restore_for_kueue(const Kind& kind, const api::Json& before, api::Json& after, api::Time now);

/// Returns the errors of our webhook and of the schema for a change of what runs in a TrainJob, or of its
/// number of nodes.
std::optional<Reply> admit_edit(const ApiModel& api, const api::Json& before, const api::Json& after);

/// Returns the error for a change of an immutable field: docs/design/building.md#what-jobset-lets-change, the
/// containers of a TrainJob's patches, and immutable ConfigMaps. `before` is null for a create.
std::optional<Reply> admit(const Kind& kind, const api::Json& before, const api::Json& after);

}  // namespace model
