#include "client/connection_pool.hpp"

#include <utility>

namespace net {
namespace asio = boost::asio;

namespace {

// Servers close connections that are idle for longer (90 s by default in Go, 3 minutes in the API server).
constexpr std::chrono::seconds max_idle{85};

}  // namespace

ConnectionPool::Waiter::Waiter(std::shared_ptr<ConnectionPool> the_pool, SteadyTime deadline)
    : pool(std::move(the_pool)), timer(pool->executor_, deadline) {
    pool->waiters_.push_back(*this);
}

ConnectionPool::Waiter::~Waiter() {
    if (granted) pool->release(std::move(connection));
}

Lease ConnectionPool::Waiter::take() {
    granted = false;
    return Lease(pool, std::move(connection));
}

Async<Lease> ConnectionPool::acquire(std::shared_ptr<ConnectionPool> pool, SteadyTime deadline) {
    if (pool->closed_) co_return pool->closed();
    if (auto connection = pool->take_idle()) co_return Lease(pool, std::move(connection));
    if (pool->places_ < pool->target_->config.max_connections) {
        ++pool->places_;
        co_return Lease(pool, nullptr);
    }
    Waiter waiter(pool, deadline);
    const auto [woken] = co_await waiter.timer.async_wait(as_tuple);
    if (waiter.granted) co_return waiter.take();
    if (pool->closed_) co_return pool->closed();
    co_return api::Error{
        .code = api::Errc::unavailable,
        .message = pool->target_->place() + (woken ? ": waiting for a connection was cancelled"
                                                   : ": no free connection for too long")};
}

api::Error ConnectionPool::closed() const {
    return {.code = api::Errc::unavailable, .message = target_->place() + ": the client was closed"};
}

ClientConnection::Ptr ConnectionPool::new_connection() {
    auto connection = std::make_shared<ClientConnection>(executor_, target_);
    all_.push_back(*connection);
    return connection;
}

ClientConnection::Ptr ConnectionPool::take_idle() {
    // The connection used last is the most likely to be alive; the others expire and are dropped.
    while (!idle_.empty()) {
        auto connection = std::move(idle_.back().connection);
        idle_.pop_back();
        if (connection->looks_alive()) return connection;
        --places_;
    }
    return nullptr;
}

void ConnectionPool::drop_stale() {
    const auto oldest = std::chrono::steady_clock::now() - max_idle;
    while (!idle_.empty() && idle_.front().since < oldest) {
        idle_.pop_front();
        --places_;
    }
}

void ConnectionPool::release(ClientConnection::Ptr connection) {
    const bool good = connection && !closed_ && connection->target() == target_;
    if (!good) connection = nullptr;
    if (!waiters_.empty() && !closed_) {
        auto& next = waiters_.front();
        next.unlink();
        next.granted = true;
        next.connection = std::move(connection);
        next.timer.cancel();
        return;
    }
    if (good)
        idle_.push_back({std::move(connection), std::chrono::steady_clock::now()});
    else
        --places_;
    drop_stale();
}

api::Result<> ConnectionPool::reconfigure(ClientConfig config) {
    auto target = make_target(std::move(config));
    if (!target) return target.error();
    target_ = std::move(*target);
    places_ -= idle_.size();
    idle_.clear();
    return {};
}

void ConnectionPool::close() {
    closed_ = true;
    places_ -= idle_.size();
    idle_.clear();
    for (auto& connection : all_) connection.abort("the client was closed");
    for (auto& waiter : waiters_) waiter.timer.cancel();
}

Lease::~Lease() {
    if (!pool_) return;
    connection_.reset();
    pool_->release(nullptr);
}

void Lease::renew() {
    connection_ = pool_->new_connection();
    reused_ = false;
}

void Lease::give_back() { std::exchange(pool_, nullptr)->release(std::move(connection_)); }

}  // namespace net
