#pragma once
#include <boost/asio/steady_timer.hpp>
#include <boost/intrusive/list.hpp>
#include <deque>
#include <memory>

#include "client_connection.hpp"

namespace net {

class Lease;

/// The connections to one server, at most `max_connections`; who finds none waits in line.
class ConnectionPool : public std::enable_shared_from_this<ConnectionPool> {
public:
    ConnectionPool(boost::asio::any_io_executor executor, std::shared_ptr<const Target> target)
        : executor_(std::move(executor)), target_(std::move(target)) {}

    static Async<Lease> acquire(std::shared_ptr<ConnectionPool> pool, SteadyTime deadline);

    const std::shared_ptr<const Target>& target() const { return target_; }
    api::Result<> reconfigure(ClientConfig config);
    /// Everything that runs fails, and nothing new begins.
    void close();

private:
    friend class Lease;
    /// Lives in the frame of acquire(): if that is destroyed while it waits, its place in the line goes too.
    struct Waiter
        : boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
        Waiter(std::shared_ptr<ConnectionPool> the_pool, SteadyTime deadline);
        ~Waiter();
        Lease take();

        std::shared_ptr<ConnectionPool> pool;
        boost::asio::steady_timer timer;
        bool granted = false;
        ClientConnection::Ptr connection = {};
    };
    struct Idle {
        ClientConnection::Ptr connection;
        SteadyTime since;
    };
    using Auto = boost::intrusive::constant_time_size<false>;

    ClientConnection::Ptr new_connection();
    ClientConnection::Ptr take_idle();
    void drop_stale();
    /// Passes a place on to the next in line, with a connection if there is one.
    void release(ClientConnection::Ptr connection);
    api::Error closed() const;

    boost::asio::any_io_executor executor_;
    std::shared_ptr<const Target> target_;
    std::size_t places_ = 0;  ///< taken: in use, or idle
    std::deque<Idle> idle_ = {};
    boost::intrusive::list<ClientConnection, Auto> all_ = {};
    boost::intrusive::list<Waiter, Auto> waiters_ = {};
    bool closed_ = false;
};

/// A place in the pool and, once there is one, a connection. What is not given back is closed.
class Lease {
public:
    Lease(std::shared_ptr<ConnectionPool> pool, ClientConnection::Ptr reused)
        : pool_(std::move(pool)), connection_(std::move(reused)), reused_(connection_ != nullptr) {}
    ~Lease();
    Lease(Lease&& other) noexcept = default;
    Lease& operator=(Lease&&) = delete;

    /// A new connection instead of the one it may hold; not connected yet.
    void renew();
    /// For the next one.
    void give_back();

    const ClientConnection::Ptr& connection() const { return connection_; }
    bool reused() const { return reused_; }

private:
    std::shared_ptr<ConnectionPool> pool_;
    ClientConnection::Ptr connection_;
    bool reused_;
};

}  // namespace net
