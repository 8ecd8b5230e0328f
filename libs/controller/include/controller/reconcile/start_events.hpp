#pragma once
#include <string>

#include "controller/reconcile/coalesced_reads.hpp"
#include "controller/reconcile/observe.hpp"
#include "kube/client/api_server.hpp"

namespace controller {

/// Reads from Warning events why JobSets do not start. A list of events costs the API server a walk over all
/// those of the namespace, whatever it selects, so jobs of a namespace that ask at the same time share lists:
/// one of the JobSets of the namespace, one of its Jobs. Where such a list is too long, each job also reads
/// the events of its own. At most four shared lists are read at a time, which bounds their memory. Copies
/// share lists. Thread rule: one thread.
class StartEvents {
public:
    /// `server`: for the shared lists.
    explicit StartEvents(kube::ApiServer& server);

    /// Returns the text of the newest event about the start of the view's JobSet, or of a Job of the
    /// replicated job that lacks its Pods; "" if there is none. Restarts of the JobSet do not count. If the
    /// events cannot be read, the text says so. `own`: for the events of this JobSet alone.
    kube::Task<std::string> newest(kube::ApiServer& own, const View& view, api::Time now);

private:
    kube::ApiServer* server_;
    CoalescedReads shared_;
};

}  // namespace controller
