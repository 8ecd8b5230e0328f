#pragma once
#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/job_set.hpp"
#include "api/json.hpp"
#include "api/object_key.hpp"
#include "api/resource.hpp"
#include "api/train_job.hpp"
#include "runtime/pipeline.hpp"

namespace runtime {

/// A key pair that build() puts into a Secret. The caller generates it (net/key_pairs.hpp). Never log it.
struct SshKeyPair {
    std::string private_pem = {};  ///< SEC1, as `ssh-keygen -m PEM` writes it
    std::string public_line = {};  ///< "ecdsa-sha2-nistp521 <base64>\n"
};

/// A CurveZMQ key pair of raw keys, 32 bytes each. The caller generates it, as it does an SshKeyPair. Never
/// log it.
struct CurveKeyPair {
    std::string public_key = {};
    std::string secret_key = {};
};

/// When an object that build() makes is written; by server-side apply unless stated otherwise.
enum class ApplyPolicy {
    once,          ///< created (POST) as `with_job_set` if there is none, and never changed
    always,        ///< whenever it differs, also beside a running JobSet; not for what Pods of others mount
    with_job_set,  ///< whenever the JobSet may be written: while there is none, or it is suspended and has no
                   ///< Pods
    for_run,    ///< while Pods may run: created before the JobSet is created or resumed, and anew if what is
                ///< there has a status of an earlier run; created again if it is gone; deleted while none
                ///< may: the TrainJob is suspended, waits between attempts or has ended, or Kueue holds its
                ///< JobSet
    during_run  ///< as `for_run`, but written as `always`: a later run may have what an earlier one had
};

/// Marks an object that all TrainJobs share, so that it is not read for each of them.
struct Shared {
    std::chrono::seconds max_age = {};  ///< an answer of this age is recent enough
    std::string data_key = {};  ///< the only member of `data` that is needed; the rest need not be stored

    bool operator==(const Shared&) const = default;
};

/// An object that build() needs if it exists. An empty name: all objects of the kind in the namespace.
struct Need {
    api::Resource resource = {};
    api::ObjectKey key = {};
    /// If the object may not be read, or the cluster does not serve its kind, it counts as absent.
    bool optional = false;
    /// Set for objects that build() makes. If an object of this name is not controlled by the TrainJob,
    /// nothing is written: it is never adopted.
    std::optional<ApplyPolicy> apply = {};
    /// Set for objects that all TrainJobs share.
    std::optional<Shared> shared_read = {};

    bool operator==(const Need&) const = default;
};

/// The objects that must be read before a TrainJob can be built. build() depends on nothing else but its
/// inputs.
struct Needs {
    std::vector<Need> objects = {};
    bool ssh_key_pair = false;
    bool curve_key_pair = false;

    bool operator==(const Needs&) const = default;
};

/// Returns the needs. Call it again with the observed objects until it returns no further object, since some
/// needs follow from others. Then its key pairs are final. `observed`: the objects that exist, with
/// apiVersion and kind.
Needs needs(const api::TrainJob& job, const api::Json& runtime, const std::vector<api::Json>& observed = {},
            const Pipeline& pipeline = default_pipeline());

/// The inputs of build(). Refers to the job and the runtime, which must outlive it.
struct Inputs {
    const api::TrainJob& job;
    const api::Json& runtime;              ///< the whole object, live or from the snapshot
    std::vector<api::Json> observed = {};  ///< the objects of needs() that exist, with apiVersion and kind
    std::optional<SshKeyPair> ssh_key_pair = {};
    std::optional<CurveKeyPair> curve_key_pair = {};
    api::Restarts restarts_before = {};            ///< of the TrainJob's JobSets before the one that is built
    std::vector<std::string> excluded_nodes = {};  ///< under a failure policy, nodes that its Pods avoid
    std::vector<std::string> finished_jobs = {};   ///< of finished_initializers(): they are not built
    api::DonePods done = {};                       ///< of the JobSet that goes on
};

/// Returns the observed object that was needed by name; nullptr if it does not exist.
const api::Json* find_observed(const std::vector<api::Json>& observed, const Need& need);

/// A Warning event of a successful build.
struct BuildWarning {
    std::string reason = {};  ///< e.g. "RuntimeFieldIgnored"
    std::string note = {};

    bool operator==(const BuildWarning&) const = default;
};

/// What a cluster needs for an object, or for a member of its spec, which is dropped where that is missing.
struct Requirement {
    std::string_view member = {};  ///< of `spec`; empty: the object itself
    std::string_view needs = {};   ///< "the feature gate ..."
};

/// One of the objects of a TrainJob.
struct BuiltObject {
    api::Json object = {};
    ApplyPolicy when = ApplyPolicy::with_job_set;
    std::span<const Requirement> requirements = {};  ///< empty: every supported cluster has it
};

/// The maximum number of values (as counted by api::count_values()) of a runtime. It is processed as a tree,
/// which takes forty times its bytes at worst. A usual runtime has some hundreds.
inline constexpr std::size_t max_runtime_values = 200'000;

/// Returns the rule for error messages about such a runtime, and about a TrainJob that refers to it: "holds
/// ...".
inline std::string too_large_text(std::size_t values, std::size_t most = max_runtime_values) {
    return "holds " + std::to_string(values) + " values, and a runtime may hold " + std::to_string(most) +
           ": split it, or leave out what no job needs";
}

/// The objects of a TrainJob, without the snapshot: see snapshot.hpp.
struct Built {
    std::vector<BuiltObject> objects = {};  ///< in order of application; the JobSet is the last
    std::vector<BuildWarning> warnings = {};
};

/// Builds the objects of a TrainJob. Equal inputs give equal bytes. An error is `invalid`. Its field is a
/// path in the TrainJob ("spec.runtimePatches[0]") or, as its text states, in the runtime
/// ("spec.mlPolicy.relay") or another object.
api::Result<Built> build(const Inputs& inputs, const Pipeline& pipeline = default_pipeline());

/// Returns whether Pods of a built JobSet wait for an object that was built beside it, and do not start while
/// that is not there.
bool pods_wait_for_others(const api::Json& job_set, const Pipeline& pipeline = default_pipeline());

}  // namespace runtime
