#include "reconcile/keys.hpp"

#include "net/tls/key_pairs.hpp"

namespace controller {

api::Result<> make_key_material(const runtime::Needs& needs, runtime::Inputs& inputs) {
    if (needs.ssh_key_pair) {
        auto keys = net::make_ssh_key_pair();
        if (!keys) return keys.error();
        inputs.ssh_key_pair = runtime::SshKeyPair{.private_pem = std::move(keys->private_pem),
                                                  .public_line = std::move(keys->public_line)};
    }
    if (needs.curve_key_pair) {
        auto keys = net::make_curve_key_pair();
        if (!keys) return keys.error();
        inputs.curve_key_pair = runtime::CurveKeyPair{.public_key = std::move(keys->public_key),
                                                      .secret_key = std::move(keys->secret_key)};
    }
    return {};
}

}  // namespace controller
