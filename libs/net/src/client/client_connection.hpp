#pragma once
#include <boost/asio/steady_timer.hpp>
#include <boost/intrusive/list.hpp>
#include <chrono>
#include <memory>
#include <string>

#include "client/client_tls.hpp"
#include "http/message_parser.hpp"
#include "net/client/http_client.hpp"
#include "tls/stream.hpp"

namespace net {

using SteadyTime = std::chrono::steady_clock::time_point;

/// The configuration that connections are made from, and values computed once from it.
struct Target {
    ClientConfig config = {};
    std::shared_ptr<const ClientTls> tls = {};  ///< null: plain HTTP
    std::string host_header = {};
    std::string connect_request = {};  ///< for the proxy; empty: none

    /// For errors: the server, and how it is reached.
    std::string place() const;
};

/// Fails if the PEM texts are broken or do not belong together.
api::Result<std::shared_ptr<const Target>> make_target(ClientConfig config);

/// One connection to the server. Its coroutines are static and hold a reference, so that the owner may drop
/// it at any time.
class ClientConnection
    : public std::enable_shared_from_this<ClientConnection>,
      public boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
public:
    using Ptr = std::shared_ptr<ClientConnection>;

    ClientConnection(boost::asio::any_io_executor executor, std::shared_ptr<const Target> target);

    /// Resolves the name, connects and does the TLS handshake. Fails at `deadline` at the latest.
    static Async<> connect(Ptr self, SteadyTime deadline);
    static Async<> write(Ptr self, const std::string& bytes);
    /// Reads once, as many bytes as have arrived.
    static Async<> read(Ptr self, ResponseParser& parser);

    /// Operations that still wait at `deadline` fail.
    void set_deadline(SteadyTime deadline);
    void clear_deadline();
    /// Fails the pending operation and all later ones with this text.
    void abort(std::string why);

    /// Returns whether the connection may go back to the pool after a complete response.
    bool reusable() const { return usable() && !bad_answer_ && !died_; }
    /// Returns whether an idle connection seems usable; it sends nothing to find out.
    bool looks_alive();
    bool usable() const { return failure_.empty() && !expired_; }

    const std::shared_ptr<const Target>& target() const { return target_; }
    /// Returns whether the server has sent a byte since the last write() began.
    bool received_any() const { return received_any_; }
    /// Returns whether the connection failed by itself: not by a deadline, abort() or cancellation.
    bool died() const { return died_; }

private:
    struct Lookup;

    static Async<std::vector<boost::asio::ip::tcp::endpoint>> resolve(Ptr self, SteadyTime deadline);
    static Async<> ask_proxy(Ptr self);
    static Async<> ask_socks_proxy(Ptr self, const SocksProxy& proxy);
    static Async<std::string> read_exactly(Ptr self, std::size_t size);
    static Async<> shake_hands(Ptr self);
    Io read_into(ResponseParser& parser);
    bool may_wait(const Io& io) const;
    void tune();
    api::Error error(const std::string& what) const;
    /// Returns the error for a wait or a call without success.
    api::Error verdict(const std::string& what, const boost::system::error_code& code);

    std::shared_ptr<const Target> target_;
    Stream stream_;
    boost::asio::steady_timer timer_;
    std::weak_ptr<Lookup> lookup_ = {};
    std::string pending_ = {};  ///< received, but not parsed yet
    std::string failure_ = {};
    bool bad_answer_ = false;
    bool expired_ = false;
    bool received_any_ = false;
    bool died_ = false;
};

}  // namespace net
