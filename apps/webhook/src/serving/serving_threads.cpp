#include "serving/serving_threads.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>

#include "net/process/timer.hpp"

namespace webhook {
namespace {

// Sockets that share a port also share it with any other process of the same user. A second webhook would
// silently take half of the first one's requests; this detects it. Also chooses the port when it is 0.
api::Result<std::uint16_t> claim_port(boost::asio::any_io_executor executor, net::ServerConfig config,
                                      net::Log& log) {
    config.share_port = false;
    const auto probe = net::make_http_server(
        std::move(executor), config, [](net::HttpRequest&) -> net::Answer { return net::HttpResponse(); },
        log);
    return probe->start();
}

}  // namespace

ServingThreads::~ServingThreads() {
    for (const auto& thread : threads_) {
        thread->context.stop();
        if (thread->thread.joinable()) thread->thread.join();
        // Runs the coroutines of closed connections to their end while the objects that they use exist.
        thread->context.restart();
        thread->context.poll();
    }
}

api::Result<std::uint16_t> ServingThreads::start(int count, const net::ServerConfig& wanted,
                                                 const Connect& connect) {
    net::ServerConfig config = wanted;
    if (count > 1) {
        const auto port = claim_port(first_, config, tools_.log);
        if (!port) return port.error();
        config.port = *port;
        config.share_port = true;
    }
    for (int i = 0; i < count; ++i) {
        boost::asio::any_io_executor executor = first_;
        if (i > 0) executor = threads_.emplace_back(std::make_unique<Thread>())->context.get_executor();
        auto clock = kube::make_clock(executor);
        auto upstream = connect(executor, *clock);
        if (!upstream) return upstream.error();
        serving_threads_.push_back(std::make_unique<ServingThread>(executor, std::move(clock),
                                                                   std::move(*upstream), config, tools_));
        const auto port = serving_threads_.back()->start();
        if (!port) return port.error();
        config.port = *port;
    }
    for (const auto& thread : threads_) {
        boost::asio::co_spawn(thread->context, tools_.loop_gaps.watch(), boost::asio::detached);
        thread->thread = std::thread([&context = thread->context] {
            const auto guard = boost::asio::make_work_guard(context);
            context.run();
        });
    }
    return config.port;
}

void ServingThreads::update(const api::ObjectKey& key, const admission::RuntimeTextPtr& runtime) {
    for (const auto& serving_thread : serving_threads_) serving_thread->update(key, runtime);
}

void ServingThreads::close_after_response() {
    for (const auto& serving_thread : serving_threads_) serving_thread->close_after_response();
}

net::Task<> ServingThreads::drain(std::chrono::milliseconds grace) {
    net::Wakeup drained(first_);
    std::size_t left = serving_threads_.size();
    for (const auto& serving_thread : serving_threads_) {
        boost::asio::co_spawn(first_, serving_thread->drain(grace), [&left, &drained](std::exception_ptr) {
            --left;
            drained.notify();
        });
    }
    while (left > 0) co_await drained.wait();
}

double ServingThreads::total(const std::function<double(const net::ServerStats&)>& counter) const {
    double sum = 0;
    for (const auto& serving_thread : serving_threads_) sum += counter(serving_thread->stats());
    return sum;
}

}  // namespace webhook
