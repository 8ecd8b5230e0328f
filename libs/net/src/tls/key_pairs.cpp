#include "net/tls/key_pairs.hpp"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>

#include <cstdint>

#include "api/base64.hpp"
#include "tls/openssl.hpp"

namespace net {
namespace {

using BioPtr = std::unique_ptr<BIO, OpenSslFree>;

constexpr std::size_t curve_key_bytes = 32;
// The uncompressed form of a point on P-521: 0x04 and two numbers of 66 bytes.
constexpr std::size_t point_bytes = 133;

api::Error failed(std::string_view what) {
    return {.code = api::Errc::internal, .message = "cannot " + std::string(what) + ": " + openssl_error()};
}

unsigned char* bytes_of(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

const unsigned char* bytes_of(const std::string& text) {
    return reinterpret_cast<const unsigned char*>(text.data());
}

// RFC 4251, section 5: a string is its length in four bytes, most significant first, and its bytes.
std::string ssh_string(std::string_view text) {
    std::string field;
    for (int shift = 24; shift >= 0; shift -= 8)
        field += static_cast<char>(static_cast<std::uint32_t>(text.size()) >> shift & 0xff);
    return field.append(text);
}

// The traditional form, since OpenSSH reads it in every version; without a pass phrase.
api::Result<std::string> private_pem(EVP_PKEY& key) {
    const BioPtr bio(BIO_new(BIO_s_secmem()));
    if (!bio ||
        PEM_write_bio_PrivateKey_traditional(bio.get(), &key, nullptr, nullptr, 0, nullptr, nullptr) != 1)
        return failed("encode an SSH key");
    char* text = nullptr;
    const long length = BIO_get_mem_data(bio.get(), &text);
    return std::string(text, static_cast<std::size_t>(length));
}

// RFC 5656, section 3.1.
api::Result<std::string> public_line(EVP_PKEY& key) {
    std::string point(point_bytes, '\0');
    std::size_t length = 0;
    if (EVP_PKEY_get_octet_string_param(&key, OSSL_PKEY_PARAM_PUB_KEY, bytes_of(point), point.size(),
                                        &length) != 1 ||
        length != point_bytes)
        return failed("read the public part of an SSH key");
    const std::string_view type = "ecdsa-sha2-nistp521";
    return std::string(type) + " " +
           api::to_base64(ssh_string(type) + ssh_string("nistp521") + ssh_string(point)) + "\n";
}

}  // namespace

api::Result<SshKeys> make_ssh_key_pair() {
    const KeyPtr key(EVP_EC_gen("P-521"));
    if (!key) return failed("make an SSH key");
    auto pem = private_pem(*key);
    if (!pem) return pem.error();
    auto line = public_line(*key);
    if (!line) return line.error();
    return SshKeys{.private_pem = std::move(*pem), .public_line = std::move(*line)};
}

api::Result<CurveKeys> make_curve_key_pair() {
    CurveKeys keys = {.public_key = std::string(curve_key_bytes, '\0'),
                      .secret_key = std::string(curve_key_bytes, '\0')};
    if (RAND_priv_bytes(bytes_of(keys.secret_key), static_cast<int>(curve_key_bytes)) != 1)
        return failed("make a CURVE key");
    const KeyPtr key(EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, nullptr,
                                                  bytes_of(std::as_const(keys.secret_key)), curve_key_bytes));
    std::size_t length = curve_key_bytes;
    if (!key || EVP_PKEY_get_raw_public_key(key.get(), bytes_of(keys.public_key), &length) != 1 ||
        length != curve_key_bytes)
        return failed("make a CURVE key");
    return keys;
}

}  // namespace net
