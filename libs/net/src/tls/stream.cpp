#include "tls/stream.hpp"

#include <openssl/err.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

namespace net {
namespace {

// SSL_get_error() needs an empty queue before each call. ERR_clear_error() on an empty queue costs more than
// this check.
void forget_errors() {
    if (ERR_peek_error() != 0) ERR_clear_error();
    errno = 0;
}

// An alert of the peer about the certificate that it received (RFC 8446, section 6.2). Go's clients send
// bad_certificate for any error of it.
bool is_about_certificate(int reason) {
    switch (reason - SSL_AD_REASON_OFFSET) {
        case SSL_AD_BAD_CERTIFICATE:
        case SSL_AD_UNSUPPORTED_CERTIFICATE:
        case SSL_AD_CERTIFICATE_REVOKED:
        case SSL_AD_CERTIFICATE_EXPIRED:
        case SSL_AD_CERTIFICATE_UNKNOWN:
        case SSL_AD_UNKNOWN_CA: return true;
        default: return false;
    }
}

bool must_wait() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace

// OpenSSL's own socket BIO would raise SIGPIPE, needs a non-blocking descriptor, and has no limit per turn.
struct Stream::Bio {
    static Stream& stream_of(BIO* bio) { return *static_cast<Stream*>(BIO_get_data(bio)); }

    static int finish(BIO* bio, ssize_t count, bool reading) {
        BIO_clear_retry_flags(bio);
        if (count < 0 && must_wait()) {
            if (reading)
                BIO_set_retry_read(bio);
            else
                BIO_set_retry_write(bio);
        }
        return static_cast<int>(count);
    }
    static int write(BIO* bio, const char* data, int size) {
        const int descriptor = stream_of(bio).socket_.native_handle();
        return finish(bio, ::send(descriptor, data, size, MSG_NOSIGNAL | MSG_DONTWAIT), false);
    }
    static int read(BIO* bio, char* data, int size) {
        const auto at_once = std::min(static_cast<std::size_t>(size), bytes_at_once);
        return finish(bio, stream_of(bio).receive(data, at_once), true);
    }
    static void look_at_message(int is_sent, int, int type, const void*, std::size_t, SSL*, void* stream) {
        if (!is_sent && type == SSL3_RT_HEADER) static_cast<Stream*>(stream)->count_record();
    }
    static long control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

