#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <string>

#include "openssl.hpp"

namespace net {

inline constexpr auto as_tuple = boost::asio::as_tuple(boost::asio::use_awaitable);

enum class IoStatus {
    done,
    want_read,  ///< wait for this, then call again
    want_write,
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
class Stream {
public:
    using Socket = boost::asio::ip::tcp::socket;

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

    /// `co_await stream.wait(status)`, for want_read or want_write. Gives a tuple with an error code.
    auto wait(IoStatus status) {
        return socket_.async_wait(status == IoStatus::want_write ? Socket::wait_write : Socket::wait_read,
                                  as_tuple);
    }
    /// Wakes whoever waits, with operation_aborted.
    void cancel();

    /// Tells the other side that nothing more will be sent; reading goes on.
    void end_writing();
    /// Throws away what the socket has received; false when there will be no more.
    bool discard_received();
    /// Politely if possible. Idempotent.
    void close();

    /// Why the last call failed, for people.
    const std::string& failure() const { return failure_; }

private:
    Io outcome(int result);
    Io fail(std::string text);
    void say_goodbye();

    Socket socket_;
    SslPtr ssl_ = {};
    bool broken_ = false;  ///< no TLS call may follow
    bool said_goodbye_ = false;
    std::string failure_ = {};
};

}  // namespace net
