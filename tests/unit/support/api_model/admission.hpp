#pragma once
#include <optional>

#include "api_model.hpp"

namespace faults {

/// What the CRD of JobSet 0.12 fills in, as far as it makes an object another one than was sent. Whoever
/// creates by POST owns it.
void default_by_schema(const Kind& kind, api::Json& object);
/// What its webhook fills in on CREATE. It has no owner.
void default_by_webhook(const Kind& kind, api::Json& object);
/// What its webhook has against volume claims that are there already.
std::optional<Reply> admit_claims(const ApiModel& api, const api::Json& job_set);

/// Our own mutating webhook, of which only what it does for Kueue matters here: `after` is what Kueue has
/// written.
void restore_for_kueue(const Kind& kind, const api::Json& before, api::Json& after, api::Time now);

/// What our own webhook and the schema have against the change of what runs in a TrainJob, or of its number
/// of nodes.
std::optional<Reply> admit_edit(const ApiModel& api, const api::Json& before, const api::Json& after);

/// What may not change: docs/design/building.md#what-jobset-lets-change, the containers of a TrainJob's
/// patches, and immutable ConfigMaps. `before` is null for a create.
std::optional<Reply> admit(const Kind& kind, const api::Json& before, const api::Json& after);

}  // namespace faults
