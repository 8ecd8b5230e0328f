#include "net/tls/digest.hpp"

#include <openssl/evp.h>

#include <new>

namespace net {

Digest digest_of(std::string_view text) {
    Digest digest = {};
    // It fails only if there is no memory.
    if (EVP_Digest(text.data(), text.size(), digest.data(), nullptr, EVP_sha256(), nullptr) != 1)
        throw std::bad_alloc();
    return digest;
}

}  // namespace net
