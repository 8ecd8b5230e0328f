#pragma once
#include <string>

#include "api/error.hpp"

/// Key pairs for the programs of a TrainJob, from OpenSSL's generator of private randomness. Thread rule: any
/// thread.
namespace net {

/// An ECDSA key on P-521, in the forms that OpenSSH reads.
struct SshKeys {
    std::string private_pem = {};  ///< SEC1: "-----BEGIN EC PRIVATE KEY-----"
    std::string public_line = {};  ///< "ecdsa-sha2-nistp521 <base64>\n", a line of authorized_keys
};

/// A Curve25519 key of ZeroMQ's CURVE mechanism: 32 bytes each, not encoded.
struct CurveKeys {
    std::string public_key = {};
    std::string secret_key = {};
};

/// Both fail with `internal`, and only if OpenSSL has no randomness or lacks the curve, e.g. because of its
/// configuration.
api::Result<SshKeys> make_ssh_key_pair();
api::Result<CurveKeys> make_curve_key_pair();

}  // namespace net
