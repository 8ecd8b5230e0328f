#include "kube/client/status.hpp"

#include <algorithm>
#include <charconv>
#include <span>

#include "api/text.hpp"

namespace kube {
namespace {

constexpr std::string_view namespace_terminating = "NamespaceTerminating";
constexpr std::string_view version_too_large = "ResourceVersionTooLarge";
// Each one is looked up in the message.
constexpr std::size_t max_causes = 100;

api::Errc code_for(int status) {
    using enum api::Errc;
    switch (status) {
        case 401: return unauthorized;
        case 403: return forbidden;
        case 404: return not_found;
        case 408: return unavailable;
        case 409: return conflict;
        case 410: return gone;
        case 429: return unavailable;
        default: break;
    }
    if (status >= 500) return unavailable;
    return status >= 400 ? invalid : internal;
}

// Returns the server's message with the first causes that it does not contain.
std::string message_of(const api::Json& status) {
    std::string message = api::cut_bytes(status["message"].as_string(), max_status_message);
    const auto& causes = status["details"]["causes"].items();
    for (const api::Json& cause : std::span(causes).first(std::min(causes.size(), max_causes))) {
        std::string text(cause["field"].as_string());
        if (!text.empty()) text += ": ";
        const std::string_view what = cause["message"].as_string();
        if (what.empty() || message.find(what) != std::string::npos) continue;
        if (!message.empty()) message += "; ";
        message.append(text).append(what);
        if (message.size() > max_status_message) break;
    }
    if (causes.size() > max_causes)
        message += "; and " + std::to_string(causes.size() - max_causes) + " more causes";
    return message;
}

std::string reason_of(const api::Json& status) {
    for (const api::Json& cause : status["details"]["causes"].items())
        for (const std::string_view decisive : {namespace_terminating, version_too_large})
            if (cause["reason"].as_string() == decisive) return std::string(decisive);
    return std::string(status["reason"].as_string());
}

// Returns whether apply_new() found a custom resource. The API server responds with a 422, and with a 409 for
// its own kinds.
bool blames_resource_version(const api::Json& status) {
    const auto& causes = status["details"]["causes"].items();
    return std::any_of(causes.begin(), causes.end(), [](const api::Json& cause) {
        return cause["field"].as_string() == "metadata.resourceVersion";
    });
}

// Limits the delay to a minute: a broken proxy cannot stop a controller, or keep it from telling users.
std::optional<std::chrono::seconds> bounded(std::int64_t seconds) {
    if (seconds < 0) return std::nullopt;
    return std::chrono::seconds(std::min<std::int64_t>(seconds, 60));
}

std::optional<std::chrono::seconds> retry_after(const net::Headers& headers) {
    const std::string_view text = net::header(headers, "Retry-After");
    std::int64_t seconds = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), seconds);
    // The other form is a date, which no API server sends.
    if (text.empty() || failed != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return bounded(seconds);
}

std::string quoted(std::string_view body) {
    std::string text(body.substr(0, 512));
    for (char& c : text)
        if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f) c = ' ';
    const auto last = text.find_last_not_of(' ');
    text.resize(last == std::string::npos ? 0 : last + 1);
    return text;
}

std::optional<std::string_view> between(std::string_view text, std::string_view before,
                                        std::string_view after) {
    const auto at = text.find(before);
    if (at == std::string_view::npos) return std::nullopt;
    text.remove_prefix(at + before.size());
    const auto end = text.find(after);
    if (end == std::string_view::npos) return std::nullopt;
    return text.substr(0, end);
}

bool is_warning(std::string_view header) {
    constexpr std::string_view warning = "warning";
    return std::equal(header.begin(), header.end(), warning.begin(), warning.end(),
                      [](char given, char wanted) { return (given | 0x20) == wanted; });
}

// Removes one quoted-string, with its escapes, from the front of `text`.
std::optional<std::string> take_quoted(std::string_view& text) {
    if (text.empty() || text.front() != '"') return std::nullopt;
    std::string value;
    for (std::size_t i = 1; i < text.size(); ++i) {
        if (text[i] == '"') {
            text.remove_prefix(i + 1);
            return value;
        }
        if (text[i] == '\\' && i + 1 < text.size()) ++i;
        value += text[i];
    }
    return std::nullopt;
}

}  // namespace

