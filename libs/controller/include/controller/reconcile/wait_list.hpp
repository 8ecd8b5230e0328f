#pragma once
#include <boost/asio/this_coro.hpp>
#include <list>

#include "net/process/async.hpp"
#include "net/process/timer.hpp"

namespace controller {

/// Coroutines that wait until something may have changed for them. Each checks its condition when it is
/// called. The list must outlive them. Thread rule: one thread.
class WaitList {
public:
    net::Task<> wait() {
        struct Place {
            Place(std::list<net::Wakeup>& queue, const boost::asio::any_io_executor& executor)
                : list(queue), at(list.emplace(list.end(), executor)) {}
            ~Place() { list.erase(at); }
            Place(const Place&) = delete;
            Place& operator=(const Place&) = delete;
            std::list<net::Wakeup>& list;
            std::list<net::Wakeup>::iterator at;
        };
        const auto executor = co_await boost::asio::this_coro::executor;
        Place place(waiting_, executor);
        co_await place.at->wait();
    }
    void call_all() {
        for (net::Wakeup& waiting : waiting_) waiting.notify();
    }

private:
    std::list<net::Wakeup> waiting_ = {};
};

}  // namespace controller
