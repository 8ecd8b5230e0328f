#pragma once
#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/intrusive/list.hpp>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "http/request_reader.hpp"
#include "net/process/keyed_rate.hpp"
#include "net/server/http_server.hpp"
#include "net/server/source.hpp"
#include "tls/stream.hpp"

namespace net {

/// What a connection is doing. Each phase but `handler` has a deadline. `client_hello`: TLS, before the
/// ClientHello; `first_request`: idle, not known yet.
enum class Phase { client_hello, handshake, first_request, idle, header, body, handler, write, linger };
inline constexpr std::size_t phase_count = 9;

/// Why a connection must end.
enum class Stop { none, timeout, drained, evicted, shutdown };

using SteadyTime = std::chrono::steady_clock::time_point;

/// The server's view of a connection: a member of the list of its phase. All members of a list have the same
/// time to live, so each list is sorted by deadline and expired connections are found at its front.
class Connection
    : public boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
public:
    SteadyTime entered = {};  ///< when it entered its phase
    Stop stop = Stop::none;
    bool served = false;   ///< has sent at least one request
    bool known = false;    ///< see ServerConfig::is_to_known
    std::size_t held = 0;  ///< bytes of the body or the response that the table has counted

protected:
    ~Connection() = default;

private:
    friend class ConnectionTable;
    Phase phase_ = Phase::client_hello;
    bool counted_ = false;  ///< counted in `unknown_`, for that phase
    /// Wakes the connection's coroutine, which then checks `stop`.
    virtual void wake() = 0;
};

/// The state that the connections of one server share.
class ConnectionTable : public std::enable_shared_from_this<ConnectionTable> {
public:
    /// Serves one connection until it ends.
    using Serve = Task<> (*)(std::shared_ptr<ConnectionTable> table, boost::asio::ip::tcp::socket socket);

    ConnectionTable(boost::asio::any_io_executor executor, ServerConfig config, Handler handler, Log& log,
                    Serve serve);

    api::Result<std::uint16_t> listen();
    /// Runs until the acceptor is closed.
    static Task<> accept_loop(std::shared_ptr<ConnectionTable> table);
    static Task<> drain(std::shared_ptr<ConnectionTable> table, std::chrono::milliseconds grace);
    void shutdown();

    // Called by connections.
    void opened(Connection& connection);
    void become_known(Connection& connection);
    /// Returns whether there are more known connections than the server keeps.
    bool keeps_too_many() const {
        return config.limits.kept_connections > 0 && known_ > config.limits.kept_connections;
    }
    void closed(Connection& connection);
    void enter(Connection& connection, Phase phase);
    /// Cancels the stop of a connection; enter() must follow.
    void revive(Connection& connection);
    /// Counts and logs it: one rejected certificate of either side a minute as a warning.
    void handshake_failed(const std::string& peer, Rejected rejected, const std::string& why);
    std::unique_ptr<Exchange> take_exchange();
    void give_back(std::unique_ptr<Exchange> exchange);
    /// Counts `size` bytes as held for the connection's body or response. Returns false if the server has no
    /// room for them.
    bool hold(Connection& connection, std::size_t size);
    void release(Connection& connection) { held_bytes_ -= std::exchange(connection.held, 0); }

    const ServerConfig config;
    const Handler handler;
    Log& log;
    ServerStats stats = {};
    bool closes_after_response = false;
    bool draining = false;

private:
    using List = boost::intrusive::list<Connection, boost::intrusive::constant_time_size<false>>;
    List& list(Phase phase) { return lists_[static_cast<std::size_t>(phase)]; }
    SteadyTime deadline_of(Phase phase) const;
    void watch(SteadyTime deadline);
    void expire();
    void interrupt(Connection& connection, Stop why);
    void leave(Connection& connection);
    Connection* oldest(std::initializer_list<Phase> phases);
    Connection* oldest_unknown();
    bool make_room();
    bool make_room_for_bytes(const Connection& needing);
    /// Returns false if the process is out of file descriptors or memory.
    bool accept_pending(int at_most);
    bool within_source_rate(const boost::asio::ip::tcp::endpoint& peer);
    void start_draining();

    const Serve serve_;
    void open(const boost::asio::ip::tcp::endpoint& endpoint, boost::system::error_code& error);
    boost::asio::ip::tcp::acceptor acceptor_;
    boost::asio::steady_timer expiry_;
    boost::asio::steady_timer all_gone_;
    SteadyTime watched_ = SteadyTime::max();
    std::array<std::chrono::milliseconds, phase_count> time_to_live_;
    std::array<List, phase_count> lists_ = {};
    std::array<std::size_t, phase_count> unknown_ = {};  ///< connections of each list that are not known
    List closing_ = {};                                  ///< connections that must end
    std::size_t active_ = 0;                             ///< connections that are not in `closing_`
    std::size_t known_ = 0;
    std::size_t held_bytes_ = 0;
    bool out_of_descriptors_ = false;
    std::optional<KeyedRate> sources_ = {};
    SteadyTime next_line_ = SteadyTime::min();     ///< of a handshake that failed for another reason
    SteadyTime next_warning_ = SteadyTime::min();  ///< of a rejected certificate
    std::uint64_t not_logged_ = 0;                 ///< of such handshakes since the last warning
    std::vector<std::unique_ptr<Exchange>> spare_ = {};
};

}  // namespace net
