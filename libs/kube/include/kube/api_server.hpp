#pragma once
#include <memory>
#include <string>

#include "api/json_reader.hpp"
#include "kube/request.hpp"
#include "net/async.hpp"

namespace kube {

using net::Async;
using net::Task;

/// The lines of one watch request.
class Watch {
public:
    virtual ~Watch() = default;
    /// The next whole line, without its end; empty when the server closed the watch (also when it cut a line:
    /// the rest is dropped). Errors as for ApiServer.
    virtual Async<std::string> next() = 0;
};

/// A successful answer. The status tells an apply that created (201) from one that changed (200).
struct Response {
    int status = 200;
    std::string body = {};
};

/// The seam between our logic and the cluster. Production: HttpsApiServer. Tests: a scripted fake.
class ApiServer {
public:
    virtual ~ApiServer() = default;
    /// Sends one request. A non-2xx Status becomes an Error with the server's message, its reason,
    /// `http_status`, `retry_after`, and the code that says what to do (kube/status.hpp).
    virtual Async<Response> send(Request request) = 0;
    /// Opens a watch. The Watch may outlive neither this object nor its executor.
    virtual Async<std::unique_ptr<Watch>> watch(Request request) = 0;
    /// Nobody has time left: what waits for an answer fails soon, as does whatever is asked from now on, and
    /// connections are closed. Servers without connections need not care.
    virtual void close() {}
};

/// send() and parse, without what nobody asks for: paths from the answer's root, which must outlive it.
Async<api::Json> fetch(ApiServer& server, Request request, api::JsonPaths left_out = {});

}  // namespace kube
