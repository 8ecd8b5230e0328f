#pragma once
#include <optional>
#include <string>
#include <vector>

#include "api/json.hpp"
#include "merge/schema.hpp"
#include "runtime/validation.hpp"

namespace runtime {

/// The types of a TrainJob's parts: `spec` without the other two and `suspend`, `spec.trainer`, and
/// `trainingRuntimeSpec` of an entry of `spec.runtimePatches`.
const merge::Type& rest_of_spec_type();
api::Json rest_of_spec(const api::Json& spec);
const merge::Type& trainer_type();
const merge::Type& patch_type();

/// Returns whether `written` differs from `stored`, but in nothing that its writer can have meant. Both are
/// objects of that type. Every writer may drop and add empty values where Go's encoder does, and write
/// quantities in other words; a lossy one, whose types lack some fields of the API, may also drop those.
bool only_lost_in_writing(const api::Json& stored, const api::Json& written, const merge::Type& type,
                          bool lossy);

/// Returns the names of the fields that `written` lacks and that the types of clients may lack. Empty if
/// anything else differs.
std::vector<std::string> unknown_fields_lost(const api::Json& stored, const api::Json& written,
                                             const merge::Type& type);

/// Returns the operations that put back those entries of `spec.runtimePatches` that a client-side apply has
/// removed although no manifest ever had them: such an apply writes the whole list, as the manifest has it.
/// Entries that the manifest before had, and those that another writer removes, stay removed. Kueue's entry
/// comes back after any write, as long as the job has a queue: Kueue (0.18 to 0.19, trainjob_controller.go)
/// never removes its entry, and cannot start a job without it. Both lists have entries with a manager each,
/// which are unique.
std::vector<api::Json> restore_entries(const api::Json& object, const api::Json& old_object,
                                       const Writer& writer);

}  // namespace runtime
