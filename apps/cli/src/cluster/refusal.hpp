#pragma once
#include "api/error.hpp"
#include "api/object_key.hpp"

namespace cli {

/// Returns the error with a remedy: which role is missing, whether the login has expired, whether the CRDs
/// are installed, whether there is a TrainJob `key`. One line. An error without a known remedy stays as it
/// is.
api::Error advised(api::Error error, const api::ObjectKey& key = {});

}  // namespace cli
