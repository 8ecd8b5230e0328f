#pragma once
#include <string>
#include <vector>

#include "api/json.hpp"
#include "api/meta.hpp"
#include "lifecycle/event.hpp"

namespace lifecycle {

// What is withdrawn from the Pod templates of a suspended JobSet stays on the Jobs that JobSet has made from
// them: it only adds to those. So unfinished ones go, and JobSet makes them anew; what has finished, and
// volume claims, stay. Until that is so the JobSet stays suspended and carries a note of what was withdrawn,
// which survives a crash at any moment:
//
//   apply the change with with_withdrawn() -> delete Jobs by jobs_to_replace() until it is `settled`
//   -> apply the change itself
//
// A cluster may give all Jobs what was withdrawn. So for one note they are made anew a few times, counted on
// the JobSet; what has it even then has it from the cluster.

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

/// For one note, Jobs are made anew this often at most.
inline constexpr int max_replacements = 3;

/// The Jobs that have to go.
struct JobsToReplace {
    /// Suspended; with uid and resourceVersion as preconditions. In the foreground: JobSet makes a Job anew
    /// once the old one is gone, and that may be only when its Pods have ended.
    std::vector<api::ObjectMeta> remove = {};
    /// Where not empty, to be noted on the JobSet before that: with_replacements().
    std::string replacements = {};
    bool settled = false;        ///< none is left that has what was withdrawn, and JobSet has made them anew
    std::string waits_for = {};  ///< of what is not settled, and is not ours to remove now: what it waits for
    std::string kept = {};       ///< what a Job still has by the cluster's will: "label a of Job ns/job"
};

/// `job_set`: as it is now, suspended and with the note; `jobs`: all of its namespace that bear its name as
/// label.
JobsToReplace jobs_to_replace(const api::Json& job_set, const std::vector<api::Json>& jobs);

/// Tells of `kept`.
Event jobs_not_replaced(const std::string& kept);

/// A JobSet with a note of what was withdrawn, and of how often Jobs were made anew for it.
api::Json with_replacements(api::Json job_set, const std::string& replacements);

}  // namespace lifecycle
