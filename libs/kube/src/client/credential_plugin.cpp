#include "kube/client/credential_plugin.hpp"

namespace kube {

bool CredentialPlugin::due() const {
    return !current_ || (current_->expires && host_.wall && host_.wall() > *current_->expires);
}

const ExecCredential& CredentialPlugin::current() const {
    static const ExecCredential none;
    return current_ ? *current_ : none;
}

api::Error CredentialPlugin::blame(const api::Error& error) const {
    std::string text = "the credential plugin " + plugin_.command + " " + error.message;
    if (error.code == api::Errc::not_found)
        text +=
            "; " + (plugin_.install_hint.empty() ? "install it, or correct the PATH" : plugin_.install_hint);
    return {.code = api::Errc::invalid, .message = std::move(text)};
}

api::Result<> CredentialPlugin::run(std::string_view ca_pem) {
    current_.reset();
    if (!host_.run) return blame({.message = "is not run by this program"});
    const bool interactive = plugin_.input != ExecPlugin::Input::never && host_.terminal;
    if (plugin_.input == ExecPlugin::Input::always && !interactive)
        return blame({.message = "needs a terminal (interactiveMode: Always), and standard input is none"});
    const std::string info = encode_exec_info(plugin_, ca_pem, interactive);
    const auto output = host_.run(plugin_, info, interactive);
    if (!output) return blame(output.error());
    auto credential = decode_exec_credential(*output, plugin_);
    if (!credential) return blame(credential.error());
    current_ = std::move(*credential);
    return {};
}

}  // namespace kube
