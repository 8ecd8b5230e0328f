#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstdint>
#include <string>
#include <utility>

#include "tls/openssl.hpp"

namespace net {

inline constexpr auto as_tuple = boost::asio::as_tuple(boost::asio::use_awaitable);

enum class IoStatus {
    done,
    want_read,  ///< wait() for this, then call again
    want_write,
    again,  ///< the turn's limit is reached: wait() for this, then call again
    eof,    ///< the peer ended the stream properly
    failed  ///< see failure()
};

struct Io {
    IoStatus status = IoStatus::done;
    std::size_t bytes = 0;
};

/// The certificate that a handshake failed for: this program's, which the peer does not accept, or the
/// peer's.
enum class Rejected { none, own, peers };

/// A TCP connection, with TLS after start_tls(). Reading and writing never block or suspend: they do what is
/// possible now, and the caller awaits wait() in between. TLS works directly on the socket, without buffers
/// in between: this saves two copies and, for an idle connection, all buffers.
///
/// One turn of the event loop reads a bounded number of bytes and TLS records, since OpenSSL reads on by
/// itself while records bring no data. Too many records without data (KeyUpdates, tickets, empty ones) end
/// the connection: each costs as much CPU time as a small request.
class Stream {
public:
    using Socket = boost::asio::ip::tcp::socket;

    // Limits of a turn. A turn may exceed them by `bytes_at_once` bytes and their records.
    static constexpr std::int64_t bytes_per_turn = 32 * 1024;
    static constexpr int records_per_turn = 128;
    /// Most bytes that one call takes from the socket of a TLS connection. OpenSSL decrypts them without a
    /// pause.
    static constexpr std::size_t bytes_at_once = 4 * 1024;
    /// Limit of TLS records without data, including those of the handshake. Each `bytes_per_empty_record`
    /// bytes of data allow another one.
    static constexpr std::int64_t most_empty_records = 64;
    static constexpr std::int64_t bytes_per_empty_record = 1024;

    explicit Stream(Socket socket) : socket_(std::move(socket)) {}
    ~Stream() { close(); }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    Socket& socket() { return socket_; }
    SSL* ssl() { return ssl_.get(); }

    /// Uses TLS from here on. The caller has set the role and the rest on `ssl`.
    void start_tls(SslPtr ssl);
    Io handshake();
    /// Returns whether the client's ClientHello has arrived. For the server role.
    bool handshake_began() const { return SSL_get_state(ssl_.get()) != TLS_ST_BEFORE; }
    Io read(char* data, std::size_t size);
    /// Writes some of the bytes, perhaps all. The result has their number.
    Io write(const char* data, std::size_t size);

    /// Returns whether bytes were received that read() has not returned: then a wait for the socket may never
    /// end.
    bool has_buffered() const;

    /// `co_await stream.wait(status)` for want_read, want_write or again. Returns a tuple with an error code
    /// and begins a new turn.
    auto wait(IoStatus status) {
        auto token = as_tuple;
        return boost::asio::async_initiate<decltype(token), void(boost::system::error_code)>(
            Wait{this, status}, token);
    }
    /// For a caller that has waited for something else than wait().
    void begin_turn() {
        bytes_left_ = bytes_per_turn;
        records_left_ = records_per_turn;
    }
    /// Ends a pending wait() with operation_aborted.
    void cancel();

    /// Tells the peer that no more bytes follow; reading goes on.
    void end_writing();
    /// Discards up to a megabyte of received bytes. Returns false at the end of the stream or after a
    /// failure.
    bool discard_received();
    /// Sends a TLS close_notify if possible, and closes the socket. Idempotent.
    void close();

    /// Returns why the last call failed, for a log line or an error.
    const std::string& failure() const { return failure_; }
    /// Returns whose certificate was rejected, if that is why.
    Rejected rejected() const { return rejected_; }
    /// Returns whether it failed because of too many records without data.
    bool flooded() const { return flooded_; }

private:
    struct Bio;
    struct Wait {
        Stream* stream;
        IoStatus status;

        template <class Handler>
        void operator()(Handler&& handler) const {
            stream->begin_turn();
            auto& socket = stream->socket_;
            if (status == IoStatus::again)
                boost::asio::post(socket.get_executor(), [kept = std::forward<Handler>(handler)]() mutable {
                    std::move(kept)(boost::system::error_code());
                });
            else
                socket.async_wait(status == IoStatus::want_write ? Socket::wait_write : Socket::wait_read,
                                  std::forward<Handler>(handler));
        }
    };

    /// As recv(), and EAGAIN once the limit of the turn is reached.
    ssize_t receive(char* data, std::size_t size);
    void count_record();
    Io must_wait_for_more() const { return {starved_ ? IoStatus::again : IoStatus::want_read}; }
    Io unless_flooded(Io io);
    Io outcome(int result);
    Io fail(std::string text);
    void say_goodbye();

    Socket socket_;
    SslPtr ssl_ = {};
    bool broken_ = false;  ///< no TLS call may follow
    bool said_goodbye_ = false;
    bool starved_ = false;  ///< receive() has returned EAGAIN for the limit of this turn
    bool flooded_ = false;
    std::int64_t bytes_left_ = bytes_per_turn;  ///< in this turn, as `records_left_`
    int records_left_ = records_per_turn;
    std::int64_t empty_records_ = 0;
    std::string failure_ = {};
    Rejected rejected_ = Rejected::none;
};

}  // namespace net
