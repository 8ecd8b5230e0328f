#include "controller/reconcile/coalesced_reads.hpp"

#include <optional>

namespace controller {

kube::Async<std::optional<api::Json>> read(kube::ApiServer& server, kube::Resource resource,
                                           api::ObjectKey key, api::JsonPaths omit) {
    kube::Request request = kube::get(resource, key);
    auto object = co_await kube::fetch(server, std::move(request), omit);
    if (object) co_return std::move(*object);
    if (object.error().code == api::Errc::not_found) co_return std::nullopt;
    co_return object.error();
}

namespace {

kube::Async<CoalescedReads::Tree> read_tree(kube::ApiServer& server, kube::Resource resource,
                                            api::ObjectKey key) {
    auto object = co_await read(server, resource, std::move(key), managed_fields);
    if (!object) co_return object.error();
    if (!*object) co_return nullptr;
    co_return std::make_shared<const api::Json>(std::move(**object));
}

}  // namespace

// With one request at a time, an answer that never comes would delay every caller. Each caller has its own
// room for an answer.
CoalescedReads::CoalescedReads()
    : requests_(net::Share::not_begun, 2, [](const api::Result<Tree>& answer) {
          return answer || answer.error().code != api::Errc::too_large;
      }) {}

kube::Async<CoalescedReads::Tree> CoalescedReads::read(kube::ApiServer& server, kube::Resource resource,
                                                       api::ObjectKey key) {
    std::string path = kube::path(resource, key);
    return requests_.run(std::move(path), read_tree(server, resource, std::move(key)));
}

}  // namespace controller
