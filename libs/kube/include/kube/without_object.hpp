#pragma once
#include "kube/api_server.hpp"

namespace kube {

/// The same request, with an answer that leaves the object out (a Table whose rows have none) and still tells
/// its resource version. A server that cannot do that answers with the object.
Request without_object(Request request);

/// The resource version that an answer tells, be it the object or what without_object() asks for; "" if none.
std::string version_of(const Response& response);

}  // namespace kube
