#include "net/tls/digest.hpp"

#include <openssl/evp.h>

#include <new>

#include "api/hash.hpp"

namespace net {

Digest digest_of(std::string_view text) {
    Digest digest = {};
    // It fails only if there is no memory.
    if (EVP_Digest(text.data(), text.size(), digest.data(), nullptr, EVP_sha256(), nullptr) != 1)
        throw std::bad_alloc();
    return digest;
}

std::string digest_text(std::string_view text) {
    std::string written = "sha256:";
    for (const unsigned char byte : digest_of(text)) written += api::hex(byte, 2);
    return written;
}

}  // namespace net
