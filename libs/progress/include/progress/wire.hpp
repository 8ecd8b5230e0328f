#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/object_key.hpp"
#include "net/http/http.hpp"
#include "progress/report.hpp"

namespace progress {

/// The outcome of a request with a report; the label of metrics.
enum class Outcome {
    accepted,
    late,       ///< accepted, and nothing to write
    empty,      ///< no trainerStatus
    not_found,  ///< another path or method
    forbidden,
    unreadable,
    no_train_job,
    invalid,
    failed,   ///< the API server did not accept the write, or did not answer about the token
    limited,  ///< a limit of this server
};
inline constexpr std::size_t outcome_count = 10;
std::string_view to_string(Outcome outcome);

/// Returns the TrainJob of a POST to this target; nullopt for other paths. Ignores the query.
std::optional<api::ObjectKey> train_job_of(std::string_view target);

/// Returns the answer to a refused request, a metav1.Status as Kubeflow Trainer's server writes it. Not for
/// `accepted`, `late`, `empty` and `invalid`.
net::HttpResponse refusal(Outcome outcome);
/// `errors`: of report_errors(), at least one.
net::HttpResponse invalid_report(const std::string& name, const std::vector<std::string>& errors);
/// Returns the answer with the API server's message.
net::HttpResponse invalid_report(const std::string& message);
/// Returns the answer with the report as it was read; without a report the answer to an empty request.
net::HttpResponse acceptance(const std::optional<Report>& report);

/// Returns the answer of the HTTP layer: ServerConfig::refuse.
net::HttpResponse http_refusal(int status, std::string_view text);

/// Returns whether the response is to a Pod of a TrainJob: ServerConfig::is_to_known.
bool is_to_pod(const net::HttpResponse& response);

}  // namespace progress
