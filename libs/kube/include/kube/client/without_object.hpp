#pragma once
#include "kube/client/api_server.hpp"

namespace kube {

/// Returns the same request for a response without the object: a Table with the resource version and without
/// the object in its rows. A server without support for that sends the object.
Request without_object(Request request);

/// Returns the resource version of a response, be it an object or a Table of without_object(); "" if there is
/// none.
std::string version_of(const Response& response);

}  // namespace kube
