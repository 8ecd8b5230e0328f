#pragma once
#include <openssl/ssl.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace test {

/// A TLS 1.3 client without a socket. Its output is bytes, so that a test can send records that no ordinary
/// client sends, and any number of them at once.
class RawTls {
public:
    RawTls();
    ~RawTls();
    RawTls(const RawTls&) = delete;
    RawTls& operator=(const RawTls&) = delete;

    /// Takes bytes from the server. Returns true when the handshake is complete.
    bool shake_hands(std::string_view received);
    /// Returns the bytes to send.
    std::string take();

    /// Returns records without data, each of which the server has to answer.
    std::string key_updates(int count);
    /// Returns each byte of `data` in a record of its own, padded to `size`.
    std::string single_bytes(std::string_view data, std::size_t size = 0);
    /// Returns `data` in records of the maximum size.
    std::string records(std::string_view data);
    /// Returns `count` empty records, then one with `data` unless that is empty. OpenSSL writes no empty
    /// records, so these are encrypted here. A connection must send only such records or none.
    std::string empty_records(int count, std::string_view data = {});

private:
    std::string record(std::string_view data);
    std::string derived(const char* label, std::size_t size) const;

    SSL_CTX* context_;
    SSL* ssl_;
    BIO* in_;
    BIO* out_;
    std::string secret_;  ///< of the records after the handshake
    std::uint64_t records_by_hand_ = 0;
};

}  // namespace test
