#pragma once
#include <optional>

#include "caches.hpp"
#include "kube/api_server.hpp"
#include "lifecycle/observed.hpp"
#include "lifecycle/outcome.hpp"

namespace reconciler {

/// What a pass knows of one TrainJob.
struct View {
    lifecycle::Observed observed = {};
    std::optional<api::Json> runtime = {};  ///< the live one; nullopt if there is none
    bool live = false;                      ///< read from the API server in this pass, not from the caches
};

/// Reads an object; nullopt if it does not exist.
kube::Async<std::optional<api::Json>> read(kube::ApiServer& server, kube::Resource resource,
                                           api::ObjectKey key);

/// The caches' view. Cheap: at most one request, and that only for a finished job whose runtime is gone.
kube::Async<View> observe_cached(kube::ApiServer& server, const Caches& caches, api::ObjectKey key);

/// The API server's view: TrainJob, JobSet and runtime as they are now.
kube::Async<View> observe_live(kube::ApiServer& server, api::ObjectKey key);

/// The ConfigMap with the snapshot of a TrainJob's runtime.
api::ObjectKey snapshot_key(const api::ObjectKey& train_job);

}  // namespace reconciler
