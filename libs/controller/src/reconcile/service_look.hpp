#pragma once
#include "controller/reconcile/observe.hpp"
#include "controller/reconcile/written_versions.hpp"

namespace controller {

/// Looks at the Service with the name of the JobSet's headless Service. JobSet does not notice that one of
/// another owner is gone, so a JobSet that has Jobs without a Service gets an annotation, at which JobSet
/// looks again and makes its own. References must live until the coroutine ends.
kube::Task<lifecycle::ServiceLook> look_at_service(kube::ApiServer& server, const View& view, api::Time now,
                                                   WrittenVersions& written);

}  // namespace controller