    static BIO_METHOD* method() {
        static BIO_METHOD* const method = [] {
            BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");
            if (!made) throw std::bad_alloc();
            BIO_meth_set_write(made, write);
            BIO_meth_set_read(made, read);
            BIO_meth_set_ctrl(made, control);
            return made;
        }();
        return method;
    }
};

ssize_t Stream::receive(char* data, std::size_t size) {
    if (bytes_left_ <= 0 || records_left_ <= 0) {
        starved_ = true;
        errno = EAGAIN;
        return -1;
    }
    const auto count = ::recv(socket_.native_handle(), data, size, MSG_DONTWAIT);
    if (count > 0) bytes_left_ -= count;
    return count;
}

void Stream::count_record() {
    --records_left_;
    ++empty_records_;
}

void Stream::start_tls(SslPtr ssl) {
    BIO* bio = BIO_new(Bio::method());
    if (!bio) throw std::bad_alloc();
    BIO_set_data(bio, this);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl.get(), bio, bio);
    SSL_set_msg_callback(ssl.get(), Bio::look_at_message);
    SSL_set_msg_callback_arg(ssl.get(), this);
    ssl_ = std::move(ssl);
}

Io Stream::handshake() {
    if (broken_) return {IoStatus::failed};
    forget_errors();
    starved_ = false;
    return unless_flooded(outcome(SSL_do_handshake(ssl_.get())));
}

Io Stream::read(char* data, std::size_t size) {
    starved_ = false;
    if (ssl_) {
        if (broken_) return {IoStatus::failed};
        forget_errors();
        std::size_t count = 0;
        const int result = SSL_read_ex(ssl_.get(), data, size, &count);
        if (result != 1) return unless_flooded(outcome(result));
        // One for the record of these bytes, and those that the bytes allow in addition.
        const auto allowed = 1 + static_cast<std::int64_t>(count) / bytes_per_empty_record;
        empty_records_ = std::max<std::int64_t>(empty_records_ - allowed, 0);
        return unless_flooded({IoStatus::done, count});
    }
    const auto count = receive(data, size);
    if (count > 0) return {IoStatus::done, static_cast<std::size_t>(count)};
    if (count == 0) return {IoStatus::eof};
    return must_wait() ? must_wait_for_more() : fail(std::strerror(errno));
}

// If the connection has failed by itself, that failure is reported.
Io Stream::unless_flooded(Io io) {
    if (empty_records_ <= most_empty_records || io.status == IoStatus::failed) return io;
    flooded_ = true;
    return fail("too many TLS records without data");
}

Io Stream::write(const char* data, std::size_t size) {
    starved_ = false;
    if (ssl_) {
        if (broken_) return {IoStatus::failed};
        forget_errors();
        std::size_t count = 0;
        const int result = SSL_write_ex(ssl_.get(), data, size, &count);
        return result == 1 ? Io{IoStatus::done, count} : outcome(result);
    }
    const auto count = ::send(socket_.native_handle(), data, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count >= 0) return {IoStatus::done, static_cast<std::size_t>(count)};
    return must_wait() ? Io{IoStatus::want_write} : fail(std::strerror(errno));
}

bool Stream::has_buffered() const { return ssl_ && !broken_ && SSL_has_pending(ssl_.get()) == 1; }

void Stream::cancel() {
    boost::system::error_code ignored;
    socket_.cancel(ignored);
}

void Stream::say_goodbye() {
    if (!ssl_ || broken_ || said_goodbye_ || !SSL_is_init_finished(ssl_.get())) return;
    said_goodbye_ = true;
    ERR_clear_error();
    SSL_shutdown(ssl_.get());
    ERR_clear_error();
}

void Stream::end_writing() {
    say_goodbye();
    boost::system::error_code ignored;
    socket_.shutdown(Socket::shutdown_send, ignored);
}

// At most one megabyte per turn: a peer that sends as fast as this reads must not keep the thread.
bool Stream::discard_received() {
    // With MSG_TRUNC the kernel drops the bytes without a copy.
    const auto count = ::recv(socket_.native_handle(), nullptr, 1024 * 1024, MSG_DONTWAIT | MSG_TRUNC);
    return count < 0 ? must_wait() : count > 0;
}

void Stream::close() {
    if (!socket_.is_open()) return;
    say_goodbye();
    boost::system::error_code ignored;
    socket_.close(ignored);
}

Io Stream::fail(std::string text) {
    broken_ = true;
    failure_ = std::move(text);
    return {IoStatus::failed};
}

Io Stream::outcome(int result) {
    const int error_number = errno;
    if (result == 1) return {IoStatus::done};
    switch (SSL_get_error(ssl_.get(), result)) {
        case SSL_ERROR_WANT_READ: return must_wait_for_more();
        case SSL_ERROR_WANT_WRITE: return {IoStatus::want_write};
        case SSL_ERROR_ZERO_RETURN: return {IoStatus::eof};
        case SSL_ERROR_SYSCALL:
            ERR_clear_error();
            return fail(error_number ? std::strerror(error_number) : "connection cut");
        default: break;
    }
    if (ERR_GET_REASON(ERR_peek_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING) {
        ERR_clear_error();
        return fail("connection cut");
    }
    if (const long verdict = SSL_get_verify_result(ssl_.get()); verdict != X509_V_OK) {
        ERR_clear_error();
        rejected_ = Rejected::peers;
        return fail(std::string("certificate not trusted: ") + X509_verify_cert_error_string(verdict));
    }
    const int reason = ERR_GET_REASON(ERR_peek_error());
    if (is_about_certificate(reason)) rejected_ = Rejected::own;
    if (reason == SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE) rejected_ = Rejected::peers;
    return fail(openssl_error());
}

}  // namespace net
