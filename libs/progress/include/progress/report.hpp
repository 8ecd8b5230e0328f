#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/json.hpp"
#include "api/time.hpp"

namespace progress {

struct Metric {
    std::string name = {};
    std::string value = {};

    bool operator==(const Metric&) const = default;
};

/// The `trainerStatus` that training code reports, with the types of the wire format.
struct Report {
    std::optional<std::int32_t> percentage = {};         ///< progressPercentage
    std::optional<std::int32_t> remaining_seconds = {};  ///< estimatedRemainingSeconds
    std::vector<Metric> metrics = {};
    std::optional<api::Time> updated = {};  ///< lastUpdatedTime, without its fraction of a second

    bool operator==(const Report&) const = default;
};

/// Reads the body of a request: JSON as api::parse_json() reads it. Ignores unknown members; null counts as
/// absent. Returns nullopt without a `trainerStatus`. Fails with `invalid` if a member is of another type.
api::Result<std::optional<Report>> decode_report(std::string_view body);

/// Returns the errors of the schema of TrainJob for the report, in the words of the API server. At most
/// `max_errors` of them.
std::vector<std::string> report_errors(const Report& report);
inline constexpr std::size_t max_errors = 16;

/// Returns `trainerStatus` as it is stored, without lastProgressTime.
api::Json to_json_tree(const Report& report);

/// Reads a stored `trainerStatus`; skips values of another type.
Report read_report(const api::Json& trainer_status);

/// Returns a hash of the values that count as progress: the percentage and the metrics with their order. It
/// differs from process to process.
std::uint64_t progress_hash(const Report& report);

}  // namespace progress
