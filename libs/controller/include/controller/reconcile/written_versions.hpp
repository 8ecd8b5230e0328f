#pragma once
#include <string>

namespace controller {

/// The resource versions that our own writes made: until the caches have seen them, another pass would act on
/// the past.
struct WrittenVersions {
    std::string train_job = {};
    /// Of the TrainJob as well, just before: a pass that decides again stores its status twice.
    std::string train_job_before = {};
    std::string job_set = {};
};

}  // namespace controller
