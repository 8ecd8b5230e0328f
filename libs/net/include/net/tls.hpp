#pragma once
#include <chrono>
#include <memory>
#include <string>

#include "api/error.hpp"
#include "api/time.hpp"
#include "net/async.hpp"
#include "net/log.hpp"

namespace net {

/// PEM texts of a server's certificate chain (leaf first) and key.
struct TlsIdentity {
    std::string cert_pem = {};
    std::string key_pem = {};
    std::string client_ca_pem = {};  ///< not empty: a client must show a certificate of one of these CAs
};

/// What a server shows to its clients: TLS 1.3 or 1.2, AEAD suites only, no renegotiation, no compression, no
/// resumption, ALPN http/1.1. Can be shared by servers on several threads. Thread rule: any thread.
class Tls {
public:
    /// Fails with `invalid` when the texts are broken or do not belong together.
    static api::Result<std::shared_ptr<Tls>> make(const TlsIdentity& identity);
    ~Tls();
    Tls(const Tls&) = delete;
    Tls& operator=(const Tls&) = delete;

    /// Handshakes that begin from now on use this; connections go on undisturbed. A broken identity changes
    /// nothing.
    api::Result<> replace(const TlsIdentity& identity);
    /// When the leaf certificate ends.
    api::Time not_after() const;

    class Impl;  ///< for libs/net/src only
    Impl& impl() const { return *impl_; }

private:
    explicit Tls(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

struct TlsFiles {
    std::string cert_file = {};
    std::string key_file = {};
    std::string client_ca_file = {};  ///< empty = clients need no certificate
};

/// A Tls that follows files, such as a mounted Secret.
class TlsFileWatcher {
public:
    /// Reads the files. Errors name the file at fault and how to mend it.
    static api::Result<TlsFileWatcher> open(TlsFiles files);

    const std::shared_ptr<Tls>& tls() const { return tls_; }

    /// Reads the files again if they look different, or could not be read. True: a new identity is in use. An
    /// error is returned once per change, and the old identity stays.
    api::Result<bool> poll();

private:
    TlsFiles files_ = {};
    std::shared_ptr<Tls> tls_ = {};
    std::string stamps_ = {};  ///< inode, size and times of each file at the last look; empty = read again
    std::string told_ = {};    ///< why they cannot be read
    TlsIdentity seen_ = {};
};

/// Polls for ever, and tells `log` of changes and failures. Both arguments must outlive it; cancel it to end.
Task<> follow(TlsFileWatcher& watcher, std::chrono::milliseconds interval, Log& log);

}  // namespace net
