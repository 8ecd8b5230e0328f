#pragma once
// Time for the loops under test. It moves only on calls of run(), straight to the next sleeper.
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>
#include <map>

#include "kube/client/clock.hpp"

class VirtualClock final : public kube::Clock {
public:
    explicit VirtualClock(boost::asio::io_context& context) : context_(context) {}

    kube::SteadyTime now() const override { return now_; }
    kube::MicroTime wall() const override {
        return wall_start + std::chrono::duration_cast<std::chrono::microseconds>(now_ - start);
    }
    double jitter() override { return next_jitter; }

    kube::Task<> sleep_until(kube::SteadyTime when) override {
        if (when <= now_) co_return;
        Sleeper sleeper(*this, when);
        co_await sleeper.timer.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
        if (when > now_) throw boost::system::system_error(boost::asio::error::operation_aborted);
    }

    /// Runs everything that is ready now, and then what becomes ready within `duration`.
    void run_for(std::chrono::milliseconds duration) {
        const kube::SteadyTime end = now_ + duration;
        while (true) {
            context_.restart();
            context_.poll();
            if (sleepers_.empty() || sleepers_.begin()->first > end) break;
            // After a freeze, sleepers wake in their order, all of them late.
            const kube::SteadyTime due = sleepers_.begin()->first;
            now_ = std::max(now_, due);
            for (auto [at, last] = sleepers_.equal_range(due); at != last; ++at) at->second->timer.cancel();
        }
        now_ = end;
    }
    void run() { run_for(std::chrono::milliseconds(0)); }
    /// Moves time as for a stopped process: nothing runs.
    void freeze_for(std::chrono::milliseconds duration) { now_ += duration; }

    std::size_t sleepers() const { return sleepers_.size(); }

    static constexpr kube::SteadyTime start = kube::SteadyTime(std::chrono::hours(1000));
    static constexpr kube::MicroTime wall_start = std::chrono::sys_days(std::chrono::year(2026) / 1 / 15);
    double next_jitter = 0;

private:
    struct Sleeper {
        Sleeper(VirtualClock& owner, kube::SteadyTime when)
            : clock(owner),
              timer(owner.context_, kube::SteadyTime::max()),
              at(owner.sleepers_.emplace(when, this)) {}
        ~Sleeper() { clock.sleepers_.erase(at); }
        Sleeper(const Sleeper&) = delete;
        Sleeper& operator=(const Sleeper&) = delete;

        VirtualClock& clock;
        boost::asio::steady_timer timer;
        std::multimap<kube::SteadyTime, Sleeper*>::iterator at;
    };

    boost::asio::io_context& context_;
    kube::SteadyTime now_ = start;
    std::multimap<kube::SteadyTime, Sleeper*> sleepers_;
};
