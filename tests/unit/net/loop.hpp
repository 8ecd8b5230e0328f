#pragma once
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <exception>
#include <optional>
#include <stdexcept>
#include <type_traits>

#include "net/process/async.hpp"

namespace test {

/// Runs coroutines to their end on the calling thread. A test that hangs fails after a while.
class Loop {
public:
    boost::asio::io_context& context() { return context_; }
    boost::asio::any_io_executor executor() { return context_.get_executor(); }

    template <class T>
    T run(net::Task<T> task) {
        using Kept = std::conditional_t<std::is_void_v<T>, char, T>;
        std::optional<Kept> result;
        std::exception_ptr thrown;
        bool finished = false;
        auto body = [](net::Task<T> inner, std::optional<Kept>& out) -> net::Task<> {
            if constexpr (std::is_void_v<T>) {
                co_await std::move(inner);
                out = 'x';
            } else {
                out.emplace(co_await std::move(inner));
            }
        };
        boost::asio::co_spawn(context_, body(std::move(task), result), [&](std::exception_ptr error) {
            thrown = error;
            finished = true;
        });
        run_until([&] { return finished; });
        if (thrown) std::rethrow_exception(thrown);
        if constexpr (!std::is_void_v<T>) return std::move(*result);
    }

    /// Runs the loop until the condition holds.
    template <class Condition>
    void run_until(const Condition& holds) {
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (!holds()) {
            context_.restart();
            if (context_.run_one_until(deadline) == 0)
                throw std::runtime_error("the loop has nothing left to do");
            if (std::chrono::steady_clock::now() > deadline) throw std::runtime_error("the test hangs");
        }
    }

    /// Runs what is ready, without waiting.
    void settle() {
        context_.restart();
        context_.poll();
    }

private:
    boost::asio::io_context context_{1};
};

}  // namespace test
