#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <memory>
#include <vector>

#include "net/process/async.hpp"

namespace net {

/// Handles the signals from construction to destruction. A signal between two calls of next() is not lost.
/// The destructor blocks the signals in its thread until the next Signals.
class Signals {
public:
    Signals(const boost::asio::any_io_executor& executor, const std::vector<int>& numbers);
    ~Signals();
    Signals(const Signals&) = delete;
    Signals& operator=(const Signals&) = delete;

    /// Returns the number of the next signal; 0 if the wait was cancelled.
    Task<int> next();

private:
    class Impl;
    std::shared_ptr<Impl> impl_;
};

}  // namespace net