api::Error error_from_status(const api::Json& status) {
    const int http = static_cast<int>(std::clamp<std::int64_t>(status["code"].int_or(0), 0, 999));
    api::Error error = {.code = code_for(http),
                        .message = api::cut_bytes(message_of(status), max_status_message),
                        .reason = api::cut_bytes(reason_of(status), max_status_message),
                        .http_status = http};
    if (error.reason == "Expired" || error.reason == "Gone") error.code = api::Errc::gone;
    if (http == 422 && blames_resource_version(status)) error.code = api::Errc::conflict;
    if (const auto seconds = status["details"]["retryAfterSeconds"].as_int(); seconds && *seconds > 0)
        error.retry_after = bounded(*seconds);
    if (error.message.empty())
        error.message = error.reason.empty() ? "the API server gave no reason" : error.reason;
    return error;
}

api::Error error_from(const net::HttpResponse& response) {
    api::Error error;
    const auto body = api::parse_json(response.body);
    if (body && (*body)["kind"].as_string() == "Status") {
        error = error_from_status(*body);
    } else {
        const std::string text = quoted(response.body);
        error.message = "HTTP status " + std::to_string(response.status) + (text.empty() ? "" : ": " + text);
    }
    const bool is_taken = response.status == 422 && error.code == api::Errc::conflict;
    if (error.code != api::Errc::gone && !is_taken) error.code = code_for(response.status);
    error.http_status = response.status;
    if (const auto seconds = retry_after(response.headers)) error.retry_after = seconds;
    return error;
}

std::vector<std::string> warnings_of(const net::Headers& headers) {
    std::vector<std::string> warnings;
    for (const auto& [name, value] : headers) {
        if (!is_warning(name)) continue;
        std::string_view rest = value;
        // warn-code SP warn-agent SP warn-text [SP warn-date], several of them separated by commas.
        while (true) {
            const auto quote = rest.find('"');
            if (quote == std::string_view::npos) break;
            rest.remove_prefix(quote);
            auto text = take_quoted(rest);
            if (!text) break;
            if (!text->empty()) warnings.push_back(std::move(*text));
            const auto comma = rest.find(',');
            if (comma == std::string_view::npos) break;
            rest.remove_prefix(comma);
        }
    }
    return warnings;
}

std::optional<Permission> missing_permission(const api::Error& error) {
    if (error.code != api::Errc::forbidden) return std::nullopt;
    // The text of the authorizer since 1.7: `User "x" cannot list resource "y/status" in API group "z" ...`.
    const std::string_view text = error.message;
    // Admission plugin OwnerReferencesPermissionEnforcement. Its text does not name the owner's resource.
    if (text.find(" cannot set blockOwnerDeletion ") != std::string_view::npos)
        return Permission{.verb = "update", .resource = "finalizers of the owner"};
    const auto verb = between(text, " cannot ", " ");
    const auto resource = between(text, " resource \"", "\"");
    if (!verb || !resource) return std::nullopt;
    const auto group = between(text, " in API group \"", "\"");
    const auto slash = std::min(resource->find('/'), resource->size());
    Permission missing = {.verb = std::string(*verb), .resource = std::string(resource->substr(0, slash))};
    if (group && !group->empty()) missing.resource.append(".").append(*group);
    missing.resource.append(resource->substr(slash));
    return missing;
}

bool is_missing_permission(const api::Error& error) { return missing_permission(error).has_value(); }

bool is_namespace_terminating(const api::Error& error) { return error.reason == namespace_terminating; }

bool is_too_large_resource_version(const api::Error& error) {
    return error.reason == version_too_large ||
           error.message.find("Too large resource version") != std::string::npos;
}

bool is_transient(const api::Error& error) {
    return error.code == api::Errc::unavailable || error.code == api::Errc::unauthorized;
}

}  // namespace kube
