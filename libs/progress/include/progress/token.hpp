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

/// Returns the token of `Authorization: Bearer TOKEN`: the scheme in any case, any run of blanks around the
/// two words; empty if the value is anything else.
std::string_view bearer_token(std::string_view authorization);

/// What a service account token says of the Pod that it is bound to. Only a TokenReview shows that it is
/// true.
struct TokenClaims {
    std::string pod_name = {};
    std::string pod_uid = {};
    api::Time expires = {};
};

/// Reads the claims without a look at the signature. Returns nullopt if no API server would take the token
/// for reports about this TrainJob: it has more than `max_token_bytes` bytes, is no JSON web token, is for
/// another audience, over or not valid yet (clocks may differ by a minute), or bound to no Pod of the
/// TrainJob's namespace.
std::optional<TokenClaims> read_claims(std::string_view token, const api::ObjectKey& train_job,
                                       api::Time now);
inline constexpr std::size_t max_token_bytes = 8 * 1024;

}  // namespace progress
