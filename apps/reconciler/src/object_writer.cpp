#include "object_writer.hpp"

#include "kube/status.hpp"
#include "runtime/applied_hash.hpp"

namespace reconciler {
namespace {

using api::Json;
using lifecycle::WriteFailed;
using runtime::Applied;

runtime::Need need_of(const Json& object) {
    return {.api_version = std::string(object["apiVersion"].as_string()),
            .kind = std::string(object["kind"].as_string()),
            .key = api::parse_meta(object).key()};
}

// What to apply to make `live` (nullptr: nothing yet) the object; nullopt if it is that already.
std::optional<Json> change_of(const runtime::BuiltObject& built, const Json* live) {
    Json wanted = runtime::with_applied_hash(built.object);
    if (!live) return wanted;
    if (runtime::is_applied(wanted, *live)) return std::nullopt;
    const api::ObjectMeta seen = api::parse_meta(*live);
    wanted["metadata"]["uid"] = seen.uid;
    wanted["metadata"]["resourceVersion"] = seen.resource_version;
    return wanted;
}

// By POST, which touches nothing that others have made since we looked, whatever is in it.
kube::Task<Failure> create(kube::ApiServer& server, const Json& wanted) {
    const runtime::Need name = need_of(wanted);
    const auto resource = resource_of_kind(name.api_version, name.kind);
    if (!resource) throw std::logic_error("a plugin builds a kind without a resource: " + name.kind);
    kube::Request request = kube::create(*resource, wanted);
    const auto created = co_await server.send(std::move(request));
    if (!created) co_return WriteFailed{described(name), created.error()};
    co_return lifecycle::Done();
}

kube::Task<Failure> apply(kube::ApiServer& server, const Json& wanted, bool exists) {
    const runtime::Need name = need_of(wanted);
    const auto resource = resource_of_kind(name.api_version, name.kind);
    if (!resource) throw std::logic_error("a plugin builds a kind without a resource: " + name.kind);
    kube::Request request = kube::apply(*resource, wanted, exists);
    const auto applied = co_await server.send(std::move(request));
    if (!applied) co_return WriteFailed{described(name), applied.error()};
    if (!exists && applied->status != 201) {
        const api::Error error = {.code = api::Errc::conflict, .message = "it exists already; looking again"};
        co_return WriteFailed{described(name), error};
    }
    co_return lifecycle::Done();
}

}  // namespace

kube::Task<Failure> apply_objects(kube::ApiServer& server, const runtime::Built& built,
                                  const NeededObjects& found, bool with_job_set) {
    for (std::size_t i = 0; i + 1 < built.objects.size(); ++i) {
        const runtime::BuiltObject& each = built.objects[i];
        if (each.when == Applied::with_job_set && !with_job_set) continue;
        const Json* live = runtime::find_observed(found.observed, need_of(each.object));
        Failure written = lifecycle::Done();
        if (each.when == Applied::once) {
            if (!live) written = co_await create(server, each.object);
        } else if (const auto wanted = change_of(each, live)) {
            written = co_await apply(server, *wanted, live != nullptr);
        }
        if (!std::holds_alternative<lifecycle::Done>(written)) co_return written;
    }
    co_return lifecycle::Done();
}

}  // namespace reconciler
