#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kube/client/api_server.hpp"
#include "kube/client/clock.hpp"
#include "kube/watch/watch_machine.hpp"

namespace kube {

class ErrorTransitions;

/// Runs a WatchMachine: keeps `sink` equal to a collection until it is cancelled. It retries with backoff for
/// ever: also if a CRD is not installed, a permission is missing or the server is unreachable. Server, sink
/// and clock must outlive it. Thread rule: the executor of run().
class Reflector {
public:
    /// Called when the reflector begins or ceases to work. Also called after it has failed a few times with
    /// another error than before; all transient errors count as one. `error` is nullptr while it works.
    using OnChange = std::function<void(const Scope& scope, const api::Error* error)>;

    /// Counts closed streams. An API server ends each after some minutes, which is `ended`. `broken` counts
    /// those that broke or fell too far behind.
    struct Restarts {
        std::uint64_t ended = 0;
        std::uint64_t broken = 0;
    };

    Reflector(ApiServer& server, Clock& clock, Sink& sink, Scope scope, OnChange on_change = {});
    ~Reflector();

    /// Ends only by cancellation.
    Task<> run();

    bool synced() const { return machine_.synced(); }
    /// Returns whether the sink is complete and there is no error.
    bool healthy() const { return machine_.synced() && !machine_.error(); }
    const Restarts& restarts() const { return restarts_; }
    const Scope& scope() const { return scope_; }
    /// Returns whether a permission is missing. It will retry.
    bool is_forbidden() const;

private:
    Task<> follow(Request request);
    void report();

    ApiServer& server_;
    Clock& clock_;
    Sink& sink_;
    Scope scope_;
    OnChange on_change_;
    WatchMachine machine_;
    Restarts restarts_;
    std::unique_ptr<ErrorTransitions> transitions_;
};

/// Returns a short reason for each first list that is still missing. A forbidden list does not count if the
/// list of another namespace of the same kind succeeded. Otherwise the removal of the role in one namespace
/// would stop the work in all others.
std::vector<std::string> unsynced(std::span<const Reflector* const> reflectors);

}  // namespace kube
