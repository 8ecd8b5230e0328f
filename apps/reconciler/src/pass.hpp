#pragma once
#include <chrono>
#include <functional>
#include <limits>
#include <optional>

#include "caches.hpp"
#include "kube/event_recorder.hpp"
#include "lifecycle/conclusion.hpp"
#include "lifecycle/milestones.hpp"
#include "live_runtimes.hpp"
#include "net/log.hpp"
#include "writer.hpp"

namespace reconciler {

/// What a pass leaves for the one who runs it.
struct PassReport {
    bool gone = false;  ///< there is no such TrainJob: forget it
    std::optional<std::chrono::seconds> requeue_after = {};
    lifecycle::Episode episode = {};  ///< to be handed in with the next pass of this job
    Written written = {};             ///< hold the next pass back until the caches have seen these
    bool settled = false;             ///< that they have is no reason for one
    std::optional<api::Error> trouble = {};
    lifecycle::Milestones milestones = {};
    std::size_t weight = 0;   ///< of what it has read, as MeteredReads counts
    bool wants_more = false;  ///< it has ended where its next answer would have weighed more than it may
};

/// One level-triggered pass over one TrainJob: observe, decide, act, conclude; the status last. Keeps nothing
/// between passes. Thread rule: as its ApiServer.
class Pass {
public:
    using Now = std::function<api::Time()>;

    Pass(kube::ApiServer& server, const Caches& caches, kube::EventRecorder& events, net::Log& log, Now now,
         lifecycle::Options options, Building building)
        : server_(server),
          caches_(caches),
          events_(events),
          log_(log),
          now_(std::move(now)),
          options_(options),
          building_(building) {}

    /// What is read may weigh `allowed` (MeteredReads).
    kube::Task<PassReport> run(api::ObjectKey key, lifecycle::Episode episode,
                               std::size_t allowed = std::numeric_limits<std::size_t>::max());

private:
    // Before its report is there, `written` tells what has been written.
    kube::Task<PassReport> run_to_end(api::ObjectKey key, lifecycle::Episode episode, Written& written);
    kube::Task<std::optional<lifecycle::ReadFailed>> ask_plugins(const View& view,
                                                                 lifecycle::Outcome& outcome);
    kube::Task<bool> conclude(View& view, const lifecycle::Decision& decision,
                              const lifecycle::Outcome& outcome, Written& written, PassReport& report);
    /// What the API server has made of a status.
    struct Stored {
        std::string version = {};
        std::optional<api::TrainJob> job = {};  ///< only where the conclusion asks for another decision
    };
    kube::Async<Stored> write_status(const api::TrainJob& job, const lifecycle::Conclusion& conclusion);
    void tell_of_job_set(const api::TrainJob& job, const lifecycle::Decision& decision);
    void tell(const api::TrainJob& job, const lifecycle::Conclusion& conclusion);

    kube::ApiServer& server_;
    const Caches& caches_;
    kube::EventRecorder& events_;
    net::Log& log_;
    Now now_;
    lifecycle::Options options_;
    Building building_;
    LiveRuntimes live_runtimes_ = {};
};

}  // namespace reconciler
