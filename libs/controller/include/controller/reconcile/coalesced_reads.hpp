#pragma once
#include <memory>
#include <optional>
#include <string_view>

#include "api/json.hpp"
#include "kube/client/api_server.hpp"

namespace controller {

/// Reads an object; nullopt if it does not exist. `omit` as in kube::fetch().
kube::Async<std::optional<api::Json>> read(kube::ApiServer& server, kube::Resource resource,
                                           api::ObjectKey key, api::JsonPaths omit = {});

/// The part of an object that only the API server needs, as paths for read() and fetch().
inline constexpr std::string_view managed_fields_path[] = {"metadata", "managedFields"};
inline constexpr api::JsonPath managed_fields[] = {managed_fields_path};

/// Coalesces live reads: callers that ask for the same at the same time share a request, two in flight at
/// most. A caller never gets the answer to a request that was sent before its call. An answer that is too
/// large for one caller is not shared with the others. Thread rule: one thread.
class CoalescedReads {
public:
    /// An object or a list, without its managedFields; nullptr: there is none.
    using Tree = std::shared_ptr<const api::Json>;

    CoalescedReads();

    /// `server` must live until the coroutine ends; all callers must pass the same one.
    kube::Async<Tree> read(kube::ApiServer& server, kube::Resource resource, api::ObjectKey key);
    /// The same for a GET with any target. Requests with equal targets must be equal.
    kube::Async<Tree> read(kube::ApiServer& server, kube::Request request);

private:
    struct Reading;
    struct Line;
    class Turn;
    struct State;

    static kube::Async<Tree> read_in_turn(std::shared_ptr<State> state, kube::ApiServer& server,
                                          kube::Request request);

    std::shared_ptr<State> state_;
};

}  // namespace controller
