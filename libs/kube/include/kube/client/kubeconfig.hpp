#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kube/client/config.hpp"

namespace kube {

/// One of the files that KUBECONFIG lists.
struct KubeconfigFile {
    std::string name = {};  ///< as in KUBECONFIG, for errors and as the origin of relative paths
    std::string text = {};
};

/// The entries to use, and replacements of their values: kubectl's options of these names. Empty: as in the
/// files.
struct KubeconfigChoice {
    std::string context = {};
    std::string cluster = {};
    std::string user = {};
    std::string ns = {};
    std::string server = {};
    std::string as = {};
    std::string as_uid = {};
    std::vector<std::string> as_groups = {};
};

/// Merges the files as kubectl does: of entries with the same name, and of current-contexts, the first file's
/// counts. Over plain HTTP a user's credentials are not used. nullopt: neither files nor options name a
/// cluster. Errors name file and field, or the option, and say how to fix it; they never contain a token or
/// key.
api::Result<std::optional<ClusterConfig>> merge_kubeconfigs(std::span<const KubeconfigFile> files,
                                                            const KubeconfigChoice& choice = {});

/// Parses a `proxy-url`: http://[USER:PASSWORD@]HOST:PORT, or the same with socks5:// (or socks5h://). The
/// error's message completes a sentence that begins with the field's name; it contains neither user nor
/// password.
api::Result<net::Proxy> parse_proxy_url(std::string_view text);

}  // namespace kube
