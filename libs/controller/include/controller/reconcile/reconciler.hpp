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
#include "lifecycle/conclusion.hpp"
#include "lifecycle/measurements.hpp"
#include "net/process/log.hpp"

namespace controller {

/// The result of a reconcile for its caller.
struct ReconcileResult {
    bool gone = false;  ///< there is no such TrainJob: forget it
    std::optional<std::chrono::seconds> requeue_after = {};
    api::Time concluded = {};                   ///< the second in which `requeue_after` was computed
    lifecycle::RetryState retry_state = {};     ///< to be handed in with the next reconcile of this job
    WrittenVersions written = {};               ///< the next reconcile waits until the caches have these
    bool own_writes_need_no_reconcile = false;  ///< when the caches have them
    std::optional<api::Error> error = {};
    lifecycle::Measurements measurements = {};
    std::size_t weight = 0;   ///< of the responses to its reads, as MeteredReads counts
    bool wants_more = false;  ///< it ended at a response that exceeds its allowed weight
};

/// Reconciles one TrainJob, level-triggered: observes, decides, acts, concludes, and writes the status last.
/// Keeps nothing between reconciles. Thread rule: as its ApiServer.
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
    // Sets `written` at each write, since a reconcile that ends by MeteredReads::Exceeded returns nothing
    // else.
    kube::Task<ReconcileResult> reconcile_to_end(api::ObjectKey key, lifecycle::RetryState retry_state,
                                                 WrittenVersions& written);
    kube::Task<std::optional<lifecycle::ReadFailed>> look_up_availability(View& view);
    kube::Task<std::optional<std::string>> look_for_explanation(const View& view);
    kube::Task<std::optional<api::Error>> read_live_view(View& view, const api::ObjectKey& key,
                                                         lifecycle::Live needed, bool for_change);
    kube::Task<bool> conclude(View& view, const lifecycle::Decision& decision,
                              const lifecycle::Outcome& outcome, WrittenVersions& written,
                              ReconcileResult& report);
    /// The answer of the API server to a status write.
    struct Stored {
        std::string version = {};
        std::optional<api::TrainJob> job = {};  ///< only where the conclusion asks for another decision
    };
    kube::Async<Stored> write_status(const api::TrainJob& job, const lifecycle::Conclusion& conclusion);
    void log_job_set_write(const api::TrainJob& job, const lifecycle::Decision& decision);
    void report_events(const api::TrainJob& job, const lifecycle::Conclusion& conclusion);

    kube::ApiServer& server_;
    const Cache& cache_;
    kube::EventRecorder& events_;
    net::Log& log_;
    Now now_;
    lifecycle::Options options_;
    BuildContext build_context_;
    ProgressSettings progress_;
    CoalescedReads reads_ = CoalescedReads();
    std::shared_ptr<NamespaceWarnings> warnings_ = std::make_shared<NamespaceWarnings>(server_);
};

}  // namespace controller
