#pragma once
#include "controller/reconcile/shared_objects.hpp"
#include "runtime/pipeline.hpp"

namespace controller {

/// What the builds of all TrainJobs have in common.
struct BuildContext {
    const runtime::Pipeline& pipeline;
    SharedObjects& shared;
};

}  // namespace controller
