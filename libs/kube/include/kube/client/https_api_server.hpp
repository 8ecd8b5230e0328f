#pragma once
#include <functional>
#include <memory>

#include "kube/client/api_server.hpp"
#include "kube/client/clock.hpp"
#include "kube/client/config.hpp"
#include "kube/client/credentials.hpp"
#include "kube/client/server_clock.hpp"
#include "net/client/http_client.hpp"

namespace kube {

struct HttpsApiServerOptions {
    std::string user_agent = {};                        ///< empty: signalbox/<version>
    std::size_t max_connections = 128;                  ///< further requests wait for a free one
    std::chrono::milliseconds request_timeout{30'000};  ///< of watches: up to the headers
    PluginHost plugins = {};                            ///< for a config with `exec`
    /// Called for a `Warning:` header of the API server, once per text.
    std::function<void(const std::string& text)> on_warning = {};
    /// Called for an error outside of requests: credential files that cannot be read now. Once per text until
    /// the error is over.
    std::function<void(const std::string& text)> on_problem = {};
    /// Called for every response, also for that of a retry after a 401. `verb` is the HTTP method, or WATCH;
    /// `resource` as resource_of(); `status` is 0 without a response.
    std::function<void(std::string_view verb, const std::string& resource, int status)> on_answer = {};
    /// Called if a permission is missing.
    std::function<void(const api::Error& error)> on_forbidden = {};
    /// Called for every answer with a `Date` header, before its request returns.
    std::function<void(const DatedAnswer& answer)> on_dated_answer = {};
};

/// Makes an API server over net::HttpClient. It adds credentials, rereads tokens and certificates, and runs a
/// credential plugin when it is due, which blocks. After a 401 it renews them at once, and retries the
/// request once if they have changed. It retries nothing else: only the caller knows whether a request may be
/// repeated. It must outlive its requests. Thread rule: the one thread that runs its executor.
std::unique_ptr<ApiServer> make_https_api_server(std::unique_ptr<net::HttpClient> client,
                                                 Credentials credentials, Clock& clock,
                                                 HttpsApiServerOptions options = {});

/// Also reads the credentials and makes the client. Fails if a file cannot be read or a PEM text is broken.
api::Result<std::unique_ptr<ApiServer>> make_https_api_server(boost::asio::any_io_executor executor,
                                                              Clock& clock, ClusterConfig config,
                                                              HttpsApiServerOptions options = {});

}  // namespace kube
