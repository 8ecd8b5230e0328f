#pragma once
#include <string>
#include <string_view>

#include "api/json.hpp"
#include "runtime/build.hpp"

namespace runtime {

/// Returns the object with an annotation that has the hash of what is applied: of the object without that
/// annotation, uid and resourceVersion.
api::Json with_applied_hash(api::Json object);

/// What the annotation of a JobSet says of the inputs of its build.
struct BuildNote {
    std::string source = {};   ///< source_of()
    std::string nodes = {};    ///< api::nodes_note() of its TrainJob
    std::string runtime = {};  ///< the digest of its runtime: see digested_text()
    std::string inputs = {};   ///< inputs_note()
};

/// Returns the same for a JobSet, with a longer annotation:
/// `<hash>.<template>.<source>.<nodes>.<runtime>.<inputs> <placement>`.
/// - `template`: the hash of the immutable part of an existing JobSet: its spec without `suspend`, and
/// without the labels, annotations, node selectors, tolerations and scheduling gates of its Pods.
/// - `source`, `nodes`, `runtime`, `inputs`: of the BuildNote.
/// - `placement`: the node selectors and tolerations of its Pods as JSON: `{"<replicated job>":
/// {"nodeSelector": {}, "tolerations": []}}`, without empty ones. Each of them is one field to server-side
/// apply, whose managedFields lose this controller's manager once another manager writes into it. Beyond
/// 4 KiB the entries are replaced by hashes: api::entry_hash().
api::Json with_applied_hash(api::Json job_set, const BuildNote& note);

/// Returns a hash of everything that the fixed_part() of a JobSet is built from: without the fields that may
/// change while it is suspended, as queues change them, and without `spec.suspend`. Another release may build
/// something different from the same source, which is no reason for a new JobSet.
std::string source_of(const Inputs& inputs);

/// Returns a note of all that a build takes from the TrainJob: `<fixed>-<open>`, two hashes. `fixed` is of
/// what source_of() takes from it; `open` is of the fields that may change while the JobSet is suspended. A
/// `+` follows if a resume is built anew although nothing has changed: the build makes other objects beside
/// the JobSet, which may be missing then, or it differs from one resume to the next.
std::string inputs_note(const api::TrainJob& job, bool builds_resumes);

/// Returns whether the JobSet with that note was built from what the TrainJob says now, but for the fields
/// that may change while it is suspended. False if there is no note: Kubeflow Trainer writes none.
bool has_same_fixed_inputs(std::string_view note, const api::TrainJob& job);

/// Returns the hash of the object in that annotation; empty if there is none.
std::string applied_hash(const api::Json& object);

/// Returns whether nothing needs to be written: `wanted`, which has its hash, was applied last, and `live`
/// still contains it.
bool is_applied(const api::Json& wanted, const api::Json& live);

/// Returns whether `wanted`, which has its hash, was applied last to this JobSet except for `spec.suspend`.
bool differs_in_suspend_only(const api::Json& wanted, const api::Json& live);

/// Returns whether nothing but `spec.suspend` was written since the JobSet `built`, which has its hash, was
/// applied, and `live` still contains `wanted`, which is `built` with what others have added. An apply would
/// write its hash, and nothing else.
bool is_applied_but_for_suspend(const api::Json& built, const api::Json& wanted, const api::Json& live);

/// Returns whether the immutable part of the JobSet `live` was applied as in `wanted`, or built from the same
/// source by another release. Then it stays, whatever defaults the cluster has added, and however this
/// release would build it.
bool keeps_template(const api::Json& wanted, const api::Json& live);

/// Returns whether the JobSet was built from other inputs than those of the note. False if it has no hash of
/// its source.
bool is_built_from_other(const api::Json& live, const BuildNote& note);

}  // namespace runtime
