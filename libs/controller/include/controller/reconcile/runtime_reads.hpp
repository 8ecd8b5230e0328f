#pragma once
#include <memory>

#include "api/json.hpp"
#include "kube/client/api_server.hpp"

namespace controller {

/// Reads runtimes as they are now, each once for all reconciles that ask at about the same time. A reconcile
/// that asks while a runtime is being read twice shares the next reading with the others that wait. That
/// reading begins after their questions, so no answer is older than its question. An answer that is too
/// large for the reconcile that reads is not shared. Thread rule: one thread.
class RuntimeReads {
public:
    /// nullptr: it does not exist. Without managedFields.
    using Tree = std::shared_ptr<const api::Json>;

    RuntimeReads();

    /// `server` must live until the coroutine ends; all who ask must mean the same one.
    kube::Async<Tree> read(kube::ApiServer& server, kube::Resource resource, api::ObjectKey key);

private:
    struct Reading;
    struct Line;
    class Turn;
    struct State;

    static kube::Async<Tree> read_in_turn(std::shared_ptr<State> state, kube::ApiServer& server,
                                          kube::Resource resource, api::ObjectKey key);

    std::shared_ptr<State> state_;
};

}  // namespace controller
