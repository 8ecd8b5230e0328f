#pragma once
#include <chrono>
#include <functional>
#include <limits>
#include <optional>

#include "controller/cache/cache.hpp"
#include "controller/reconcile/coalesced_reads.hpp"
#include "controller/reconcile/namespace_warnings.hpp"
#include "controller/reconcile/progress_settings.hpp"
#include "controller/reconcile/writer.hpp"
#include "kube/client/server_clock.hpp"
#include "kube/manager/event_recorder.hpp"
#include "lifecycle/reconcile_machine.hpp"
#include "net/process/log.hpp"

namespace controller {

/// The result of a reconcile for its caller.
struct ReconcileResult : lifecycle::Reconciled {
    WrittenVersions written = {};  ///< the next reconcile waits until the caches have these
    std::size_t weight = 0;        ///< of the responses to its reads, as MeteredReads counts
    bool wants_more = false;       ///< it ended at a response that exceeds its allowed weight
};

/// Reconciles one TrainJob, level-triggered: carries out the actions of a lifecycle::ReconcileMachine. Keeps
/// nothing between reconciles but reads that they share. Thread rule: as its ApiServer.
class Reconciler {
public:
    using Now = std::function<kube::ServerTime()>;

    Reconciler(kube::ApiServer& server, const Cache& cache, kube::EventRecorder& events, net::Log& log,
               Now now, lifecycle::Options options, BuildContext build_context,
               ProgressSettings progress = {})
        : server_(server),
          cache_(cache),
          events_(events),
          log_(log),
          now_(std::move(now)),
          options_(options),
          build_context_(build_context),
          progress_(std::move(progress)) {}

    /// Reconciles the TrainJob. Its reads may weigh `allowed` (MeteredReads); a further response ends it with
    /// `wants_more`.
    kube::Task<ReconcileResult> reconcile(api::ObjectKey key, lifecycle::RetryState retry_state,
                                          std::size_t allowed = std::numeric_limits<std::size_t>::max());

private:
    friend class Reconcile;

    kube::ApiServer& server_;
    const Cache& cache_;
    kube::EventRecorder& events_;
    net::Log& log_;
    Now now_;
    lifecycle::Options options_;
    BuildContext build_context_;
    ProgressSettings progress_;
    CoalescedReads reads_ = CoalescedReads();
    NamespaceWarnings warnings_{server_};
};

}  // namespace controller
