#pragma once
// Tokens as an API server issues them for Pods, without valid signatures.
#include <string>

#include "api/base64.hpp"
#include "api/json.hpp"
#include "progress/token.hpp"

namespace test {

inline std::string base64url(std::string_view bytes) {
    std::string text = api::to_base64(bytes);
    while (text.ends_with('=')) text.pop_back();
    for (char& c : text) c = c == '+' ? '-' : c == '/' ? '_' : c;
    return text;
}

inline std::string token_of(const api::Json& claims) {
    return base64url(R"({"alg":"RS256","kid":"key"})") + "." + base64url(api::to_json(claims)) + ".c2ln";
}

/// `issued`: the beginning of its validity; it lasts an hour.
inline api::Json claims_of(const api::ObjectKey& train_job, const std::string& pod, const std::string& uid,
                           api::Time issued) {
    using api::Json;
    const auto seconds = [](api::Time time) { return time.time_since_epoch().count(); };
    return Json::object(
        {{"iss", "https://kubernetes.default.svc.cluster.local"},
         {"aud", Json::array({Json(progress::audience_of(train_job))})},
         {"exp", seconds(issued + std::chrono::hours(1))},
         {"nbf", seconds(issued)},
         {"iat", seconds(issued)},
         {"kubernetes.io",
          Json::object({{"namespace", train_job.ns},
                        {"node", Json::object({{"name", "node-1"}, {"uid", "n1"}})},
                        {"pod", Json::object({{"name", pod}, {"uid", uid}})},
                        {"serviceaccount", Json::object({{"name", "default"}, {"uid", "s1"}})}})}});
}

}  // namespace test
