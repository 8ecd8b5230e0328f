#include "progress/wire.hpp"

#include <algorithm>
#include <array>

#include "api/names.hpp"
#include "api/text.hpp"

namespace progress {
namespace {

using api::Json;

net::HttpResponse json(int status, const Json& body) {
    return {.status = status, .headers = {{"Content-Type", "application/json"}}, .body = api::to_json(body)};
}

net::HttpResponse failure(int code, std::string_view reason, std::string_view message) {
    return json(code, Json::object({{"metadata", Json::object()},
                                    {"status", "Failure"},
                                    {"message", message},
                                    {"reason", reason},
                                    {"code", code}}));
}

// Removes the segment up to the next slash, or the rest.
std::string_view take_segment(std::string_view& path) {
    const std::string_view segment = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(segment.size() + 1, path.size()));
    return segment;
}

bool take(std::string_view& path, std::string_view prefix) {
    if (!path.starts_with(prefix)) return false;
    path.remove_prefix(prefix.size());
    return true;
}

struct Row {
    std::string_view name;
    int code;
    std::string_view reason;
    std::string_view message;
};

constexpr std::array<Row, outcome_count> rows = {{
    {"accepted", 200, "", ""},
    {"late", 200, "", ""},
    {"empty", 200, "", ""},
    {"not_found", 404, "NotFound", "Not found"},
    {"forbidden", 403, "Forbidden", "Forbidden"},
    {"unreadable", 422, "Invalid", "Invalid payload"},
    {"no_train_job", 404, "NotFound", "Train job not found"},
    {"invalid", 422, "Invalid", ""},
    {"failed", 500, "InternalError", "Internal error"},
    {"limited", 429, "TooManyRequests", "Too many requests, try again"},
}};

const Row& row_of(Outcome outcome) { return rows[static_cast<std::size_t>(outcome)]; }

// The reasons of metav1 for the statuses of the HTTP layer.
std::string_view reason_of(int status) {
    switch (status) {
        case 400: return "BadRequest";
        case 408: return "Timeout";
        case 413: return "RequestEntityTooLarge";
        case 500: return "InternalError";
        case 503: return "ServiceUnavailable";
        default: return "BadRequest";
    }
}

}  // namespace

std::string_view to_string(Outcome outcome) { return row_of(outcome).name; }

std::optional<api::ObjectKey> train_job_of(std::string_view target) {
    std::string_view path = target.substr(0, target.find('?'));
    if (!take(path, "/apis/") || !take(path, api::trainer_api_version) || !take(path, "/namespaces/"))
        return std::nullopt;
    const std::string_view ns = take_segment(path);
    if (!take(path, "trainjobs/")) return std::nullopt;
    const std::string_view name = take_segment(path);
    if (ns.empty() || name.empty() || path != "status") return std::nullopt;
    return api::ObjectKey{.ns = std::string(ns), .name = std::string(name)};
}

net::HttpResponse refusal(Outcome outcome) {
    const Row& row = row_of(outcome);
    net::HttpResponse response = failure(row.code, row.reason, row.message);
    // The next report of this Pod may reach another replica, one that can store it.
    response.close = outcome == Outcome::failed;
    return response;
}

net::HttpResponse invalid_report(const std::string& name, const std::vector<std::string>& errors) {
    std::string text =
        "TrainJob." + std::string(api::trainer_group) + " " + api::quoted(name) + " is invalid: ";
    if (errors.size() > 1) text += '[';
    for (std::size_t i = 0; i < errors.size(); ++i) text += (i > 0 ? ", " : "") + errors[i];
    if (errors.size() > 1) text += ']';
    return invalid_report(text);
}

net::HttpResponse invalid_report(const std::string& message) {
    const Row& row = row_of(Outcome::invalid);
    return failure(row.code, row.reason, message);
}

net::HttpResponse acceptance(const std::optional<Report>& report) {
    Json body = Json::object();
    if (report) body["trainerStatus"] = to_json_tree(*report);
    return json(200, body);
}

net::HttpResponse http_refusal(int status, std::string_view text) {
    if (status == 413) text = "Payload too large";
    if (status == 500) text = "Internal Server Error";
    return failure(status, reason_of(status), text);
}

// Bodies are read after the token was accepted.
bool is_to_pod(const net::HttpResponse& response) { return response.status == 200 || response.status == 422; }

}  // namespace progress
