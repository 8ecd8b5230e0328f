#pragma once
#include <boost/asio/io_context.hpp>
#include <functional>
#include <thread>
#include <vector>

#include "serving/serving_thread.hpp"

namespace webhook {

/// All serving threads of the process. The first one runs on the caller's executor, each other on a thread of
/// its own. Thread rule: that of the caller's executor.
class ServingThreads {
public:
    /// Called once per thread, with its executor.
    using Connect =
        std::function<api::Result<ApiClients>(boost::asio::any_io_executor executor, kube::Clock& clock)>;

    ServingThreads(boost::asio::any_io_executor first, SharedServices tools)
        : first_(std::move(first)), tools_(tools) {}
    ~ServingThreads();
    ServingThreads(const ServingThreads&) = delete;
    ServingThreads& operator=(const ServingThreads&) = delete;

    /// Starts `count` threads on one port, which it returns. Errors name the address and the remedy.
    api::Result<std::uint16_t> start(int count, const net::ServerConfig& config, const Connect& connect);

    void update(const api::ObjectKey& key, const admission::RuntimeTextPtr& runtime);
    /// Asks clients with kept connections to reconnect elsewhere.
    void close_after_response();
    /// Drains all at the same time. Nothing is served afterwards.
    net::Task<> drain(std::chrono::milliseconds grace);

    /// Returns the sum of a counter over all threads.
    double total(const std::function<double(const net::ServerStats&)>& counter) const;

private:
    struct Thread {
        boost::asio::io_context context{1};
        std::thread thread = {};
    };

    boost::asio::any_io_executor first_;
    SharedServices tools_;
    std::vector<std::unique_ptr<Thread>> threads_ = {};  // of all but the first
    std::vector<std::unique_ptr<ServingThread>> serving_threads_ = {};
};

}  // namespace webhook
