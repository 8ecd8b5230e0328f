#pragma once
#include <string>

#include "lifecycle/conclusion.hpp"

namespace lifecycle {

/// How many passes have failed in a row, with one more. Saturates.
int one_more_failure(const Episode& before);

/// One more failed pass, retried with backoff or when the API server asks for it.
void retry(Conclusion& conclusion, const Episode& before, const api::Error& error, api::Time now);

/// retry(), and a Warning event once such failures have lasted for more than a minute.
void report_trouble(Conclusion& conclusion, const Episode& before, const std::string& object,
                    const api::Error& error, api::Time now);

}  // namespace lifecycle
