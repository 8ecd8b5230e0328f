#pragma once
#include <string>

namespace controller {

/// The resource versions of a reconcile's own writes. Until the caches have them, another reconcile would act
/// on the state before.
struct WrittenVersions {
    std::string train_job = {};
    /// The version of the TrainJob before `train_job`: a reconcile that decides again writes the status
    /// twice.
    std::string train_job_before = {};
    std::string job_set = {};
};

}  // namespace controller
