#pragma once
#include <optional>
#include <string>
#include <vector>

#include "offline/document_server.hpp"
#include "runtime/pipeline.hpp"

namespace cli {

/// What the first pass over a TrainJob does, and has to say.
struct Rendering {
    std::vector<api::Json> objects = {};  ///< as they were sent, in order
    std::vector<std::string> warnings = {};
    /// Why the JobSet was not created; its field is a path in the TrainJob or, where the text says so, in its
    /// runtime.
    std::optional<api::Error> trouble = {};
    bool is_managed_by_others = false;  ///< nothing is done then
};

/// Runs the pass of production over a TrainJob that is on the server as a user would have created it just
/// now. RelatedObjects are what else is on the server, which is a copy: the original stays as it is.
Rendering render_train_job(offline::DocumentServer server, const api::ObjectKey& train_job,
                           const runtime::Pipeline& pipeline);

}  // namespace cli
