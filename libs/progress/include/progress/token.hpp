#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "api/object_key.hpp"
#include "api/time.hpp"

namespace progress {

/// Returns the audience of the tokens for a TrainJob's progress, which is also the path of its URL behind
/// "/apis/".
std::string audience_of(const api::ObjectKey& train_job);

/// Returns the token of `Authorization: Bearer TOKEN`: the scheme in any case, any number of blanks around
/// the two words; empty for any other value.
std::string_view bearer_token(std::string_view authorization);

/// The claims of a service account token about its Pod. They are proven only by a TokenReview.
struct TokenClaims {
    std::string pod_name = {};
    std::string pod_uid = {};
    api::Time expires = {};
};

/// Reads the claims without checking the signature. Returns nullopt if no API server would accept the token
/// for reports about this TrainJob: it has more than `max_token_bytes` bytes, is no JSON web token, has
/// another audience, is expired or not valid yet (clocks may differ by a minute), or is bound to no Pod of
/// the TrainJob's namespace.
std::optional<TokenClaims> read_claims(std::string_view token, const api::ObjectKey& train_job,
                                       api::Time now);
inline constexpr std::size_t max_token_bytes = 8 * 1024;

}  // namespace progress
