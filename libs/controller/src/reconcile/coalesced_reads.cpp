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

}  // namespace

kube::Async<std::optional<api::Json>> read(kube::ApiServer& server, kube::Resource resource,
                                           api::ObjectKey key, api::JsonPaths omit) {
    return ask(server, kube::get(resource, key), omit);
}

CoalescedReads::CoalescedReads(ReadLimits limits)
    : requests_(net::Share::not_begun, limits.of_one_target,
                [all = limits.shares_too_large](const api::Result<Tree>& answer) {
                    return answer || answer.error().code != api::Errc::too_large || all;
                }),
      permits_(limits.in_all) {}

kube::Async<CoalescedReads::Tree> CoalescedReads::read(kube::ApiServer& server, kube::Resource resource,
                                                       api::ObjectKey key) {
    return read(server, kube::get(resource, key), managed_fields);
}

kube::Async<CoalescedReads::Tree> CoalescedReads::read(kube::ApiServer& server, kube::Request request,
                                                       api::JsonPaths omit) {
    std::string target = request.target;
    return requests_.run(std::move(target), send(permits_, server, std::move(request), omit));
}

kube::Async<CoalescedReads::Tree> CoalescedReads::send(net::Semaphore permits, kube::ApiServer& server,
                                                       kube::Request request, api::JsonPaths omit) {
    const auto permit = co_await permits.take();
    auto object = co_await ask(server, std::move(request), omit);
    if (!object) co_return object.error();
    if (!*object) co_return nullptr;
    co_return std::make_shared<const api::Json>(std::move(**object));
}

}  // namespace controller
