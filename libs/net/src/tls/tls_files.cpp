#include <sys/stat.h>

#include <tuple>
#include <utility>

#include "net/process/file.hpp"
#include "net/process/timer.hpp"
#include "net/tls/tls.hpp"

namespace net {
namespace {

// Returns a text that changes if the file is written, replaced (also through a symbolic link, as the kubelet
// does) or given other permissions.
std::string stamp(const std::string& file) {
    struct stat status = {};
    if (file.empty() || ::stat(file.c_str(), &status) != 0) return "-";
    return std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino) + ":" +
           std::to_string(status.st_size) + ":" + std::to_string(status.st_mtim.tv_sec) + "." +
           std::to_string(status.st_mtim.tv_nsec) + ":" + std::to_string(status.st_ctim.tv_sec) + "." +
           std::to_string(status.st_ctim.tv_nsec);
}

std::string stamps_of(const TlsFiles& files) {
    return stamp(files.cert_file) + " " + stamp(files.key_file) + " " + stamp(files.client_ca_file);
}

api::Result<TlsIdentity> read(const TlsFiles& files) {
    TlsIdentity identity;
    for (const auto& [file, target] :
         {std::pair(&files.cert_file, &identity.cert_pem), std::pair(&files.key_file, &identity.key_pem),
          std::pair(&files.client_ca_file, &identity.client_ca_pem)}) {
        if (file->empty()) continue;
        auto text = read_file(*file);
        if (!text) return text.error();
        *target = std::move(*text);
    }
    // An empty file must not disable the check of client certificates.
    if (!files.client_ca_file.empty() && identity.client_ca_pem.empty())
        return api::invalid("", files.client_ca_file + " is empty: put the CA certificates there, in PEM");
    return identity;
}

// Replaces the part of the identity that Tls names by the name of its file.
api::Error in_terms_of_files(api::Error error, const TlsFiles& files) {
    if (error.field == "policy")
        error.message = "--tls-cipher-suites: " + error.message;
    else if (error.field == "certificate")
        error.message = files.cert_file + ": " + error.message + ": put the certificate chain there, in PEM";
    else if (error.field == "client CA")
        error.message =
            files.client_ca_file + ": " + error.message + ": put the CA certificates there, in PEM";
    else
        error.message =
            files.key_file + ": " + error.message + ": put the key of " + files.cert_file + " there, in PEM";
    error.field.clear();
    return error;
}

bool same(const TlsIdentity& a, const TlsIdentity& b) {
    return std::tie(a.cert_pem, a.key_pem, a.client_ca_pem) ==
           std::tie(b.cert_pem, b.key_pem, b.client_ca_pem);
}

}  // namespace

api::Result<TlsFileWatcher> TlsFileWatcher::open(TlsFiles files, const TlsPolicy& policy) {
    TlsFileWatcher watcher;
    watcher.stamps_ = stamps_of(files);
    auto identity = read(files);
    if (!identity) return identity.error();
    auto tls = Tls::make(*identity, policy);
    if (!tls) return in_terms_of_files(tls.error(), files);
    watcher.tls_ = *tls;
    watcher.seen_ = std::move(*identity);
    watcher.files_ = std::move(files);
    return watcher;
}

api::Result<bool> TlsFileWatcher::poll() {
    auto stamps = stamps_of(files_);
    if (stamps == stamps_) return false;
    // The stamps are taken before reading: the next poll sees a change in between.
    stamps_ = std::move(stamps);
    auto identity = read(files_);
    if (!identity) {
        // The cause of a failed read may end without a change of the stamps, so read again at the next poll.
        stamps_.clear();
        if (identity.error().message == std::exchange(reported_, identity.error().message)) return false;
        return identity.error();
    }
    reported_.clear();
    if (same(*identity, seen_)) return false;
    seen_ = std::move(*identity);
    if (auto replaced = tls_->replace(seen_); !replaced) return in_terms_of_files(replaced.error(), files_);
    return true;
}

Task<> follow(TlsFileWatcher& watcher, std::chrono::milliseconds interval, Log& log) {
    for (;;) {
        co_await sleep_for(interval);
        const auto changed = watcher.poll();
        if (!changed)
            log.error("certificate files changed but are not usable, the old ones stay in use",
                      {{"error", changed.error()}});
        else if (*changed)
            log.info("certificate replaced", {{"not_after", api::format_time(watcher.tls()->not_after())}});
    }
}

}  // namespace net
