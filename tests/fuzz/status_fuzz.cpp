// What an API server, or a proxy before it, says about a request: the first line is the value of a Warning
// header, the second one of Retry-After, the rest a body: a Status, or any text.
#include <algorithm>

#include "cost.hpp"
#include "input.hpp"
#include "kube/client/status.hpp"

namespace {

bool is_printable(std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

// One header with all warnings, as RFC 7234, 5.5, has it.
std::string header_of(const std::vector<std::string>& warnings) {
    std::string value;
    for (const std::string& warning : warnings) {
        value += value.empty() ? "299 - \"" : ", 299 - \"";
        for (const char c : warning) {
            if (c == '"' || c == '\\') value += '\\';
            value += c;
        }
        value += '"';
    }
    return value;
}

void check_warnings(std::string_view value) {
    const auto warnings = kube::warnings_of({{"Warning", std::string(value)}});
    std::size_t bytes = 0;
    for (const std::string& warning : warnings) {
        MUST_HOLD(!warning.empty());
        bytes += warning.size();
    }
    MUST_HOLD(bytes <= value.size());
    MUST_HOLD(kube::warnings_of({{"warning", header_of(warnings)}}) == warnings);
}

void check_error(const api::Error& error) {
    MUST_HOLD(!error.message.empty() && error.message.size() <= kube::max_status_message);
    MUST_HOLD(error.reason.size() <= kube::max_status_message);
    MUST_HOLD(!error.retry_after || (error.retry_after->count() >= 0 && error.retry_after->count() <= 60));
    const auto permission = kube::missing_permission(error);
    MUST_HOLD(permission.has_value() == kube::is_missing_permission(error));
    MUST_HOLD(!permission || error.code == api::Errc::forbidden);
    // An unknown outcome must not look final.
    MUST_HOLD(error.http_status < 500 || error.code == api::Errc::gone || kube::is_transient(error));
    (void)kube::is_too_large_resource_version(error);
    (void)kube::is_namespace_terminating(error);
}

void run(const std::uint8_t* data, std::size_t size) {
    const auto parts = parts_of(text_of(data, size), 3);
    check_warnings(parts[0]);
    const auto body = api::parse_json(parts[2]);
    const bool is_status = body && std::as_const(*body)["kind"].as_string() == "Status";
    for (const int status : {302, 400, 401, 403, 404, 409, 410, 422, 429, 500, 504}) {
        const api::Error error = kube::error_from({.status = status,
                                                   .headers = {{"Retry-After", std::string(parts[1])}},
                                                   .body = std::string(parts[2])});
        check_error(error);
        MUST_HOLD(error.http_status == status);
        MUST_HOLD(is_status || (is_printable(error.message) && error.message.size() < 600));
    }
    // As the ERROR event of a watch.
    if (body) check_error(kube::error_from_status(*body));
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    return at_cost({.bytes_per_byte = 1000, .nanoseconds_per_byte = 40000}, size, [&] { run(data, size); });
}
