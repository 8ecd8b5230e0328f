#pragma once
#include <string>
#include <vector>

#include "api/json.hpp"
#include "api/object_key.hpp"
#include "api/train_job.hpp"

namespace runtime {

/// An object that build() must be shown if it exists. An empty name asks for all of the kind in the
/// namespace.
struct Need {
    std::string api_version = {};
    std::string kind = {};
    api::ObjectKey key = {};

    bool operator==(const Need&) const = default;
};

/// What must be observed before a TrainJob can be built. Beyond it, build() depends on nothing but its
/// inputs.
struct Needs {
    std::vector<Need> objects = {};
    std::size_t random_bytes = 0;  ///< how many unpredictable bytes it takes; they become secrets

    bool operator==(const Needs&) const = default;
};

Needs needs(const api::TrainJob& job, const api::Json& runtime);

/// Everything that the objects of a TrainJob depend on. Refers to the job and the runtime, which must outlive
/// it.
struct Inputs {
    const api::TrainJob& job;
    const api::Json& runtime;              ///< the whole object, live or from the snapshot
    std::vector<api::Json> observed = {};  ///< those of needs() that exist, with apiVersion and kind
    std::string random_bytes = {};         ///< as many as needs() asked for
};

/// Something that people should know about a build that succeeded: a Warning event.
struct Notice {
    std::string reason = {};  ///< e.g. "RuntimeFieldIgnored"
    std::string note = {};

    bool operator==(const Notice&) const = default;
};

/// What a TrainJob becomes. The snapshot is not among it: see snapshot.hpp.
struct Built {
    std::vector<api::Json> objects = {};  ///< in order of application; the JobSet is the last
    std::vector<Notice> notices = {};
};

/// The objects of a TrainJob. Equal inputs give equal bytes. An error is `invalid`, and its field is a path
/// in the TrainJob ("spec.runtimePatches[0]") or, where the text says so, in the runtime
/// ("spec.mlPolicy.mpi").
api::Result<Built> build(const Inputs& inputs);

}  // namespace runtime
