#pragma once
#include "explain/report.hpp"

namespace cli {

/// Returns the content of explain() as a document for programs, with the fields of docs/kubectl-trainjob.md:
/// those of a row of `list`, plus conditions, Pods, events and differences of the runtime.
api::Json explain_document(const RelatedObjects& seen, api::Time now);

}  // namespace cli
