#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kube/api_server.hpp"
#include "kube/clock.hpp"
#include "kube/watch_machine.hpp"

namespace kube {

class TroubleNews;

/// The loop around a WatchMachine: keeps `sink` equal to a collection until it is cancelled. Never gives up:
/// a CRD that is not installed, a missing permission or an unreachable server is retried with backoff. Thread
/// rule: everything happens on the executor of run(). Server, sink and clock must outlive it.
class Reflector {
public:
    /// Called when it starts or stops working, and when it has failed for another reason than before a few
    /// times (whatever passes by itself is one reason); `trouble` is nullptr while it works.
    using OnChange = std::function<void(const Scope& scope, const api::Error* trouble)>;

    /// Streams that were open and are no more. API servers end each after some minutes; one that breaks, or
    /// is too far behind, is another matter.
    struct Restarts {
        std::uint64_t ended = 0;
        std::uint64_t broken = 0;
    };

    Reflector(ApiServer& server, Clock& clock, Sink& sink, Scope scope, OnChange on_change = {});
    ~Reflector();

    /// Ends by cancellation only.
    Task<> run();

    bool synced() const { return machine_.synced(); }
    /// The sink is whole and nothing is wrong.
    bool works() const { return machine_.synced() && !machine_.trouble(); }
    std::uint64_t brought() const { return machine_.brought(); }
    const Restarts& restarts() const { return restarts_; }
    const Scope& scope() const { return scope_; }
    /// It was refused for want of a permission, and will ask again.
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
    std::unique_ptr<TroubleNews> news_;
};

/// Which first lists are still to come, a short reason for each. A namespace that refuses its list is not
/// waited for once another one has given its list of the same kind: whoever can take our role away in one
/// namespace must not be able to stop our work in others.
std::vector<std::string> lists_to_come(std::span<const Reflector* const> reflectors);

}  // namespace kube
