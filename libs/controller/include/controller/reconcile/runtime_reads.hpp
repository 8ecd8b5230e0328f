#pragma once
#include <memory>

#include "api/json.hpp"
#include "kube/client/api_server.hpp"

namespace controller {

/// Reads runtimes as they are now, each once for all passes that ask at about the same time: whoever asks
/// while one is being read twice gets the next reading, which begins after the question, together with all
/// others who asked meanwhile; an answer that is too large for the one who read is no answer for them. So
/// nobody is told of a time before the question. Thread rule: one thread.
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
