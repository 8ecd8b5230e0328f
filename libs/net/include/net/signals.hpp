#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <memory>
#include <vector>

#include "net/async.hpp"

namespace net {

/// Takes over signals from construction to destruction; none is lost between two calls of next(). After that
/// the thread that destroys it ignores them until the next Signals.
class Signals {
public:
    Signals(const boost::asio::any_io_executor& executor, const std::vector<int>& numbers);
    ~Signals();
    Signals(const Signals&) = delete;
    Signals& operator=(const Signals&) = delete;

    /// The number of the next signal; 0 when the wait was cancelled.
    Task<int> next();

private:
    class Impl;
    std::shared_ptr<Impl> impl_;
};

}  // namespace net
