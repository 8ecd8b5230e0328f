#pragma once
#include <optional>
#include <string>
#include <vector>

#include "offline/document_server.hpp"
#include "runtime/pipeline.hpp"

namespace cli {

/// The writes of the first reconcile of a TrainJob, and its messages.
struct Rendering {
    std::vector<api::Json> objects = {};  ///< as they were sent, in order
    std::vector<std::string> warnings = {};
    /// Why the JobSet was not created. Its field is a path in the TrainJob or, as the text states, in its
    /// runtime.
    std::optional<api::Error> error = {};
    bool is_managed_by_others = false;  ///< nothing is done then
};

/// Runs the production reconciler on a TrainJob, as if a user had just created it on the server. `server` is
/// a copy with the other objects: the original stays unchanged.
Rendering render_train_job(offline::DocumentServer server, const api::ObjectKey& train_job,
                           const runtime::Pipeline& pipeline);

}  // namespace cli
