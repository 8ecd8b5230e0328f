#pragma once
#include <memory>
#include <optional>
#include <string>

#include "api/json.hpp"
#include "api/time.hpp"
#include "kube/client/request.hpp"
#include "net/process/async.hpp"

namespace kube {

using net::Async;
using net::Task;

/// The lines of one watch request.
class Watch {
public:
    virtual ~Watch() = default;
    /// Returns the next complete line without its end; empty when the server closed the watch. A partial last
    /// line is dropped. Errors as for ApiServer.
    virtual Async<std::string> next() = 0;
};

/// A successful response. The status distinguishes an apply that created (201) from one that changed (200).
struct Response {
    int status = 200;
    std::string body = {};
    std::optional<api::Time> date = {};  ///< the server's clock had reached it when the response came
};

/// The interface between the programs and the cluster. Programs use HttpsApiServer; tests use a scripted
/// fake.
class ApiServer {
public:
    virtual ~ApiServer() = default;
    /// Sends one request. A response that is not 2xx becomes an Error with the server's message and reason,
    /// `http_status`, `retry_after` and a code (kube/status.hpp).
    virtual Async<Response> send(Request request) = 0;
    /// Opens a watch. This object and its executor must outlive the Watch.
    virtual Async<std::unique_ptr<Watch>> watch(Request request) = 0;
    /// Fails pending and later requests with `unavailable` and closes all connections, for shutdown.
    /// Idempotent. Does nothing by default.
    virtual void close() {}
};

/// Sends the request and parses the response. Leaves out the paths `omit`, which begin at the root of the
/// response and must outlive the call.
Async<api::Json> fetch(ApiServer& server, Request request, api::JsonPaths omit = {});

/// Returns the same request for a response without the object: a Table with the resource version and without
/// the object in its rows. A server without support for that sends the object.
Request without_object(Request request);

/// Returns the resource version of a response, be it an object or a Table of without_object(); "" if there is
/// none.
std::string version_of(const Response& response);

}  // namespace kube
