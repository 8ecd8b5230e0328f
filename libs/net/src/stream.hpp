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

#include "openssl.hpp"

namespace net {

inline constexpr auto as_tuple = boost::asio::as_tuple(boost::asio::use_awaitable);

enum class IoStatus {
    done,
    want_read,  ///< wait for this, then call again
    want_write,
    again,  ///< the turn's share of bytes is used up: wait for this, then call again
    eof,    ///< the other side ended properly
    failed  ///< see failure()
};

struct Io {
    IoStatus status = IoStatus::done;
    std::size_t bytes = 0;
};

/// A TCP connection, with TLS once start_tls() was called. Reading and writing never block and never suspend:
/// they do what is possible now, and the caller awaits wait() in between. TLS works directly on the socket,
/// without buffers of ours in between; that saves two copies and, for an idle connection, all buffers.
///
/// What one turn of the event loop reads is bounded in bytes and TLS records, since OpenSSL reads on by
/// itself as long as records bring no data. Records without data (KeyUpdates, tickets, empty ones) that are
/// too many end the connection: each costs as much as a small request.
class Stream {
public:
    using Socket = boost::asio::ip::tcp::socket;

    // What ends a turn. `bytes_at_once` more may be received by then, and the records in them.
    static constexpr std::int64_t bytes_per_turn = 32 * 1024;
    static constexpr int records_per_turn = 128;
    /// Of a TLS connection. What one call takes from the socket is decrypted without a pause.
    static constexpr std::size_t bytes_at_once = 4 * 1024;
    /// Records without data that are too many, the handshake's included; each so many bytes of data make up
    /// for another one.
    static constexpr std::int64_t most_barren_records = 64;
    static constexpr std::int64_t bytes_per_barren_record = 1024;

    explicit Stream(Socket socket) : socket_(std::move(socket)) {}
    ~Stream() { close(); }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    Socket& socket() { return socket_; }
    SSL* ssl() { return ssl_.get(); }

    /// From here on everything is TLS; the role and the rest were set on `ssl`.
    void start_tls(SslPtr ssl);
    Io handshake();
    /// Whether the other side has said hello.
    bool handshake_began() const { return SSL_get_state(ssl_.get()) != TLS_ST_BEFORE; }
    Io read(char* data, std::size_t size);
    /// May write less than all.
    Io write(const char* data, std::size_t size);

    /// Whether bytes were received that read() has not given out: then waiting for the socket may be in vain.
    bool has_buffered() const;

    /// `co_await stream.wait(status)`, for want_read, want_write or again. Gives a tuple with an error code.
    /// A new turn begins behind it.
    auto wait(IoStatus status) {
        auto token = as_tuple;
        return boost::asio::async_initiate<decltype(token), void(boost::system::error_code)>(
            Wait{this, status}, token);
    }
    /// For a caller that has waited for something else.
    void begin_turn() {
        bytes_left_ = bytes_per_turn;
        records_left_ = records_per_turn;
    }
    /// Wakes whoever waits, with operation_aborted.
    void cancel();

    /// Tells the other side that nothing more will be sent; reading goes on.
    void end_writing();
    /// Throws away a megabyte of what the socket has received; false when there will be no more.
    bool discard_received();
    /// Politely if possible. Idempotent.
    void close();

    /// Why the last call failed, for people.
    const std::string& failure() const { return failure_; }
    /// It failed for too many records without data.
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

    /// As recv(); EAGAIN as well when the turn is over.
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
    bool starved_ = false;  ///< receive() has refused to go on in this turn
    bool flooded_ = false;
    std::int64_t bytes_left_ = bytes_per_turn;  ///< of this turn, like the records
    int records_left_ = records_per_turn;
    std::int64_t barren_records_ = 0;
    std::string failure_ = {};
};

}  // namespace net
