#pragma once
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>

#include "net/log.hpp"
#include "net/rounds.hpp"
#include "net/signals.hpp"
#include "net/task_group.hpp"

namespace net {

/// How long the end of a process may take.
struct EndLimits {
    std::chrono::milliseconds end{25'000};        ///< from the signal to the end of the process
    std::chrono::milliseconds end_of_bug{5'000};  ///< the same after a bug
    std::chrono::milliseconds unwind{1'000};      ///< for what is cut at the end, and part of neither
};

/// The life of a process: loops that run for good, and one orderly end, which comes with SIGTERM, SIGINT or
/// a loop that ends by itself. The latter is a bug: a process that goes on without one of its loops looks
/// alive and is of no use, so it leaves with an error and is started anew. Thread rule: run()'s thread.
class Supervisor {
public:
    /// How to end at once, without destructors: those may wait for what does not end.
    using Leave = std::function<void(int status)>;
    /// Ends in order what the process does. After a bug it should not wait for anything: `hurry`.
    using End = std::function<Task<>(bool hurry)>;

    /// From here on signals are ours; one that comes before run() is not lost.
    Supervisor(boost::asio::io_context& context, Log& log, EndLimits limits = {}, Leave leave = std::_Exit);

    /// Runs `loop` until stop_loops(). `name` tells people which one has ended.
    void start(std::string name, Task<> loop);
    /// Cancels the loops; returns when they have ended. For use in `End`, which may need some of them first.
    Task<> stop_loops() { return loops_.join(); }

    /// Runs the context until the end. An error tells of a bug. Leaves with status 1 when a second signal
    /// comes, when `end` exceeds its limit, or when something throws into the context itself. With
    /// `awaited`, in rounds.
    api::Result<> run(const End& end, const Awaited& awaited = {});

private:
    Task<> hear_signals();
    Task<> limit_the_end();
    Task<> whole_life(const End& end);
    void note_bug(const std::string& loop, const std::string& what);

    boost::asio::io_context& context_;
    Log& log_;
    EndLimits limits_;
    Leave leave_;
    Signals signals_;
    Wakeup ending_;
    TaskGroup loops_;
    TaskGroup own_;
    std::optional<std::string> bug_;
    bool ended_ = false;  // in order
};

}  // namespace net
