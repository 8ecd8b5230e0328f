#pragma once
#include <boost/asio/steady_timer.hpp>
#include <boost/intrusive/list.hpp>
#include <deque>
#include <memory>

#include "client/client_connection.hpp"

namespace net {

class Lease;

/// The connections to one server, at most `max_connections`. acquire() waits in order of arrival if none is
/// free.
class ConnectionPool : public std::enable_shared_from_this<ConnectionPool> {
public:
    ConnectionPool(boost::asio::any_io_executor executor, std::shared_ptr<const Target> target)
        : executor_(std::move(executor)), target_(std::move(target)) {}

    static Async<Lease> acquire(std::shared_ptr<ConnectionPool> pool, SteadyTime deadline);

    const std::shared_ptr<const Target>& target() const { return target_; }
    api::Result<> reconfigure(ClientConfig config);
    /// Fails all pending requests and all later ones.
    void close();

private:
    friend class Lease;
    /// Part of the frame of acquire(): if the frame is destroyed during the wait, the waiter leaves the
    /// queue.
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
    /// Gives a place to the next waiter, with `connection` if it is reusable.
    void release(ClientConnection::Ptr connection);
    api::Error closed() const;

    boost::asio::any_io_executor executor_;
    std::shared_ptr<const Target> target_;
    std::size_t places_ = 0;  ///< taken by connections in use or idle
    std::deque<Idle> idle_ = {};
    boost::intrusive::list<ClientConnection, Auto> all_ = {};
    boost::intrusive::list<Waiter, Auto> waiters_ = {};
    bool closed_ = false;
};

/// A place in the pool and its connection, once there is one. The destructor closes a connection that was not
/// given back.
class Lease {
public:
    Lease(std::shared_ptr<ConnectionPool> pool, ClientConnection::Ptr reused)
        : pool_(std::move(pool)), connection_(std::move(reused)), reused_(connection_ != nullptr) {}
    ~Lease();
    Lease(Lease&& other) noexcept = default;
    Lease& operator=(Lease&&) = delete;

    /// Makes a new connection, not connected yet, in place of the current one.
    void renew();
    /// Returns the connection to the pool for the next request.
    void give_back();

    const ClientConnection::Ptr& connection() const { return connection_; }
    bool reused() const { return reused_; }

private:
    std::shared_ptr<ConnectionPool> pool_;
    ClientConnection::Ptr connection_;
    bool reused_;
};

}  // namespace net
