#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "lifecycle/decision.hpp"
#include "lifecycle/observed.hpp"
#include "lifecycle/outcome.hpp"

/// The headless Service of a JobSet, by which host names of its Pods resolve. JobSet 0.12 makes none where a
/// Service of that name exists, whoever owns it, and says nothing.
namespace lifecycle {

/// Returns the labels that all Pods of a JobSet have, by its name and by its templates; of very many, those
/// among the first 32. Labels that no Pod can have are left out. `spec` is the JobSet's.
api::Json labels_of_pods(std::string_view job_set, const api::Json& spec);

/// Returns whether a Service selects Pods with these labels: then their host names resolve, whoever owns it.
bool selects_pods(const api::Json& service, const api::Json& labels);

/// Returns whether a Service will stand in the way of that of a JobSet that is still to come. One that an
/// earlier JobSet of that name has left, or that is being deleted, will be gone.
bool will_take_name(const api::Json& service, std::string_view job_set, const api::Json& labels);

/// Returns whether this reconcile is to look at the Service of that name. True at first once the JobSet has
/// been there for half a minute, and never again if it has its Service, or none stood in its way. While one
/// does, or it cannot be read: at intervals from 15 s to 5 min. A JobSet that is older than an hour when this
/// process first sees it is looked at only if it is stalled.
bool wants_service(const Observed& observed, const Decision& decision, const Outcome& outcome, api::Time now);

/// Returns what to say of a Service that stands in the way of a JobSet's: it is named "Service default/job".
/// `is_shared`: its name is that of a `network.subdomain`.
std::string describe_taken_service(const api::ObjectKey& service, bool is_shared);

}  // namespace lifecycle
