#include "controller/reconcile/needs.hpp"

#include <algorithm>
#include <unordered_set>

#include "api/hash.hpp"
#include "cache/owner.hpp"
#include "net/tls/key_pairs.hpp"

namespace controller {
namespace {

using api::Json;
using runtime::Need;

// Items of a list carry neither kind nor apiVersion.
void add(const Need& need, Json answer, std::vector<Json>& observed) {
    Json* items = need.key.name.empty() ? answer.find("items") : nullptr;
    if (!items) {
        observed.push_back(std::move(answer));
        return;
    }
    for (Json& item : items->items()) {
        item["apiVersion"] = api_version(need.resource);
        item["kind"] = need.resource.kind;
        observed.push_back(std::move(item));
    }
}

bool is_absent(const api::Error& error, const Need& need) {
    return error.code == api::Errc::not_found || (need.optional && error.http_status == 403);
}

// Reads an object, and adds it to `observed` if it exists.
kube::Async<> observe(kube::ApiServer& server, Need need, BuildContext build_context,
                      std::vector<Json>& observed) {
    if (need.shared_read) {
        auto object = co_await build_context.shared.read(server, need);
        if (!object) co_return object.error();
        if (*object) observed.push_back(std::move(**object));
        co_return api::Result<>();
    }
    kube::Request request = kube::get(need.resource, need.key);
    auto answer = co_await kube::fetch(server, std::move(request));
    if (answer)
        add(need, std::move(*answer), observed);
    else if (!is_absent(answer.error(), need))
        co_return answer.error();
    co_return api::Result<>();
}

// Users make such a claim in advance, or restore it. apply_objects() looks whether it serves.
bool has_no_owner(const Json& object) { return object["metadata"]["ownerReferences"].items().empty(); }

// Returns why an object that is to be written belongs to another owner; nullopt if it belongs to the job, or
// does not exist.
std::optional<StepFailure> taken_by_others(const Need& need, const api::TrainJob& job,
                                           const std::vector<Json>& observed) {
    const Json* there = need.apply ? runtime::find_observed(observed, need) : nullptr;
    if (!there || api::parse_meta(*there).controller_uid == job.meta.uid) return std::nullopt;
    if (need.resource == api::resources::volume_claims && has_no_owner(*there)) return std::nullopt;
    return lifecycle::ForeignObject{described(need), is_leftover(*there, job)};
}

}  // namespace

std::string described(const api::Resource& kind, const api::ObjectKey& key) {
    return std::string(kind.kind) + " " + to_string(key);
}

std::string described(const Need& need) { return described(need.resource, need.key); }

kube::Task<std::variant<NeededObjects, StepFailure>> observe_needs(kube::ApiServer& server,
                                                                   const api::TrainJob& job,
                                                                   const Json& runtime,
                                                                   BuildContext build_context) {
    NeededObjects found;
    std::unordered_set<std::string, api::KeyedHash>
        asked;  // a job may name many objects, and is asked again and again
    for (bool new_ones = true; new_ones;) {
        new_ones = false;
        found.needs = runtime::needs(job, runtime, found.observed, build_context.pipeline);
        for (const Need& need : found.needs.objects) {
            if (!asked.insert(api_version(need.resource) + " " + described(need)).second) continue;
            new_ones = true;
            const auto read = co_await observe(server, need, build_context, found.observed);
            if (!read) co_return StepFailure(lifecycle::ReadFailed{described(need), read.error()});
        }
    }
    for (const Need& need : found.needs.objects)
        if (auto taken = taken_by_others(need, job, found.observed)) co_return std::move(*taken);
    co_return found;
}

kube::Task<std::variant<std::vector<Json>, StepFailure>> read_objects(kube::ApiServer& server,
                                                                      std::vector<Need> needs,
                                                                      BuildContext build_context) {
    std::vector<Json> observed;
    for (const Need& need : needs) {
        const auto read = co_await observe(server, need, build_context, observed);
        if (!read) co_return StepFailure(lifecycle::ReadFailed{described(need), read.error()});
    }
    co_return observed;
}

bool keeps_objects(const runtime::Needs& needs) {
    return std::any_of(needs.objects.begin(), needs.objects.end(), [](const Need& need) {
        return need.apply && *need.apply != runtime::ApplyPolicy::with_job_set &&
               need.resource != api::resources::volume_claims;
    });
}

api::Result<> make_key_material(const runtime::Needs& needs, runtime::Inputs& inputs) {
    if (needs.ssh_key_pair) {
        auto keys = net::make_ssh_key_pair();
        if (!keys) return keys.error();
        inputs.ssh_key_pair = runtime::SshKeyPair{.private_pem = std::move(keys->private_pem),
                                                  .public_line = std::move(keys->public_line)};
    }
    if (needs.curve_key_pair) {
        auto keys = net::make_curve_key_pair();
        if (!keys) return keys.error();
        inputs.curve_key_pair = runtime::CurveKeyPair{.public_key = std::move(keys->public_key),
                                                      .secret_key = std::move(keys->secret_key)};
    }
    return {};
}

}  // namespace controller
