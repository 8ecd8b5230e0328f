#include "server/connection_table.hpp"

#include <algorithm>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <utility>

#include "net/process/option_types.hpp"
#include "net/server/source.hpp"

namespace net {
namespace asio = boost::asio;
using tcp = asio::ip::tcp;
using std::chrono::milliseconds;

namespace {

constexpr milliseconds forever{0};
constexpr milliseconds linger_time{1'000};
constexpr milliseconds accept_pause{50};
constexpr milliseconds first_requests_have{1'000};
constexpr int accept_batch = 16;
constexpr std::size_t max_spare_exchanges = 64;
// One TLS record, and room to detect a header above its limit.
constexpr std::size_t least_buffer = 16 * 1024;
constexpr std::size_t beyond_header = 1024;
constexpr std::string_view choose_address =
    ": choose an address of this machine, or leave it out to listen on all";

api::Error cannot_listen(const ServerConfig& config, const boost::system::error_code& error) {
    const auto place = to_string(HostPort{config.host, config.port});
    auto text = "cannot listen on " + place + ": " + error.message();
    if (error == asio::error::address_in_use)
        text = "cannot listen on " + place + ": the port is in use: stop its owner or choose another port";
    else if (error == asio::error::access_denied)
        text += ": choose a port above 1023 or allow this process to bind it";
    else if (error == boost::system::errc::address_not_available)
        text += choose_address;
    return {.code = api::Errc::unavailable, .message = std::move(text)};
}

milliseconds time_in(Phase phase, const ServerLimits& limits) {
    switch (phase) {
        case Phase::client_hello: return limits.handshake_timeout;
        case Phase::handshake: return limits.handshake_timeout;
        case Phase::first_request: return limits.idle_timeout;
        case Phase::idle: return limits.idle_timeout;
        case Phase::header: return limits.header_timeout;
        case Phase::body: return limits.body_timeout;
        case Phase::handler: return forever;
        case Phase::write: return limits.write_timeout;
        case Phase::linger: return linger_time;
    }
    return forever;
}

// Returns whether the client is not known yet, or its connection closes without another response.
bool is_unknown(const Connection& connection, Phase phase) {
    switch (phase) {
        case Phase::client_hello:
        case Phase::handshake:
        case Phase::first_request:
        case Phase::linger: return true;
        case Phase::header:
        case Phase::body: return !connection.known;
        case Phase::idle:
        case Phase::handler:
        case Phase::write: return false;
    }
    return false;
}

}  // namespace

ConnectionTable::ConnectionTable(asio::any_io_executor executor, ServerConfig the_config, Handler the_handler,
                                 Log& the_log, Serve serve)
    : config(std::move(the_config)),
      handler(std::move(the_handler)),
      log(the_log),
      serve_(serve),
      acceptor_(executor),
      expiry_(executor),
      all_gone_(executor),
      time_to_live_{} {
    for (std::size_t i = 0; i < phase_count; ++i)
        time_to_live_[i] = time_in(static_cast<Phase>(i), config.limits);
    if (config.limits.connections_per_source > 0)
        sources_.emplace(config.limits.connections_per_source, config.limits.connections_at_once,
                         most_sources, KeyedRate::Beyond::full);
}

api::Result<std::uint16_t> ConnectionTable::listen() {
    boost::system::error_code error;
    tcp::resolver resolver(acceptor_.get_executor());
    const auto found = resolver.resolve(config.host, std::to_string(config.port),
                                        tcp::resolver::passive | tcp::resolver::numeric_service, error);
    if (error || found.empty()) {
        return api::Error{
            .code = api::Errc::unavailable,
            .message = "cannot listen on " + config.host + ": no such address" + std::string(choose_address)};
    }
    const auto endpoint = found.begin()->endpoint();
    open(endpoint, error);
    const bool has_no_v6 = error == boost::system::errc::address_family_not_supported ||
                           error == boost::system::errc::address_not_available;
    if (has_no_v6 && endpoint.address() == asio::ip::address_v6::any()) {
        log.info("listening on IPv4 alone: this machine has no IPv6", {{"error", error.message()}});
        open(tcp::endpoint(tcp::v4(), endpoint.port()), error);
    }
    if (error) return cannot_listen(config, error);
    return acceptor_.local_endpoint().port();
}

// Closes the acceptor if it fails.
void ConnectionTable::open(const tcp::endpoint& endpoint, boost::system::error_code& error) {
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
    // A socket of all addresses of IPv6 takes IPv4, too, whatever the machine's default is.
    if (!error && endpoint.protocol() == tcp::v6()) acceptor_.set_option(asio::ip::v6_only(false), error);
    if (!error && config.share_port) {
        using ReusePort = asio::detail::socket_option::boolean<SOL_SOCKET, SO_REUSEPORT>;
        acceptor_.set_option(ReusePort(true), error);
    }
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (!error) acceptor_.non_blocking(true, error);
    if (!error) return;
    boost::system::error_code ignored;
    acceptor_.close(ignored);
}

Task<> ConnectionTable::accept_loop(std::shared_ptr<ConnectionTable> table) {
    while (table->acceptor_.is_open()) {
        const auto [error] = co_await table->acceptor_.async_wait(tcp::acceptor::wait_read, as_tuple);
        if (error || !table->acceptor_.is_open()) co_return;
        if (table->accept_pending(accept_batch)) continue;
        asio::steady_timer pause(table->acceptor_.get_executor(), accept_pause);
        co_await pause.async_wait(as_tuple);
    }
}

bool ConnectionTable::accept_pending(int at_most) {
    while (at_most-- > 0) {
        boost::system::error_code error;
        tcp::socket socket(acceptor_.get_executor());
        tcp::endpoint peer;
        acceptor_.accept(socket, peer, error);
        if (error == asio::error::would_block || error == asio::error::bad_descriptor) return true;
        if (error == asio::error::connection_aborted || error == asio::error::interrupted) continue;
        if (error) {
            // Logged once until an accept succeeds again, so that an attack cannot fill the disk with logs.
            if (!std::exchange(out_of_descriptors_, true))
                log.warn("cannot accept connections: raise the limit of open files",
                         {{"error", error.message()}});
            make_room();
            return false;
        }
        out_of_descriptors_ = false;
        ++stats.accepted;
        if (!within_source_rate(peer)) {
            ++stats.limited;
            continue;
        }
        if (active_ >= config.limits.max_connections && !make_room()) {
            ++stats.refused;
            continue;
        }
        asio::co_spawn(acceptor_.get_executor(), serve_(shared_from_this(), std::move(socket)),
                       asio::detached);
    }
    return true;
}

bool ConnectionTable::within_source_rate(const tcp::endpoint& peer) {
    return !sources_ || sources_->take(source_of(peer.address()), std::chrono::steady_clock::now());
}

// Returns the connection that has been in one of `phases` for longest; nullptr if there is none.
Connection* ConnectionTable::oldest(std::initializer_list<Phase> phases) {
    Connection* found = nullptr;
    for (const auto phase : phases) {
        auto& candidates = list(phase);
        if (!candidates.empty() && (!found || candidates.front().entered < found->entered))
            found = &candidates.front();
    }
    return found;
}

// Returns the oldest connection that is not known in the phase with most of them; nullptr if there are none.
// So a flood of connections, whichever phase it stops at, evicts its own and not slow clients in other
// phases.
Connection* ConnectionTable::oldest_unknown() {
    const auto most = std::ranges::max_element(unknown_);
    if (*most == 0) return nullptr;
    return &*std::ranges::find(lists_[static_cast<std::size_t>(most - unknown_.begin())], true,
                               &Connection::counted_);
}

// Evicts one connection: first a slow one, also one that reads slowly; then one that is not known; then an
// idle one; then one that is sending its request. A connection whose request is in the handler stays.
bool ConnectionTable::make_room() {
    const auto slow_since = std::chrono::steady_clock::now() - config.limits.slow_after;
    Connection* chosen = oldest(
        {Phase::client_hello, Phase::handshake, Phase::header, Phase::body, Phase::write, Phase::linger});
    if (!chosen || chosen->entered >= slow_since) chosen = oldest_unknown();
    if (!chosen) chosen = oldest({Phase::idle});
    if (!chosen) chosen = oldest({Phase::header, Phase::body});
    if (!chosen) return false;
    ++stats.refused;
    interrupt(*chosen, Stop::evicted);
    return true;
}

void ConnectionTable::opened(Connection& connection) {
    ++active_;
    ++stats.connections;
    connection.entered = std::chrono::steady_clock::now();
}

void ConnectionTable::become_known(Connection& connection) {
    if (!std::exchange(connection.known, true)) ++known_;
}

void ConnectionTable::closed(Connection& connection) {
    if (connection.known) --known_;
    if (connection.stop == Stop::none) --active_;
    leave(connection);
    if (--stats.connections == 0) all_gone_.cancel();
}

void ConnectionTable::revive(Connection& connection) {
    connection.stop = Stop::none;
    leave(connection);
    ++active_;
}

void ConnectionTable::enter(Connection& connection, Phase phase) {
    if (connection.stop != Stop::none) return;
    leave(connection);
    list(phase).push_back(connection);
    connection.entered = std::chrono::steady_clock::now();
    connection.phase_ = phase;
    connection.counted_ = is_unknown(connection, phase);
    if (connection.counted_) ++unknown_[static_cast<std::size_t>(phase)];
    const auto ttl = time_to_live_[static_cast<std::size_t>(phase)];
    if (ttl != forever) watch(connection.entered + ttl);
}

void ConnectionTable::leave(Connection& connection) {
    if (connection.is_linked()) connection.unlink();
    if (std::exchange(connection.counted_, false)) --unknown_[static_cast<std::size_t>(connection.phase_)];
}

SteadyTime ConnectionTable::deadline_of(Phase phase) const {
    const auto index = static_cast<std::size_t>(phase);
    if (lists_[index].empty() || time_to_live_[index] == forever) return SteadyTime::max();
    return lists_[index].front().entered + time_to_live_[index];
}

// The timer changes only if a deadline comes before the one that it waits for, which is rare: a request costs
// no timer operations.
void ConnectionTable::watch(SteadyTime deadline) {
    if (deadline >= watched_) return;
    watched_ = deadline;
    expiry_.expires_at(deadline);
    expiry_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
        if (error) return;
        if (const auto table = weak.lock()) table->expire();
    });
}

void ConnectionTable::expire() {
    const auto now = std::chrono::steady_clock::now();
    watched_ = SteadyTime::max();
    auto next = SteadyTime::max();
    for (std::size_t i = 0; i < phase_count; ++i) {
        const auto phase = static_cast<Phase>(i);
        while (deadline_of(phase) <= now) {
            ++stats.timeouts;
            interrupt(list(phase).front(), Stop::timeout);
        }
        next = std::min(next, deadline_of(phase));
    }
    if (next != SteadyTime::max()) watch(next);
}

void ConnectionTable::interrupt(Connection& connection, Stop why) {
    connection.stop = why;
    // The connection's coroutine frees the bytes as soon as it runs.
    release(connection);
    leave(connection);
    closing_.push_back(connection);
    --active_;
    connection.wake();
}

// Any client can cause these errors, at any rate.
void ConnectionTable::handshake_failed(const std::string& peer, Rejected rejected, const std::string& why) {
    constexpr std::chrono::minutes between_warnings{1};
    ++stats.handshake_errors;
    const SteadyTime now = std::chrono::steady_clock::now();
    if (rejected == Rejected::none) {
        const bool is_logged = now >= next_line_;
        if (is_logged) next_line_ = now + between_warnings;
        log.write(is_logged ? LogLevel::info : LogLevel::debug, "TLS handshake failed",
                  {{"peer", peer}, {"error", why}});
        return;
    }
    const bool is_own = rejected == Rejected::own;
    ++(is_own ? stats.rejected_server_certificates : stats.rejected_client_certificates);
    if (now < next_warning_) {
        ++not_logged_;
        return;
    }
    next_warning_ = now + between_warnings;
    log.warn(is_own ? "TLS handshake failed: a client does not trust the serving certificate"
                    : "TLS handshake failed: the certificate of a client is missing or not trusted",
             {{"peer", peer}, {"error", why}, {"since_last_line", std::exchange(not_logged_, 0)}});
}

std::unique_ptr<Exchange> ConnectionTable::take_exchange() {
    if (spare_.empty())
        return std::make_unique<Exchange>(std::max(config.limits.header_bytes, least_buffer) + beyond_header);
    auto exchange = std::move(spare_.back());
    spare_.pop_back();
    return exchange;
}

void ConnectionTable::give_back(std::unique_ptr<Exchange> exchange) {
    if (spare_.size() >= max_spare_exchanges) return;
    exchange->begin = exchange->end = 0;
    exchange->trim();
    spare_.push_back(std::move(exchange));
}

bool ConnectionTable::hold(Connection& connection, std::size_t size) {
    const auto counted = size - std::min(size, ServerLimits::uncounted_bytes);
    if (counted <= connection.held) return true;
    const auto more = counted - connection.held;
    while (held_bytes_ + more > config.limits.total_bytes)
        if (!make_room_for_bytes(connection)) return false;
    held_bytes_ += more;
    connection.held = counted;
    return true;
}

// Evicts the connection that has been sending or reading for longest, if it is slow. Returns false if that is
// the one that needs the bytes.
bool ConnectionTable::make_room_for_bytes(const Connection& needing) {
    const auto slow_since = std::chrono::steady_clock::now() - config.limits.slow_after;
    Connection* slowest = nullptr;
    for (const auto phase : {Phase::body, Phase::write}) {
        auto& candidates = list(phase);
        const auto found = std::ranges::find_if(candidates, [](const Connection& c) { return c.held > 0; });
        if (found != candidates.end() && (!slowest || found->entered < slowest->entered)) slowest = &*found;
    }
    if (!slowest || slowest == &needing || slowest->entered >= slow_since) return false;
    ++stats.refused;
    interrupt(*slowest, Stop::evicted);
    return true;
}

void ConnectionTable::start_draining() {
    closes_after_response = draining = true;
    // The kernel has accepted the connections in the backlog; closing the socket would reset them.
    while (acceptor_.is_open()) {
        const auto before = stats.accepted.load();
        accept_pending(accept_batch);
        if (stats.accepted.load() == before) break;
    }
    boost::system::error_code ignored;
    acceptor_.close(ignored);
    // A new connection has its first request answered; all other idle connections are closed.
    while (!list(Phase::idle).empty()) interrupt(list(Phase::idle).front(), Stop::drained);
    time_to_live_[static_cast<std::size_t>(Phase::first_request)] = first_requests_have;
    const auto now = std::chrono::steady_clock::now();
    while (deadline_of(Phase::first_request) < now)
        interrupt(list(Phase::first_request).front(), Stop::drained);
    watch(deadline_of(Phase::first_request));
}

Task<> ConnectionTable::drain(std::shared_ptr<ConnectionTable> table, milliseconds grace) {
    table->start_draining();
    table->all_gone_.expires_after(grace);
    // An accepted connection is counted when its coroutine first runs, so run the ready handlers before the
    // check.
    co_await asio::post(table->acceptor_.get_executor(), asio::use_awaitable);
    if (table->stats.connections > 0) co_await table->all_gone_.async_wait(as_tuple);
    table->shutdown();
}

void ConnectionTable::shutdown() {
    boost::system::error_code ignored;
    acceptor_.close(ignored);
    expiry_.cancel();
    watched_ = SteadyTime::min();
    for (auto& connections : lists_)
        while (!connections.empty()) interrupt(connections.front(), Stop::shutdown);
}

}  // namespace net
