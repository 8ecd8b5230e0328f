#pragma once
#include "runtime/pipeline.hpp"
#include "controller/reconcile/shared_objects.hpp"

namespace controller {

/// What the builds of all TrainJobs have in common.
struct BuildContext {
    const runtime::Pipeline& pipeline;
    SharedObjects& shared;
};

}  // namespace controller
