#pragma once
#include <span>
#include <string>

#include "lifecycle/observed.hpp"

namespace lifecycle {

/// A Warning event about a JobSet or a Job.
struct Warning {
    std::string kind = {};     ///< of the object: "JobSet" or "Job"
    std::string name = {};     ///< of the object
    std::string uid = {};      ///< of the object
    std::string reason = {};   ///< "FailedCreate"
    std::string message = {};  ///< as its sender wrote it, of any length
    api::Time last = {};       ///< when it last occurred, by the clock of its sender

    bool operator==(const Warning&) const = default;
};

/// Returns the message of the newest of these Warnings that says why the JobSet does not start, or does not
/// go on; "" if none does. A message about a Job begins with the name of its replicated job. Warnings about
/// Pods explain nothing here: what has Pods has started.
std::string explanation(const Observed& observed, std::span<const Warning> warnings, api::Time now);

}  // namespace lifecycle
