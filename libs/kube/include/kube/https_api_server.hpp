#pragma once
#include <functional>
#include <memory>

#include "kube/api_server.hpp"
#include "kube/clock.hpp"
#include "kube/clock_skew.hpp"
#include "kube/config.hpp"
#include "kube/credentials.hpp"
#include "net/http_client.hpp"

namespace kube {

struct HttpsApiServerOptions {
    std::string user_agent = {};        ///< empty = signalbox/<version>
    std::size_t max_connections = 128;  ///< further requests wait for a free one
    /// A `Warning:` header of the API server; each text comes once.
    std::function<void(const std::string& text)> on_warning = {};
    /// Trouble that is not a request's own: files of the credentials that cannot be read now. Each text once
    /// until it is over.
    std::function<void(const std::string& text)> on_problem = {};
    /// Every answer, also of each retry after a 401. `verb` is the HTTP method, or WATCH; `resource` as
    /// resource_of(); `status` is 0 when there was no answer.
    std::function<void(std::string_view verb, const std::string& resource, int status)> on_answer = {};
    /// A request was refused for want of a permission.
    std::function<void(const api::Error& error)> on_forbidden = {};
    /// Every answer with a `Date` header.
    std::function<void(const DatedAnswer& answer)> on_dated_answer = {};
};

/// The API server over net::HttpClient: adds who we are, rereads tokens and certificates (after a 401 at
/// once, and then it asks once more if they have changed). Does not retry anything else: whoever sent the
/// request knows whether it may. Thread rule: used from the one thread that runs its executor; must outlive
/// its requests.
std::unique_ptr<ApiServer> make_https_api_server(std::unique_ptr<net::HttpClient> client,
                                                 Credentials credentials, Clock& clock,
                                                 HttpsApiServerOptions options = {});

/// Reads the credentials and makes the client as well. Fails when a file cannot be read or a PEM is broken.
api::Result<std::unique_ptr<ApiServer>> make_https_api_server(boost::asio::any_io_executor executor,
                                                              Clock& clock, ClusterConfig config,
                                                              HttpsApiServerOptions options = {});

}  // namespace kube
