#pragma once
#include "api_model.hpp"
#include "kube/client/api_server.hpp"

namespace model {

/// Returns the reply as a kube::ApiServer returns it for `request`: the object, only its resource version
/// after kube::without_object(), or the error of the Status.
api::Result<kube::Response> to_result(Reply reply, const kube::Request& request);

}  // namespace model
