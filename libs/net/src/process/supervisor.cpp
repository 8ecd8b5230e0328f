#include "net/process/supervisor.hpp"

#include <boost/asio/co_spawn.hpp>
#include <csignal>

namespace net {
namespace {

constexpr int failed = 1;

}  // namespace

Supervisor::Supervisor(boost::asio::io_context& context, Log& log, ShutdownLimits limits, Exit exit_process)
    : context_(context),
      log_(log),
      limits_(limits),
      exit_(std::move(exit_process)),
      signals_(context.get_executor(), {SIGTERM, SIGINT}),
      ending_(context.get_executor()),
      loops_(context.get_executor()),
      own_(context.get_executor()) {}

void Supervisor::start(std::string name, Task<> loop) {
    loops_.start(std::move(loop), [this, name = std::move(name)](const std::exception_ptr& thrown) {
        note_bug(name, thrown ? what_of(thrown) : "it returned");
    });
}

void Supervisor::note_bug(const std::string& loop, const std::string& what) {
    log_.error("a loop ended by itself, which is a bug; ending, to be started anew",
               {{"loop", loop}, {"error", what}});
    if (!bug_) bug_ = loop + " ended by itself, which is a bug: " + what;
    ending_.notify();
}

Task<> Supervisor::handle_signals() {
    const int first = co_await signals_.next();
    if (ended_) co_return;
    log_.info("stopping", {{"signal", first}});
    ending_.notify();
    const int second = co_await signals_.next();
    if (ended_) co_return;
    log_.warn("a second signal: ending at once", {{"signal", second}});
    exit_(failed);
}

Task<> Supervisor::enforce_limit() {
    const auto limit = bug_ ? limits_.end_of_bug : limits_.end;
    co_await sleep_for(limit);
    if (ended_) co_return;
    log_.error("the end took too long; leaving what is under way",
               {{"seconds", std::chrono::duration<double>(limit).count()}});
    exit_(failed);
}

Task<> Supervisor::run_until_shutdown(const Shutdown& shutdown) {
    co_await ending_.wait();
    const auto no_report = [](const std::exception_ptr&) {};
    own_.start(enforce_limit(), no_report);
    try {
        co_await shutdown(bug_.has_value());
    } catch (const std::exception& exception) {
        note_bug("the end", exception.what());
    }
    co_await loops_.join();
    ended_ = true;
    co_await own_.join();
}

api::Result<> Supervisor::run(const Shutdown& shutdown) {
    try {
        own_.start(handle_signals(), [this](const std::exception_ptr& thrown) {
            if (thrown) note_bug("signals", what_of(thrown));
        });
        auto stop = [this](std::exception_ptr thrown) {
            context_.stop();
            if (thrown) std::rethrow_exception(thrown);
        };
        boost::asio::co_spawn(context_, run_until_shutdown(shutdown), stop);
        context_.run();
        // Cancelled coroutines run to their end, so that none outlives the objects that it uses.
        context_.restart();
        context_.run_for(limits_.unwind);
    } catch (const std::exception& exception) {
        // A handler outside all loops threw: the state of the process is unknown.
        log_.error("the event loop ended with an exception, which is a bug", {{"error", exception.what()}});
        exit_(failed);
    }
    if (bug_) return api::Error{.message = *bug_};
    return {};
}

}  // namespace net
