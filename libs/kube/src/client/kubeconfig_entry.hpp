#pragma once
#include <string>

#include "api/json.hpp"
#include "kube/client/config.hpp"

namespace kube {

/// A cluster, user or context in a file of a kubeconfig.
struct KubeconfigEntry {
    const api::Json* value;
    std::string at;    ///< path of the entry for errors, with a dot after it: "users[u].user."
    std::string file;  ///< the file that has it; relative paths are relative to its folder

    const api::Json& operator[](std::string_view field) const { return (*value)[field]; }
    std::string text(std::string_view field) const { return std::string((*value)[field].as_string()); }

    /// Returns the error "FILE: users[u].user.token WHAT".
    api::Error error(std::string_view field, std::string_view what) const;
    /// Returns the error for a field that must not be set; success if it is not.
    api::Result<> refuse(std::string_view field, std::string_view why) const;
    /// Reads true or false; absent is false.
    api::Result<bool> flag(std::string_view field) const;
    /// Reads a field that names a file. `field`-data has the contents in base64 and takes precedence.
    api::Result<Material> pem(const std::string& field) const;
    api::Result<Material> file_at(std::string_view field) const;
    std::string resolved(std::string_view path) const;
};

/// Reads the credentials of a user into `config`. `cluster` is the part of the cluster that plugins may get.
api::Result<> read_kubeconfig_user(const KubeconfigEntry& user, api::Json cluster, ClusterConfig& config);

/// Reads `as`, `as-uid`, `as-groups` and `as-user-extra` of a user.
Impersonation read_kubeconfig_impersonation(const KubeconfigEntry& user);

}  // namespace kube
