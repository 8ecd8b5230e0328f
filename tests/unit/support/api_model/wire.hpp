#pragma once
#include "api_model.hpp"
#include "kube/client/api_server.hpp"

namespace faults {

/// The reply as a kube::ApiServer answers `request` with it: the object, or of it the resource version alone
/// if kube::without_object() asked, or the error that the Status tells.
api::Result<kube::Response> to_result(Reply reply, const kube::Request& request);

}  // namespace faults
