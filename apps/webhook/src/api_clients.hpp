#pragma once
#include <memory>

#include "admission/token_authenticator.hpp"
#include "kube/manager/manager.hpp"
#include "settings.hpp"

namespace webhook {

/// The clients of the API server of one thread. Token reviews have a client of their own, so that callers
/// without permission delay no lookup.
struct ApiClients {
    std::unique_ptr<kube::ApiServer> lookups = {};
    std::unique_ptr<kube::ApiServer> token_reviews = {};  ///< null: every caller is accepted

    void close() const {
        lookups->close();
        if (token_reviews) token_reviews->close();
    }
};

/// Makes the clients of a thread with this executor and clock. Without authentication of callers the rate of
/// lookups is limited.
api::Result<ApiClients> make_api_clients(kube::Manager& manager, boost::asio::any_io_executor executor,
                                         kube::Clock& clock, const kube::ClusterConfig& config,
                                         const Settings& settings, const admission::AuthPolicy& callers);

}  // namespace webhook
