#pragma once
#include <string>
#include <vector>

#include "api/json.hpp"
#include "api/meta.hpp"
#include "lifecycle/event.hpp"

namespace lifecycle {

// JobSet only adds to the Jobs that it has made. So an entry that is withdrawn from the Pod templates of a
// suspended JobSet stays on its Jobs. Unfinished Jobs are therefore deleted, and JobSet makes them anew;
// finished Jobs and volume claims stay. Until then the JobSet stays suspended and carries a note of the
// withdrawn entries, which survives a crash at any moment:
//
//   apply the change with with_withdrawn() -> delete Jobs by jobs_to_replace() until it is `settled`
//   -> apply the change itself
//
// A webhook of the cluster may add the withdrawn entries to all Jobs. So for one note Jobs are made anew
// max_replacements times at most, counted on the JobSet; entries that a Job has even then stay.

/// Returns the paths of labels, annotations, nodeSelector keys, tolerations and scheduling gates of pod
/// templates that this controller has applied to the JobSet `live` and that the JobSet `wanted` lacks.
/// Entries that others have added to `live` do not count: its managedFields and the note of the applied
/// entries show them. If neither knows this controller, all entries count.
std::vector<std::string> withdrawn_fields(const api::Json& live, const api::Json& wanted);

/// Returns `wanted` with the nodeSelector keys and tolerations that others have added in `live`: an apply
/// replaces each of these fields as a whole.
api::Json with_entries_of_others(api::Json wanted, const api::Json& live);

/// Returns `wanted`, suspended and with the note of withdrawn entries: those that are noted on `live`, and
/// withdrawn_fields() if `withdraws`, but not those that are wanted again. Returns `wanted` unchanged if none
/// remains.
api::Json with_withdrawn(api::Json wanted, const api::Json& live, bool withdraws);

/// Returns whether a JobSet carries that note.
bool has_withdrawn(const api::Json& job_set);

/// The most times that Jobs are made anew for one note.
inline constexpr int max_replacements = 3;

/// The Jobs to delete, and what is left to do.
struct JobsToReplace {
    /// Suspended Jobs, to be deleted with uid and resourceVersion as preconditions, in the foreground: JobSet
    /// makes a Job anew once the old one is gone, which must not be before its Pods have ended.
    std::vector<api::ObjectMeta> remove = {};
    /// If not empty, to be stored on the JobSet before the deletions: the value for with_replacements().
    std::string replacements = {};
    bool settled = false;  ///< JobSet has made all Jobs anew, and none has a withdrawn entry, except `kept`
    std::string waits_for = {};  ///< what has to happen besides these deletions; "" if nothing
    std::string kept = {};       ///< an entry that the cluster adds to a Job again: "label a of Job ns/job"
};

/// Returns which Jobs to delete. `job_set`: the live JobSet, suspended and with the note; `jobs`: all Jobs of
/// its namespace with its name as label.
JobsToReplace jobs_to_replace(const api::Json& job_set, const std::vector<api::Json>& jobs);

/// Returns the event about `kept`.
Event jobs_not_replaced(const std::string& kept);

/// Returns a JobSet with a note of withdrawn entries, and with a note of how often Jobs were made anew for
/// it.
api::Json with_replacements(api::Json job_set, const std::string& replacements);

}  // namespace lifecycle
