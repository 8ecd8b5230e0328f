#pragma once
#include <string>

#include "lifecycle/conclusion.hpp"

namespace lifecycle {

/// Returns the retry state after one more failure: the number of failures in a row, which saturates, and how
/// long to wait. A failure before the end of the last wait does not count.
RetryState one_more_failure(const RetryState& before, api::Time now);

/// Counts one more failed reconcile, and retries with backoff or when the API server asks for it.
void retry(Conclusion& conclusion, const RetryState& before, const api::Error& error, api::Time now);

/// Returns whether a failure now that a condition reports would be one of several in a row that have gone on
/// for 15 s. Another failure breaks the row.
bool has_lasted(const RetryState& before, api::Time now);

/// Returns whether a condition of a job in such a series may be written again: a new text once a minute, as
/// each failure may have another one, and a new reason every 15 s. Each write of a status reaches all
/// watchers and causes another reconcile.
bool may_state_again(const RetryState& retry_state, const api::Condition& stored,
                     const api::Condition& wanted, api::Time now);

/// Does retry(), and adds a Warning event about failures that have lasted: at once, 5 min after they began,
/// and every half an hour from then on.
void report_error(Conclusion& conclusion, const RetryState& before, const std::string& object,
                  const api::Error& error, api::Time now);

}  // namespace lifecycle
