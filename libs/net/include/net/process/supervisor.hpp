#pragma once
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>

#include "net/process/log.hpp"
#include "net/process/signals.hpp"
#include "net/process/task_group.hpp"

namespace net {

/// Limits of the shutdown of a process.
struct ShutdownLimits {
    std::chrono::milliseconds end{25'000};        ///< from the signal to the exit
    std::chrono::milliseconds end_of_bug{5'000};  ///< the same after a bug
    std::chrono::milliseconds unwind{1'000};      ///< for cancelled coroutines, in addition to these
};

/// Runs the loops of a process and one orderly shutdown. The shutdown begins on SIGTERM, on SIGINT or when a
/// loop ends by itself. The latter is a bug: without one of its loops the process looks alive and does no
/// work, so it exits with an error and is restarted. Thread rule: the thread of run().
class Supervisor {
public:
    /// Exits at once, without destructors, since those may wait for something that does not end.
    using Exit = std::function<void(int status)>;
    /// Ends the work of the process in order. With `immediate`, after a bug, it should not wait for anything.
    using Shutdown = std::function<Task<>(bool immediate)>;

    /// Handles SIGTERM and SIGINT from now on. A signal before run() is not lost.
    Supervisor(boost::asio::io_context& context, Log& log, ShutdownLimits limits = {},
               Exit exit_process = std::_Exit);

    /// Runs `loop` until stop_loops(). The log and the error of run() give `name` if the loop ends by itself.
    void start(std::string name, Task<> loop);
    /// Cancels the loops and returns when they have ended. `Shutdown` calls it, since it may need some loops
    /// before.
    Task<> stop_loops() { return loops_.join(); }

    /// Runs the context until the end. Returns an error after a bug. Exits with status 1 on a second signal,
    /// if `shutdown` exceeds its limit, or if a handler outside all loops throws.
    api::Result<> run(const Shutdown& shutdown);

private:
    Task<> handle_signals();
    Task<> enforce_limit();
    Task<> run_until_shutdown(const Shutdown& shutdown);
    void note_bug(const std::string& loop, const std::string& what);

    boost::asio::io_context& context_;
    Log& log_;
    ShutdownLimits limits_;
    Exit exit_;
    Signals signals_;
    Wakeup ending_;
    TaskGroup loops_;
    TaskGroup own_;
    std::optional<std::string> bug_;
    bool ended_ = false;  // the shutdown is complete
};

}  // namespace net
