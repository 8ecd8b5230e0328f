#pragma once
#include <chrono>
#include <memory>
#include <string>

#include "api/error.hpp"
#include "api/time.hpp"
#include "net/process/async.hpp"
#include "net/process/log.hpp"
#include "net/tls/identity.hpp"
#include "net/tls/tls_policy.hpp"

namespace net {

/// The TLS settings of a server: the versions and suites of its policy, ALPN http/1.1; no renegotiation,
/// compression or resumption. Servers on several threads may share it. Thread rule: any thread.
class Tls {
public:
    /// Fails with `invalid` if the texts are broken or do not belong together.
    static api::Result<std::shared_ptr<Tls>> make(const TlsIdentity& identity, const TlsPolicy& policy = {});
    ~Tls();
    Tls(const Tls&) = delete;
    Tls& operator=(const Tls&) = delete;

    /// Later handshakes use `identity`; open connections stay as they are. Fails, and changes nothing, as
    /// make().
    api::Result<> replace(const TlsIdentity& identity);
    /// Returns when the leaf certificate expires.
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
    std::string client_ca_file = {};  ///< empty: clients need no certificate
};

/// A Tls whose identity follows files, such as a mounted Secret.
class TlsFileWatcher {
public:
    /// Reads the files. Errors name the file and say how to fix it.
    static api::Result<TlsFileWatcher> open(TlsFiles files, const TlsPolicy& policy = {});

    const std::shared_ptr<Tls>& tls() const { return tls_; }

    /// Reads the files again if they look different or could not be read before. Returns true if a new
    /// identity is in use. Returns an error once per change, and keeps the old identity.
    api::Result<bool> poll();

private:
    TlsFiles files_ = {};
    std::shared_ptr<Tls> tls_ = {};
    std::string stamps_ = {};    ///< inode, size and times of each file at the last poll; empty: read again
    std::string reported_ = {};  ///< the last error of reading them
    TlsIdentity seen_ = {};
};

/// Polls until it is cancelled. Logs changes and failures. `watcher` and `log` must outlive it.
Task<> follow(TlsFileWatcher& watcher, std::chrono::milliseconds interval, Log& log);

}  // namespace net
