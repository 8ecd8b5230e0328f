#pragma once
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "api/json.hpp"
#include "kube/client/api_server.hpp"
#include "net/process/semaphore.hpp"
#include "net/process/single_flight.hpp"

namespace controller {

/// Reads an object; nullopt if it does not exist. `omit` as in kube::fetch().
kube::Async<std::optional<api::Json>> read(kube::ApiServer& server, kube::Resource resource,
                                           api::ObjectKey key, api::JsonPaths omit = {});

/// The part of an object that only the API server needs, as paths for read() and fetch().
inline constexpr std::string_view managed_fields_path[] = {"metadata", "managedFields"};
inline constexpr api::JsonPath managed_fields[] = {managed_fields_path};

/// How many requests CoalescedReads sends at a time, and which answers it shares.
struct ReadLimits {
    /// With the same target. With only one, an answer that never comes delays every caller.
    int of_one_target = 2;
    std::size_t in_all = std::numeric_limits<std::size_t>::max();
    /// Whether all callers get an answer of `too_large`: only if none of them has room for more than others.
    bool shares_too_large = false;
};

/// Coalesces live reads: callers that ask for the same at the same time share a request. A caller never gets
/// the answer to a request that was sent before its call. Copies share requests and limits. Thread rule: one
/// thread.
class CoalescedReads {
public:
    /// nullptr: there is no such object.
    using Tree = std::shared_ptr<const api::Json>;

    explicit CoalescedReads(ReadLimits limits = {});

    /// Reads an object without its managedFields. `server` must live until the coroutine ends; those of all
    /// callers must lead to the same API server.
    kube::Async<Tree> read(kube::ApiServer& server, kube::Resource resource, api::ObjectKey key);
    /// The same for any GET; `omit` as in kube::fetch(). Requests with equal targets must be equal.
    kube::Async<Tree> read(kube::ApiServer& server, kube::Request request, api::JsonPaths omit);

private:
    static kube::Async<Tree> send(net::Semaphore permits, kube::ApiServer& server, kube::Request request,
                                  api::JsonPaths omit);

    net::SingleFlight<std::string, api::Result<Tree>> requests_;  // by target
    net::Semaphore permits_;
};

}  // namespace controller
