#pragma once
#include <string>

/// Keys that build() puts into Secrets. The caller generates them (net/key_pairs.hpp). Never log them.
namespace runtime {

struct SshKeyPair {
    std::string private_pem = {};  ///< SEC1, as `ssh-keygen -m PEM` writes it
    std::string public_line = {};  ///< "ecdsa-sha2-nistp521 <base64>\n"
};

/// A CurveZMQ key; raw, 32 bytes each.
struct CurveKeyPair {
    std::string public_key = {};
    std::string secret_key = {};
};

}  // namespace runtime
