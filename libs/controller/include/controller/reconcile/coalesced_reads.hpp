#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "api/json.hpp"
#include "kube/client/api_server.hpp"
#include "net/process/single_flight.hpp"

namespace controller {

/// Reads an object; nullopt if it does not exist. `omit` as in kube::fetch().
kube::Async<std::optional<api::Json>> read(kube::ApiServer& server, kube::Resource resource,
                                           api::ObjectKey key, api::JsonPaths omit = {});

/// The part of an object that only the API server needs, as paths for read() and fetch().
inline constexpr std::string_view managed_fields_path[] = {"metadata", "managedFields"};
inline constexpr api::JsonPath managed_fields[] = {managed_fields_path};

/// Coalesces live reads: callers that ask for the same object at the same time share a request. A caller
/// never gets the answer to a request that was sent before its call. At most two requests for an object are
/// under way. Copies share requests. Thread rule: one thread.
class CoalescedReads {
public:
    /// nullptr: there is no such object.
    using Tree = std::shared_ptr<const api::Json>;

    CoalescedReads();

    /// Reads an object without its managedFields. `server` must live until the coroutine ends; those of all
    /// callers must lead to the same API server.
    kube::Async<Tree> read(kube::ApiServer& server, kube::Resource resource, api::ObjectKey key);

private:
    net::SingleFlight<std::string, api::Result<Tree>> requests_;  // by path
};

}  // namespace controller
