#include "controller/reconcile/coalesced_reads.hpp"

#include <optional>

namespace controller {
namespace {

// Returns the answer; nullopt if there is no such object.
kube::Async<std::optional<api::Json>> ask(kube::ApiServer& server, kube::Request request,
                                          api::JsonPaths omit) {
    auto object = co_await kube::fetch(server, std::move(request), omit);
    if (object) co_return std::move(*object);
    if (object.error().code == api::Errc::not_found) co_return std::nullopt;
    co_return object.error();
}

kube::Async<CoalescedReads::Tree> send(kube::ApiServer& server, kube::Request request) {
    auto object = co_await ask(server, std::move(request), managed_fields);
    if (!object) co_return object.error();
    if (!*object) co_return nullptr;
    co_return std::make_shared<const api::Json>(std::move(**object));
}

}  // namespace

kube::Async<std::optional<api::Json>> read(kube::ApiServer& server, kube::Resource resource,
                                           api::ObjectKey key, api::JsonPaths omit) {
    return ask(server, kube::get(resource, key), omit);
}

// With one request at a time, an answer that never comes would delay every caller. Each caller has its own
// room for an answer.
CoalescedReads::CoalescedReads()
    : requests_(net::Share::not_begun, 2, [](const api::Result<Tree>& answer) {
          return answer || answer.error().code != api::Errc::too_large;
      }) {}

kube::Async<CoalescedReads::Tree> CoalescedReads::read(kube::ApiServer& server, kube::Resource resource,
                                                       api::ObjectKey key) {
    kube::Request request = kube::get(resource, key);
    std::string target = request.target;
    return requests_.run(std::move(target), send(server, std::move(request)));
}

}  // namespace controller
