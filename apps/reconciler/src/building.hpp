#pragma once
#include "runtime/pipeline.hpp"
#include "shared_objects.hpp"

namespace reconciler {

/// What the builds of all TrainJobs have in common.
struct Building {
    const runtime::Pipeline& pipeline;
    SharedObjects& shared;
};

}  // namespace reconciler
