#pragma once
#include <string>
#include <vector>

#include "api/time.hpp"
#include "runtime/build.hpp"

namespace runtime {

/// Returns the replicated jobs that a later attempt of a TrainJob need not run again, by their names: those
/// that initialize a data set or a model, have succeeded by `jobsStatus`, and have written to volume claims
/// that are still there. `inputs` are those of the build, with the objects that were observed for it.
/// `restarts_since`: when the attempt that has failed was judged. A claim that was made later is empty.
///
/// Only claims that the TrainJob owns count: JobSet's own go with the former attempt, and nobody has looked
/// at those of others. Nor does a job count that waits for one which runs again, since others wait for that
/// one through it, or one that other parts of the JobSet need. Linear in the template.
std::vector<std::string> finished_initializers(const Inputs& inputs, api::Time restarts_since,
                                               const Pipeline& pipeline = default_pipeline());

}  // namespace runtime
