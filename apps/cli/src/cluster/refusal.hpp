#pragma once
#include "api/error.hpp"
#include "api/object_key.hpp"
#include "kube/client/api_server.hpp"

namespace cli {

/// Returns the error with a remedy: the missing role, a new login, the certificate, the installation of the
/// CRDs, another name for the TrainJob `key`. One line. An error without a known remedy stays unchanged.
api::Error advised(api::Error error, const api::ObjectKey& key = {});

/// The same for a request for TrainJobs. If the cluster has none of this version, it asks for the versions
/// that the cluster has: the remedy for an older or newer server.
kube::Task<api::Error> advised_by(kube::ApiServer& server, api::Error error, api::ObjectKey key);

}  // namespace cli
