#pragma once
#include <cstddef>
#include <utility>

#include "net/process/semaphore.hpp"
#include "net/process/turns.hpp"

namespace admission {

/// The sizes from which parsing and validating take some milliseconds.
inline constexpr std::size_t expensive_bytes = 64 * 1024;
inline constexpr std::size_t expensive_values = 10'000;

/// The memory limits of the lookups of one thread: `connections` usual objects, one large one, and one page
/// of a list. In bytes of text, unless the name says otherwise.
namespace lookup_limits {
inline constexpr std::size_t connections = 16;
inline constexpr std::size_t usual_object = 64 * 1024;
inline constexpr std::size_t usual_values = 1'000;
inline constexpr std::size_t largest_object = 2 * 1024 * 1024;  ///< etcd's limit is 1.5 MiB
inline constexpr std::size_t largest_page = 4 * 1024 * 1024;
inline constexpr std::size_t most_waiting = 16;  ///< reviews, for a large object or a list
inline constexpr std::size_t kept_reviews =
    connections;  ///< keep their objects while they wait: for each connection one,
inline constexpr std::size_t kept_values = 2'000;  ///< of at most so many values
}  // namespace lookup_limits

/// What the reviews of one thread take in turn: tasks that run one at a time, and memory. A review with a
/// turn of `large_objects` or `lists` may wait for one of `expensive`, and not the other way around. Thread
/// rule: one thread.
struct ReviewTurns {
    net::Semaphore expensive{1};      ///< to parse and to validate, without waiting for anything else
    net::Semaphore large_objects{1};  ///< to look up for a large review, or to hold more than a usual object
    net::Semaphore lists{1};          ///< to list TrainJobs
    net::Semaphore kept{lookup_limits::kept_reviews};  ///< to keep decoded objects during a wait; none waits
};

/// A turn, or none yet.
using MaybeTurn = net::Semaphore::Permit;

/// Waits for a turn, unless `turn` has one already. Before each turn every other handler that is ready runs:
/// so a short task waits for one or two long ones, however many there are.
inline net::Task<> take_turn(net::Semaphore& turns, MaybeTurn& turn) {
    if (turn) co_return;
    auto next = co_await turns.take();
    co_await net::next_turn();
    turn = std::move(next);
}

}  // namespace admission
