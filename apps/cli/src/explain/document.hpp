#pragma once
#include "explain/report.hpp"

namespace cli {

/// Returns what explain() shows as a document for programs, with the fields of docs/kubectl-trainjob.md:
/// those of a row of `list`, and conditions, Pods, events and differences of the runtime besides.
api::Json explain_document(const RelatedObjects& seen, api::Time now);

}  // namespace cli
