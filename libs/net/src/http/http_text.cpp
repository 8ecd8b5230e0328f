#include "http/http_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>

#include "api/text.hpp"
#include "net/http/http.hpp"

namespace net {
namespace {

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
    return text;
}

constexpr auto token_bytes = [] {
    std::array<bool, 256> is_one = {};
    for (const unsigned char c : std::string_view("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz"
                                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
        is_one[c] = true;
    return is_one;
}();

bool is_token(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](unsigned char c) { return token_bytes[c]; });
}

// These two have no early return: so the compiler can vectorize the loop.
bool is_field_value(std::string_view text) {
    unsigned bad = 0;
    for (const unsigned char c : text) bad |= unsigned((c < 0x20 && c != '\t') || c == 0x7F);
    return bad == 0;
}

bool is_target(std::string_view text) {
    unsigned bad = 0;
    for (const unsigned char c : text) bad |= unsigned(c <= 0x20 || c >= 0x7F);
    return bad == 0 && !text.empty();
}

// request_text() and append_response() write these fields themselves.
bool is_framing(std::string_view name) {
    return api::equal_ignoring_case(name, "Content-Length") ||
           api::equal_ignoring_case(name, "Transfer-Encoding") ||
           api::equal_ignoring_case(name, "Connection");
}

std::string_view reason_phrase(int status) {
    switch (status) {
        case 200: return "OK";
        case 201: return "Created";
        case 202: return "Accepted";
        case 204: return "No Content";
        case 400: return "Bad Request";
        case 401: return "Unauthorized";
        case 403: return "Forbidden";
        case 404: return "Not Found";
        case 405: return "Method Not Allowed";
        case 408: return "Request Timeout";
        case 409: return "Conflict";
        case 411: return "Length Required";
        case 413: return "Content Too Large";
        case 415: return "Unsupported Media Type";
        case 417: return "Expectation Failed";
        case 422: return "Unprocessable Content";
        case 429: return "Too Many Requests";
        case 431: return "Request Header Fields Too Large";
        case 500: return "Internal Server Error";
        case 501: return "Not Implemented";
        case 503: return "Service Unavailable";
        default: return "Status";
    }
}

void append_number(std::string& out, std::size_t number) {
    char digits[24];
    out.append(digits, std::to_chars(digits, digits + sizeof(digits), number).ptr);
}

void append_field(std::string& out, std::string_view name, std::string_view value) {
    out += name;
    out += ": ";
    out += value;
    out += "\r\n";
}

// IMF-fixdate of RFC 9110, 5.6.7; formatted once per second and thread.
std::string_view date() {
    thread_local std::time_t made_at = 0;
    thread_local char text[40];
    thread_local std::size_t length = 0;
    if (const auto now = std::time(nullptr); now != made_at) {
        std::tm utc = {};
        ::gmtime_r(&now, &utc);
        // The program never changes the C locale, so the names are English.
        length = std::strftime(text, sizeof(text), "%a, %d %b %Y %H:%M:%S GMT", &utc);
        made_at = now;
    }
    return {text, length};
}

}  // namespace

bool has_token(std::string_view value, std::string_view word) {
    while (!value.empty()) {
        const auto comma = value.find(',');
        if (api::equal_ignoring_case(trimmed(value.substr(0, comma)), word)) return true;
        if (comma == std::string_view::npos) return false;
        value.remove_prefix(comma + 1);
    }
    return false;
}

api::Result<std::string> request_text(const HttpRequest& request, std::string_view host) {
    if (!is_token(request.method)) return api::invalid("", "not an HTTP method: \"" + request.method + "\"");
    if (!is_target(request.target))
        return api::invalid("", "not a request target: percent-encode \"" + request.target + "\"");
    std::size_t size = 256 + host.size() + request.target.size() + request.body.size();
    for (const auto& [name, value] : request.headers) size += name.size() + value.size() + 4;
    std::string out;
    out.reserve(size);
    out.append(request.method).append(" ").append(request.target).append(" HTTP/1.1\r\n");
    if (header(request.headers, "Host").empty()) append_field(out, "Host", host);
    for (const auto& [name, value] : request.headers) {
        // The value may be a secret: keep it out of the error.
        if (!is_token(name) || !is_field_value(value))
            return api::invalid("", "header " + name + " holds characters that no header may have");
        if (!is_framing(name)) append_field(out, name, value);
    }
    const bool may_have_body =
        request.method != "GET" && request.method != "HEAD" && request.method != "DELETE";
    if (may_have_body || !request.body.empty()) {
        out += "Content-Length: ";
        append_number(out, request.body.size());
        out += "\r\n";
    }
    out += "\r\n";
    out += request.body;
    return out;
}

void append_response(std::string& out, const HttpResponse& response, bool close, bool without_body) {
    out += "HTTP/1.1 ";
    append_number(out, static_cast<std::size_t>(std::clamp(response.status, 100, 999)));
    out += ' ';
    out += reason_phrase(response.status);
    out += "\r\n";
    append_field(out, "Date", date());
    for (const auto& [name, value] : response.headers)
        if (is_token(name) && is_field_value(value) && !is_framing(name)) append_field(out, name, value);
    if (response.status != 204 && response.status != 304 && response.status >= 200) {
        out += "Content-Length: ";
        append_number(out, response.body.size());
        out += "\r\n";
    }
    if (close) out += "Connection: close\r\n";
    out += "\r\n";
    if (!without_body && response.status != 204 && response.status != 304) out += response.body;
}

std::string_view header(const Headers& headers, std::string_view name) {
    for (const auto& [key, value] : headers)
        if (api::equal_ignoring_case(key, name)) return value;
    return {};
}

}  // namespace net
