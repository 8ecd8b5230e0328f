#include "stream.hpp"

#include <openssl/err.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <new>

namespace net {
namespace {

// OpenSSL's own socket BIO would raise SIGPIPE, and needs the descriptor to be non-blocking.
int descriptor_of(BIO* bio) { return static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio))); }

int finish(BIO* bio, ssize_t count, bool reading) {
    BIO_clear_retry_flags(bio);
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) {
        if (reading)
            BIO_set_retry_read(bio);
        else
            BIO_set_retry_write(bio);
    }
    return static_cast<int>(count);
}

int bio_write(BIO* bio, const char* data, int size) {
    return finish(bio, ::send(descriptor_of(bio), data, size, MSG_NOSIGNAL | MSG_DONTWAIT), false);
}

int bio_read(BIO* bio, char* data, int size) {
    return finish(bio, ::recv(descriptor_of(bio), data, size, MSG_DONTWAIT), true);
}

long bio_control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

BIO_METHOD* socket_method() {
    static BIO_METHOD* const method = [] {
        BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");
        if (!made) throw std::bad_alloc();
        BIO_meth_set_write(made, bio_write);
        BIO_meth_set_read(made, bio_read);
        BIO_meth_set_ctrl(made, bio_control);
        return made;
    }();
    return method;
}

// SSL_get_error() wants it before each call. Clearing what is clear costs more than asking.
void forget_errors() {
    if (ERR_peek_error() != 0) ERR_clear_error();
    errno = 0;
}

bool must_wait() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace

void Stream::start_tls(SslPtr ssl) {
    BIO* bio = BIO_new(socket_method());
    if (!bio) throw std::bad_alloc();
    BIO_set_data(bio, reinterpret_cast<void*>(static_cast<std::intptr_t>(socket_.native_handle())));
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl.get(), bio, bio);
    ssl_ = std::move(ssl);
}

Io Stream::handshake() {
    forget_errors();
    return outcome(SSL_do_handshake(ssl_.get()));
}

Io Stream::read(char* data, std::size_t size) {
    if (ssl_) {
        if (broken_) return {IoStatus::failed};
        forget_errors();
        std::size_t count = 0;
        const int result = SSL_read_ex(ssl_.get(), data, size, &count);
        return result == 1 ? Io{IoStatus::done, count} : outcome(result);
    }
    const auto count = ::recv(socket_.native_handle(), data, size, MSG_DONTWAIT);
    if (count > 0) return {IoStatus::done, static_cast<std::size_t>(count)};
    if (count == 0) return {IoStatus::eof};
    return must_wait() ? Io{IoStatus::want_read} : fail(std::strerror(errno));
}

Io Stream::write(const char* data, std::size_t size) {
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

bool Stream::discard_received() {
    for (;;) {
        // With MSG_TRUNC the kernel drops the bytes without copying them.
        const auto count = ::recv(socket_.native_handle(), nullptr, 1024 * 1024, MSG_DONTWAIT | MSG_TRUNC);
        if (count < 0) return must_wait();
        if (count == 0) return false;
    }
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
        case SSL_ERROR_WANT_READ: return {IoStatus::want_read};
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
        return fail(std::string("certificate not trusted: ") + X509_verify_cert_error_string(verdict));
    }
    return fail(openssl_error());
}

}  // namespace net
