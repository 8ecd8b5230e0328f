#pragma once
#include <string>
#include <string_view>

#include "api/json.hpp"

namespace runtime {

/// The object with the annotation that remembers what was applied: a hash of the object itself, without that
/// annotation, uid and resourceVersion.
api::Json with_applied_hash(api::Json object);

/// The same for a JobSet, with more of it: `<hash>.<template>.<source> <placement>`.
/// - The hash of what must not change of a JobSet that exists: its spec without `suspend`, and without the
///   labels, annotations, node selectors, tolerations and scheduling gates of its Pods.
/// - `source`: source_of() what it is built from.
/// - The node selectors and tolerations of its Pods as JSON: `{"<replicated job>": {"nodeSelector": {},
///   "tolerations": []}}`, those that are not empty. Each of them is one field to server-side apply, whose
///   managedFields forget us once another manager writes into it. Beyond 4 KiB the entries are hashes of
///   theirs: api::entry_hash().
api::Json with_applied_hash(api::Json job_set, std::string_view source);

/// The hash of the object in that annotation; empty when there is none.
std::string applied_hash(const api::Json& object);

/// Nothing to write: `wanted`, which carries its hash, is what was applied last, and `live` still contains
/// it.
bool is_applied(const api::Json& wanted, const api::Json& live);

/// `wanted`, which carries its hash, is what was applied last to this JobSet but for `spec.suspend`.
bool differs_in_suspend_only(const api::Json& wanted, const api::Json& live);

/// Whether what must not change of the JobSet `live` was applied as it is in `wanted`, or built from the same
/// by another release: whatever the cluster has made of it, and however we would write it now, it is ours and
/// stays.
bool keeps_template(const api::Json& wanted, const api::Json& live);

/// Whether the JobSet was built from something else than `source`. False if it does not say what it was built
/// from.
bool is_built_from_other(const api::Json& live, std::string_view source);

}  // namespace runtime
