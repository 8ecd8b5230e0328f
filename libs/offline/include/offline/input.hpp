#pragma once
#include <span>
#include <string>
#include <vector>

#include "api/field_error.hpp"
#include "api/train_job.hpp"
#include "kube/client/request.hpp"
#include "offline/document_server.hpp"
#include "offline/documents.hpp"

namespace offline {

/// A document of a supported kind.
struct InputObject {
    const Document* document = nullptr;
    kube::Resource resource = {};
    bool is_of_trainer = false;  ///< TrainJob, TrainingRuntime or ClusterTrainingRuntime
    std::string kind = {};
    api::ObjectKey key = {};                       ///< with the namespace that the object gets
    api::Json object = {};                         ///< as the API server would store it if it were valid
    std::vector<std::string> unknown_fields = {};  ///< pruned from `object`

    /// "TrainJob default/job"
    std::string name() const { return kind + " " + to_string(key); }
};

struct Input {
    std::vector<InputObject> known = {};
    std::vector<const Document*> others = {};  ///< of unsupported kinds

    const InputObject* find(const kube::Resource& resource, const api::ObjectKey& key) const;
};

/// The uid of objects without one: the cluster has not assigned it yet.
inline constexpr std::string_view placeholder_uid = "00000000-0000-0000-0000-000000000000";

/// Sorts the documents by kind and completes their objects. `kinds` are known besides those of
/// api::find_resource(). `documents` must outlive the result. Fails if an
/// object is given twice or a Trainer kind does not exist.
api::Result<Input> load_input(const std::vector<Document>& documents, const std::string& ns,
                              std::span<const kube::Resource> kinds = {});

/// Brings an object of a Trainer kind into its stored form. Returns the paths of unknown fields, which are
/// pruned.
std::vector<std::string> prune_and_default(api::Json& object);

/// Validates an object in stored form by its schema; without an old object as a create. Returns the errors
/// for which an API server would reject it.
std::vector<api::StatusCause> validate_schema(const api::Json& object, const api::Json& old_object = {});

/// Suggests a runtime in place of a missing one: one with the same name of the other kind, or in another
/// namespace, or the one with the nearest name. "" if there is none.
std::string suggest_runtime(const api::RuntimeRef& wanted, const std::string& ns,
                            const std::vector<InputObject>& known);

/// Returns the message of an API server's Status: `TrainJob.… "job" is invalid: …`
std::string status_message(const api::Json& object, const std::vector<api::StatusCause>& causes);

}  // namespace offline
