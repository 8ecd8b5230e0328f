#pragma once
#include <memory>
#include <string>

#include "net/tls/tls.hpp"

namespace webhook {

/// Makes a certificate that is presented until the real one is in use; the process is not ready until then.
/// Clients need certificates meanwhile if `client_ca_file` is not empty.
api::Result<std::shared_ptr<net::Tls>> make_stand_in(const std::string& client_ca_file);

}  // namespace webhook
