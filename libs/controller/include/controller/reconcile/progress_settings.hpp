#pragma once
#include "api/object_key.hpp"
#include "lifecycle/observed.hpp"

namespace controller {

/// What follows from reports of progress, and the Lease of their server.
struct ProgressSettings {
    lifecycle::ProgressWatch watch = lifecycle::ProgressWatch::off;
    api::ObjectKey lease = {};
};

}  // namespace controller
