#pragma once
#include <string>

namespace reconciler {

/// The resource versions that our own writes made: until the caches have seen them, another pass would act on
/// the past.
struct Written {
    std::string train_job = {};
    std::string job_set = {};
};

}  // namespace reconciler
