#include "progress/token.hpp"

#include <algorithm>
#include <cmath>

#include "api/base64.hpp"
#include "api/json.hpp"
#include "api/names.hpp"
#include "api/text.hpp"

namespace progress {
namespace {

using api::Json;
using namespace std::chrono_literals;

constexpr auto clock_skew = 60s;
constexpr std::string_view scheme = "Bearer";
// Blanks of HTTP field values; the server has removed others.
constexpr std::string_view blanks = " \t";

std::string_view take_word(std::string_view& text) {
    text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
    const std::string_view word = text.substr(0, text.find_first_of(blanks));
    text.remove_prefix(word.size());
    return word;
}

bool is_base64url(std::string_view part) {
    return !part.empty() && std::ranges::all_of(part, [](char c) {
        return api::is_letter_or_digit(c) || c == '-' || c == '_';
    });
}

// Returns the second of three parts; empty if the token has another form.
std::string_view payload_of(std::string_view token) {
    const auto first = token.find('.');
    if (first == std::string_view::npos) return {};
    const auto second = token.find('.', first + 1);
    if (second == std::string_view::npos) return {};
    const std::string_view payload = token.substr(first + 1, second - first - 1);
    const bool well_formed = is_base64url(token.substr(0, first)) && is_base64url(payload) &&
                             is_base64url(token.substr(second + 1));
    return well_formed ? payload : std::string_view();
}

bool is_for(const Json& audience, std::string_view wanted) {
    if (audience.is_string()) return audience.as_string() == wanted;
    return std::ranges::any_of(audience.items(),
                               [&](const Json& item) { return item.as_string() == wanted; });
}

// Reads a date of a token: seconds since 1970, perhaps with a fraction.
std::optional<api::Time> date(const Json& value) {
    const auto seconds = value.as_double();
    if (!seconds || !(std::abs(*seconds) < 1e11)) return std::nullopt;
    return api::Time(std::chrono::seconds(static_cast<std::int64_t>(*seconds)));
}

}  // namespace

std::string audience_of(const api::ObjectKey& train_job) {
    return std::string(api::trainer_api_version) + "/namespaces/" + train_job.ns + "/trainjobs/" +
           train_job.name + "/status";
}

std::string_view bearer_token(std::string_view authorization) {
    const std::string_view first = take_word(authorization);
    const std::string_view second = take_word(authorization);
    const bool more = !take_word(authorization).empty();
    return api::equal_ignoring_case(first, scheme) && !more ? second : std::string_view();
}

std::optional<TokenClaims> read_claims(std::string_view token, const api::ObjectKey& train_job,
                                       api::Time now) {
    if (token.size() > max_token_bytes) return std::nullopt;
    const auto text = api::from_base64url(payload_of(token));
    if (!text || text->empty()) return std::nullopt;
    const auto parsed = api::parse_json(*text);
    if (!parsed) return std::nullopt;
    const Json& claims = *parsed;
    if (!is_for(claims["aud"], audience_of(train_job))) return std::nullopt;
    const auto expires = date(claims["exp"]);
    if (!expires || *expires + clock_skew <= now) return std::nullopt;
    if (claims.contains("nbf")) {
        const auto begins = date(claims["nbf"]);
        if (!begins || *begins - clock_skew > now) return std::nullopt;
    }
    const Json& bound = claims["kubernetes.io"];
    const Json& pod = bound["pod"];
    TokenClaims found = {.pod_name = std::string(pod["name"].as_string()),
                         .pod_uid = std::string(pod["uid"].as_string()),
                         .expires = *expires};
    if (bound["namespace"].as_string() != train_job.ns || found.pod_name.empty() || found.pod_uid.empty())
        return std::nullopt;
    return found;
}

}  // namespace progress
