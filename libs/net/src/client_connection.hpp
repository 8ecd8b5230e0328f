#pragma once
#include <boost/asio/steady_timer.hpp>
#include <boost/intrusive/list.hpp>
#include <chrono>
#include <memory>
#include <string>

#include "client_tls.hpp"
#include "message_parser.hpp"
#include "net/http_client.hpp"
#include "stream.hpp"

namespace net {

using SteadyTime = std::chrono::steady_clock::time_point;

/// A configuration that connections are made from, with what is computed once from it.
struct Target {
    ClientConfig config = {};
    std::shared_ptr<const ClientTls> tls = {};  ///< null: plain HTTP
    std::string host_header = {};

    std::string place() const { return config.host + ":" + config.port; }
};

/// Fails when the PEM texts are broken or do not belong together.
api::Result<std::shared_ptr<const Target>> make_target(ClientConfig config);

/// One connection to the server. Its coroutines are static and hold it, so that it may be given up at any
/// time.
class ClientConnection
    : public std::enable_shared_from_this<ClientConnection>,
      public boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
public:
    using Ptr = std::shared_ptr<ClientConnection>;

    ClientConnection(boost::asio::any_io_executor executor, std::shared_ptr<const Target> target);

    /// Looks the name up, connects, shakes hands; at most until `deadline`.
    static Async<> connect(Ptr self, SteadyTime deadline);
    static Async<> write(Ptr self, const std::string& bytes);
    /// Reads once, as much as is there.
    static Async<> read(Ptr self, ResponseParser& parser);

    /// Whatever still waits then fails.
    void set_deadline(SteadyTime deadline);
    void clear_deadline();
    /// Whatever waits fails now, with this text; so does everything later.
    void abort(std::string why);

    /// Whether it may go back to the pool after a complete answer.
    bool reusable() const { return usable() && !bad_answer_ && !died_; }
    /// Whether an idle connection can be used again, as far as one can tell without sending.
    bool looks_alive();
    bool usable() const { return failure_.empty() && !expired_; }

    const std::shared_ptr<const Target>& target() const { return target_; }
    /// Whether the server has said something since the last write() began.
    bool heard() const { return heard_; }
    /// It failed by itself: not by a deadline, not by abort(), not by cancellation.
    bool died() const { return died_; }

private:
    struct Lookup;

    static Async<std::vector<boost::asio::ip::tcp::endpoint>> resolve(Ptr self, SteadyTime deadline);
    static Async<> shake_hands(Ptr self);
    Io read_into(ResponseParser& parser);
    bool may_wait(const Io& io) const;
    void tune();
    api::Error error(const std::string& what) const;
    /// Why a wait or a call came back without success.
    api::Error verdict(const std::string& what, const boost::system::error_code& code);

    std::shared_ptr<const Target> target_;
    Stream stream_;
    boost::asio::steady_timer timer_;
    std::weak_ptr<Lookup> lookup_ = {};
    std::string pending_ = {};  ///< received, not used by the parser yet
    std::string failure_ = {};
    bool bad_answer_ = false;
    bool expired_ = false;
    bool heard_ = false;
    bool died_ = false;
};

}  // namespace net
