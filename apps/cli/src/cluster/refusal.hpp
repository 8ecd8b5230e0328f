#pragma once
#include "api/error.hpp"
#include "api/object_key.hpp"

namespace cli {

/// Returns the error with a remedy: the missing role, a new login, the installation of the CRDs, another name
/// for the TrainJob `key`. One line. An error without a known remedy stays unchanged.
api::Error advised(api::Error error, const api::ObjectKey& key = {});

}  // namespace cli
