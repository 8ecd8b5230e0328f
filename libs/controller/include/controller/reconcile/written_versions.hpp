#pragma once
#include <string>

namespace controller {

/// The resource versions that our own writes made: until the caches have seen them, another pass would act on
/// the past.
struct WrittenVersions {
    std::string train_job = {};
    std::string job_set = {};
};

}  // namespace controller
