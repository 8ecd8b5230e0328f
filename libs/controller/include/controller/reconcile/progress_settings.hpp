#pragma once
#include "api/object_key.hpp"
#include "lifecycle/observed.hpp"

namespace controller {

/// Which decisions use reports of progress, and the Lease of the server of reports.
struct ProgressSettings {
    lifecycle::ProgressWatch watch = lifecycle::ProgressWatch::off;
    api::ObjectKey lease = {};
};

}  // namespace controller
