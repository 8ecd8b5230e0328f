#pragma once
#include <cstddef>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "api/json.hpp"

/// Bytes of the largest objects: etcd accepts 1.5 MiB, including the API server's additions.
inline constexpr std::size_t largest = 1'500'000;

api::Json parsed(const std::string& text);
api::Json train_job();
api::Json plain_runtime();
/// Of its first job.
api::Json& pod_spec_of(api::Json& job_set_spec);

/// Adds items until their text has that many bytes, or they hold that many values.
void fill(api::Json& list, std::size_t bytes, const std::function<api::Json(std::size_t)>& item,
          std::size_t most = std::numeric_limits<std::size_t>::max());
api::Json toleration(std::size_t number);
/// A replicated job with one container.
api::Json small_job(std::size_t number);

/// A TrainJob and its runtime, large in one way.
struct Case {
    std::string name;
    std::function<void(api::Json& job, api::Json& runtime)> grow;
    bool is_refused = false;  ///< nothing is built
};
const std::vector<Case>& cases();
