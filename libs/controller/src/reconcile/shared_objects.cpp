#include "controller/reconcile/shared_objects.hpp"

namespace controller {
namespace {

using api::Json;

constexpr std::chrono::minutes poll_interval{1};

// Returns the object with its name and the wanted entry of `data` alone.
Json wanted_part(const Json& object, const runtime::Need& need) {
    Json part = Json::object({{"apiVersion", api_version(need.resource)}, {"kind", need.resource.kind}});
    part["metadata"]["name"] = need.key.name;
    part["metadata"]["namespace"] = need.key.ns;
    if (const Json& data = object["data"][need.shared_read->data_key]; !data.is_null())
        part["data"][need.shared_read->data_key] = data;
    return part;
}

}  // namespace

SharedObjects::SharedObjects(kube::Clock& clock, Changed changed)
    : clock_(clock),
      changed_(std::move(changed)),
      // A failure may be the caller's own: each has its own limit of what it may read.
      reads_(net::Share::not_begun, 1, [](const api::Result<Found>& found) { return bool(found); }) {}

SharedObjects::Entry& SharedObjects::entry_of(const runtime::Need& need) {
    for (Entry& entry : entries_)
        if (entry.need == need) return entry;
    entries_.emplace_back();
    entries_.back().need = need;
    return entries_.back();
}

kube::Async<std::optional<Json>> SharedObjects::read(kube::ApiServer& server, runtime::Need need) {
    Entry& entry = entry_of(need);
    if (is_fresh(entry)) co_return entry.object;
    auto reading = read_entry(server, entry);
    co_return co_await reads_.run(&entry, std::move(reading));
}

kube::Async<std::optional<Json>> SharedObjects::read_entry(kube::ApiServer& server, Entry& entry) {
    // Another caller may have read it while this one waited.
    if (is_fresh(entry)) co_return entry.object;
    const runtime::Need& need = entry.need;
    kube::Request request = kube::get(need.resource, need.key);
    const auto answer = co_await kube::fetch(server, std::move(request));
    entry.fresh_until = {};
    if (!answer && answer.error().code == api::Errc::not_found) co_return std::nullopt;
    if (!answer) co_return answer.error();
    Json found = wanted_part(*answer, need);
    if (!std::as_const(found).contains("data")) co_return found;
    const bool changed = entry.object && *entry.object != found;
    entry.object = found;
    entry.fresh_until = clock_.now() + need.shared_read->max_age;
    if (changed) changed_();
    co_return found;
}

net::Task<> SharedObjects::keep_fresh(kube::ApiServer& server) {
    for (;;) {
        co_await clock_.sleep_until(clock_.now() + poll_interval);
        for (Entry& entry : entries_) {
            if (!entry.object || clock_.now() < entry.fresh_until) continue;
            const runtime::Need need = entry.need;
            // A reconcile that needs the object reports the error.
            (void)co_await read(server, need);
        }
    }
}

}  // namespace controller
