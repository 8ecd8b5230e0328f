#pragma once
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "net/process/async.hpp"

namespace net {

/// Gives out a number of permits, which are held until they are destroyed. Whoever waits for one gets it in
/// the order of the calls; a cancelled wait takes nothing from others. Copies share the permits. Permits and
/// waits may outlive all copies. Thread rule: one thread.
class Semaphore {
    struct State;
    using Held = std::map<std::string, std::size_t, std::less<>>;  // by client, of those with a permit

public:
    explicit Semaphore(std::size_t count);

    class Permit {
    public:
        /// Holds nothing.
        Permit() = default;
        Permit(Permit&& other) noexcept = default;
        Permit& operator=(Permit&& other) noexcept;
        ~Permit();
        explicit operator bool() const { return state_ != nullptr; }

    private:
        friend State;
        Permit(std::shared_ptr<State> state, Held::iterator client)
            : state_(std::move(state)), client_(client) {}

        std::shared_ptr<State> state_ = {};
        Held::iterator client_ = {};
    };

    /// Waits for a permit. Throws when the wait is cancelled, so `take() || sleep` is a wait with a deadline.
    Task<Permit> take();
    /// Returns a permit that holds nothing if none is free, or if the client has as many as all others leave
    /// free: one client gets half of what the others leave, at least one. An empty client has no such share.
    Permit try_take(std::string_view client = {});
    /// Returns how many calls of take() wait.
    std::size_t waiting() const;

private:
    std::shared_ptr<State> state_;
};

}  // namespace net
