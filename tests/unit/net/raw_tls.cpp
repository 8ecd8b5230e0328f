#include "raw_tls.hpp"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>

#include <boost/algorithm/hex.hpp>
#include <stdexcept>

namespace test {
namespace {

void must(bool done) {
    if (!done) throw std::logic_error("no record by hand");
}

unsigned char* bytes_of(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

}  // namespace

RawTls::RawTls()
    : context_(SSL_CTX_new(TLS_client_method())),
      ssl_(SSL_new(context_)),
      in_(BIO_new(BIO_s_mem())),
      out_(BIO_new(BIO_s_mem())) {
    SSL_set_min_proto_version(ssl_, TLS1_3_VERSION);
    SSL_set_ciphersuites(ssl_, "TLS_AES_128_GCM_SHA256");
    SSL_set_app_data(ssl_, this);
    // Lines of NSS's key log: label, random number of the client, secret.
    SSL_CTX_set_keylog_callback(context_, [](const SSL* ssl, const char* line) {
        const std::string_view text(line);
        if (!text.starts_with("CLIENT_TRAFFIC_SECRET_0 ")) return;
        auto* const self = static_cast<RawTls*>(SSL_get_app_data(ssl));
        self->secret_ = boost::algorithm::unhex(std::string(text.substr(text.rfind(' ') + 1)));
    });
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

std::string RawTls::empty_records(int count, std::string_view data) {
    std::string all;
    for (int i = 0; i < count; ++i) all += record("");
    return data.empty() ? all : all + record(data);
}

// RFC 8446, 5.2: encrypts the data and its type, and authenticates the header.
std::string RawTls::record(std::string_view data) {
    constexpr char application_data = 23;
    constexpr std::size_t tag = 16;
    std::string text = std::string(data) + application_data;
    const std::size_t length = text.size() + tag;
    std::string header = {application_data, 3, 3, static_cast<char>(length >> 8), static_cast<char>(length)};
    std::string key = derived("key", 16);
    std::string nonce = derived("iv", 12);
    for (std::size_t i = 0; i < 8; ++i)
        nonce[11 - i] = static_cast<char>(nonce[11 - i] ^ static_cast<char>(records_by_hand_ >> (8 * i)));
    ++records_by_hand_;

    const std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)> cipher(EVP_CIPHER_CTX_new(),
                                                                                 &EVP_CIPHER_CTX_free);
    std::string sealed(length, '\0');
    int size = 0;
    must(EVP_EncryptInit_ex(cipher.get(), EVP_aes_128_gcm(), nullptr, bytes_of(key), bytes_of(nonce)) == 1);
    must(EVP_EncryptUpdate(cipher.get(), nullptr, &size, bytes_of(header), static_cast<int>(header.size())) ==
         1);
    must(EVP_EncryptUpdate(cipher.get(), bytes_of(sealed), &size, bytes_of(text),
                           static_cast<int>(text.size())) == 1);
    must(EVP_EncryptFinal_ex(cipher.get(), bytes_of(sealed) + size, &size) == 1);
    must(EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_AEAD_GET_TAG, static_cast<int>(tag),
                             bytes_of(sealed) + text.size()) == 1);
    return header + sealed;
}

// RFC 8446, 7.1: HKDF-Expand-Label of the secret, without a context.
std::string RawTls::derived(const char* label, std::size_t size) const {
    const std::unique_ptr<EVP_KDF, decltype(&EVP_KDF_free)> kdf(EVP_KDF_fetch(nullptr, "TLS13-KDF", nullptr),
                                                                &EVP_KDF_free);
    const std::unique_ptr<EVP_KDF_CTX, decltype(&EVP_KDF_CTX_free)> context(EVP_KDF_CTX_new(kdf.get()),
                                                                            &EVP_KDF_CTX_free);
    int mode = EVP_KDF_HKDF_MODE_EXPAND_ONLY;
    std::string digest = "SHA256", prefix = "tls13 ", name = label, secret = secret_, out(size, '\0');
    const OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_int(OSSL_KDF_PARAM_MODE, &mode),
        OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest.data(), digest.size()),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, secret.data(), secret.size()),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_PREFIX, prefix.data(), prefix.size()),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_LABEL, name.data(), name.size()),
        OSSL_PARAM_construct_end()};
    must(EVP_KDF_derive(context.get(), bytes_of(out), out.size(), parameters) == 1);
    return out;
}

}  // namespace test
