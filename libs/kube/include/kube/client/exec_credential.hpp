#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/json.hpp"
#include "api/time.hpp"

/// The protocol client.authentication.k8s.io, v1 and v1beta1, as values and texts: a user of a kubeconfig
/// names a program that prints credentials. Source: kubernetes/client-go, plugin/pkg/client/auth/exec.
namespace kube {

/// The command of a user's entry in a kubeconfig.
struct ExecPlugin {
    /// Whether it gets the standard input of the user's terminal.
    enum class Input { never, if_available, always };

    std::string api_version = {};  ///< "client.authentication.k8s.io/v1"
    std::string command = {};      ///< a path if it contains a slash; otherwise a name on the PATH
    std::vector<std::string> args = {};
    std::vector<std::pair<std::string, std::string>> env = {};  ///< beside that of this process
    Input input = Input::never;
    std::string install_hint = {};  ///< for users; without control characters
    /// `spec.cluster` of encode_exec_info() without the CA; null: the program does not get it.
    api::Json cluster = {};
};

/// The credentials of the program: a token, or a certificate with its key, or both.
struct ExecCredential {
    std::string token = {};
    std::string cert_pem = {};
    std::string key_pem = {};
    std::optional<api::Time> expires = {};  ///< nullopt: usable until the API server refuses it
};

/// Returns the text of the variable KUBERNETES_EXEC_INFO. `interactive`: the program gets a terminal.
std::string encode_exec_info(const ExecPlugin& plugin, std::string_view ca_pem, bool interactive);

/// Reads the program's output, in JSON or YAML. The error completes a sentence that begins with the program's
/// name, and contains no part of the text.
api::Result<ExecCredential> decode_exec_credential(std::string_view output, const ExecPlugin& plugin);

}  // namespace kube
