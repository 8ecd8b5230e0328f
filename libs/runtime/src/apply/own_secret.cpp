#include "apply/own_secret.hpp"

#include "api/hash.hpp"
#include "api/names.hpp"

namespace runtime {
namespace {

using api::Json;

// Whoever can read it can read the data as well.
std::string data_note(const Json& secret) { return api::hex(api::fnv1a(to_json(secret["data"]))); }

}  // namespace

Need own_secret(const api::TrainJob& job, std::string name) {
    return {.resource = api::resources::secrets,
            .key = {.ns = job.meta.ns, .name = std::move(name)},
            .apply = ApplyPolicy::once};
}

Json with_data_note(Json secret) {
    secret["metadata"]["annotations"][api::applied_hash_annotation] = data_note(secret);
    return secret;
}

api::Result<> check_own_secret(const std::vector<Json>& observed, const Need& need) {
    const Json* const secret = find_observed(observed, need);
    if (!secret) return {};
    const std::string_view noted =
        (*secret)["metadata"]["annotations"][api::applied_hash_annotation].as_string();
    if (noted.empty() || noted == data_note(*secret)) return {};
    return api::Error{
        .code = api::Errc::invalid,
        .message = "Secret " + to_string(need.key) +
                   " was changed since it was made for this TrainJob: undo that; or suspend the "
                   "TrainJob, delete the Secret, and resume: then all Pods get new keys"};
}

}  // namespace runtime
