#pragma once
#include <openssl/ssl.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace test {

/// A TLS 1.3 client without a socket: what it would send are bytes, so that a test can have records that no
/// proper client sends, and any number of them at once.
class RawTls {
public:
    RawTls();
    ~RawTls();
    RawTls(const RawTls&) = delete;
    RawTls& operator=(const RawTls&) = delete;

    /// Takes what the server has sent; true when the handshake is over.
    bool shake_hands(std::string_view received);
    /// What is to be sent now.
    std::string take();

    /// Records without data; the server has to answer each.
    std::string key_updates(int count);
    /// Each byte of `data` in a record of its own, which is padded to `size`.
    std::string single_bytes(std::string_view data, std::size_t size = 0);
    /// `data` in records as large as they may be.
    std::string records(std::string_view data);
    /// `count` records that hold nothing, then one with `data` unless that is empty. OpenSSL writes none
    /// without data, so these are encrypted by hand: a connection sends only such records, or none.
    std::string empty_records(int count, std::string_view data = {});

private:
    std::string record(std::string_view data);
    std::string derived(const char* label, std::size_t size) const;

    SSL_CTX* context_;
    SSL* ssl_;
    BIO* in_;
    BIO* out_;
    std::string secret_;  ///< of what the client sends after the handshake
    std::uint64_t records_by_hand_ = 0;
};

}  // namespace test
