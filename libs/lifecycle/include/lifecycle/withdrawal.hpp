#pragma once
#include <string>
#include <vector>

#include "api/json.hpp"
#include "api/meta.hpp"

namespace lifecycle {

// What is withdrawn from the Pod templates of a suspended JobSet stays on the Jobs that JobSet has made from
// them: it only adds to those. So unfinished ones go, and JobSet makes them anew; what has finished, and
// volume claims, stay. Until that is so the JobSet stays suspended and carries a note of what was withdrawn,
// which survives a crash at any moment:
//
//   apply the change with with_withdrawn() -> delete Jobs by jobs_to_replace() until it is `settled`
//   -> apply the change itself

/// Paths of labels, annotations, nodeSelector keys, tolerations and scheduling gates of pod templates that we
/// once applied to `live` and that `wanted` lacks (both: a JobSet). What others added to `live` is theirs, as
/// its managedFields tell and our note of what we applied; where those say nothing of us, everything counts
/// as ours.
std::vector<std::string> withdrawn_fields(const api::Json& live, const api::Json& wanted);

/// `wanted` with the nodeSelector keys and tolerations that others have put next to ours in `live`: an apply
/// writes each of these fields as a whole.
api::Json with_entries_of_others(api::Json wanted, const api::Json& live);

/// `wanted`, suspended, with the note of what `live` says was withdrawn and is now, but for what is wanted
/// again. As it is, without a note, if that is nothing. `withdraws`: withdrawn_fields() counts.
api::Json with_withdrawn(api::Json wanted, const api::Json& live, bool withdraws);

/// Whether a JobSet carries that note.
bool has_withdrawn(const api::Json& job_set);

/// The Jobs that have to go.
struct JobsToReplace {
    std::vector<api::ObjectMeta> remove = {};  ///< suspended; with uid and resourceVersion as preconditions
    bool settled = false;  ///< none is left that has what was withdrawn, and JobSet has made them anew
};

/// `job_set`: as it is now, suspended and with the note; `jobs`: all of its namespace that bear its name as
/// label.
JobsToReplace jobs_to_replace(const api::Json& job_set, const std::vector<api::Json>& jobs);

}  // namespace lifecycle
