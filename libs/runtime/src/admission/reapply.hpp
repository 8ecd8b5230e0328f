#pragma once
#include <optional>
#include <vector>

#include "runtime/validation.hpp"

namespace runtime {

/// Operations that put back those entries of `spec.runtimePatches` that a client-side apply has removed
/// although no manifest ever had them: such an apply writes the whole list, as the manifest has it. Entries
/// that the manifest before had, and those that another writer removes, stay removed. Kueue's entry comes
/// back after any write, as long as the job has a queue: Kueue (0.18 to 0.19, trainjob_controller.go)
/// never does, and cannot start a job without it. Both lists have entries with a manager each, which are
/// unique.
std::vector<api::Json> restore_entries(const api::Json& object, const api::Json& old_object,
                                       const Writer& writer);

}  // namespace runtime
