#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "api/json.hpp"
#include "api/object_key.hpp"
#include "api/resource.hpp"
#include "api/train_job.hpp"
#include "runtime/key_material.hpp"
#include "runtime/pipeline.hpp"

namespace runtime {

/// When an object that build() makes is written; by server-side apply unless said otherwise.
enum class ApplyPolicy {
    once,         ///< created (POST) as `with_job_set` while there is none, and never changed
    every_pass,   ///< whenever it differs, also beside a JobSet that runs; not what Pods of others mount
    with_job_set  ///< whenever the JobSet may be: while there is none, or it is suspended and has no pods
};

/// What all TrainJobs have in common need not be read for each of them.
struct Shared {
    std::chrono::seconds max_age = {};  ///< an answer as old as this will do
    std::string data_key = {};          ///< all that is wanted of `data`; nothing else needs to be kept

    bool operator==(const Shared&) const = default;
};

/// An object that build() must be shown if it exists. An empty name asks for all of the kind in the
/// namespace.
struct Need {
    api::Resource resource = {};
    api::ObjectKey key = {};
    /// An object that may not be read, or whose kind the cluster does not serve, counts as one that does not
    /// exist.
    bool optional = false;
    /// Set for objects that build() makes. One of this name that the TrainJob does not control stops
    /// everything before the first write: it is never adopted.
    std::optional<ApplyPolicy> ours = {};
    std::optional<Shared> shared = {};

    bool operator==(const Need&) const = default;
};

/// What must be observed before a TrainJob can be built. Beyond it, build() depends on nothing but its
/// inputs.
struct Needs {
    std::vector<Need> objects = {};
    bool ssh_key_pair = false;
    bool curve_key_pair = false;

    bool operator==(const Needs&) const = default;
};

/// To be asked again with what has been observed, until it asks for no other object: some needs follow from
/// others. Then the key pairs that it wants are wanted. `observed`: the objects that exist, with apiVersion
/// and kind.
Needs needs(const api::TrainJob& job, const api::Json& runtime, const std::vector<api::Json>& observed = {},
            const Pipeline& pipeline = default_pipeline());

/// Everything that the objects of a TrainJob depend on. Refers to the job and the runtime, which must outlive
/// it.
struct Inputs {
    const api::TrainJob& job;
    const api::Json& runtime;              ///< the whole object, live or from the snapshot
    std::vector<api::Json> observed = {};  ///< those of needs() that exist, with apiVersion and kind
    std::optional<SshKeyPair> ssh_key_pair = {};
    std::optional<CurveKeyPair> curve_key_pair = {};
};

/// The observed object that was asked for by name; nullptr if it does not exist.
const api::Json* find_observed(const std::vector<api::Json>& observed, const Need& need);

/// A Warning event of a build that succeeded.
struct BuildWarning {
    std::string reason = {};  ///< e.g. "RuntimeFieldIgnored"
    std::string note = {};

    bool operator==(const BuildWarning&) const = default;
};

/// One of the objects of a TrainJob.
struct BuiltObject {
    api::Json object = {};
    ApplyPolicy when = ApplyPolicy::with_job_set;
};

/// What a TrainJob becomes. The snapshot is not among it: see snapshot.hpp.
struct Built {
    std::vector<BuiltObject> objects = {};  ///< in order of application; the JobSet is the last
    std::vector<BuildWarning> warnings = {};
};

/// The objects of a TrainJob. Equal inputs give equal bytes. An error is `invalid`, and its field is a path
/// in the TrainJob ("spec.runtimePatches[0]") or, where the text says so, in the runtime
/// ("spec.mlPolicy.mpi") or another object.
api::Result<Built> build(const Inputs& inputs, const Pipeline& pipeline = default_pipeline());

}  // namespace runtime
