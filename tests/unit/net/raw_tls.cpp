#include "raw_tls.hpp"

#include <stdexcept>

namespace test {

RawTls::RawTls()
    : context_(SSL_CTX_new(TLS_client_method())),
      ssl_(SSL_new(context_)),
      in_(BIO_new(BIO_s_mem())),
      out_(BIO_new(BIO_s_mem())) {
    SSL_set_min_proto_version(ssl_, TLS1_3_VERSION);
    SSL_set_bio(ssl_, in_, out_);
    SSL_set_connect_state(ssl_);
}

RawTls::~RawTls() {
    SSL_free(ssl_);
    SSL_CTX_free(context_);
}

bool RawTls::shake_hands(std::string_view received) {
    if (!received.empty()) BIO_write(in_, received.data(), static_cast<int>(received.size()));
    return SSL_do_handshake(ssl_) == 1;
}

std::string RawTls::take() {
    std::string bytes(BIO_ctrl_pending(out_), '\0');
    if (!bytes.empty()) BIO_read(out_, bytes.data(), static_cast<int>(bytes.size()));
    return bytes;
}

std::string RawTls::key_updates(int count) {
    for (int i = 0; i < count; ++i)
        if (SSL_key_update(ssl_, SSL_KEY_UPDATE_REQUESTED) != 1 || SSL_do_handshake(ssl_) != 1)
            throw std::logic_error("no key update");
    return take();
}

std::string RawTls::single_bytes(std::string_view data, std::size_t size) {
    SSL_set_block_padding(ssl_, size);
    for (const char& byte : data)
        if (SSL_write(ssl_, &byte, 1) != 1) throw std::logic_error("no record");
    SSL_set_block_padding(ssl_, 0);
    return take();
}

std::string RawTls::records(std::string_view data) {
    if (SSL_write(ssl_, data.data(), static_cast<int>(data.size())) != static_cast<int>(data.size()))
        throw std::logic_error("no records");
    return take();
}

}  // namespace test
