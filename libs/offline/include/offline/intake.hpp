#pragma once
#include <string>
#include <vector>

#include "api/train_job.hpp"
#include "kube/request.hpp"
#include "offline/document_server.hpp"
#include "offline/documents.hpp"

namespace offline {

/// A document of a kind that these programs know.
struct Known {
    const Document* document = nullptr;
    kube::Resource resource = {};
    bool is_ours = false;  ///< TrainJob, TrainingRuntime or ClusterTrainingRuntime
    std::string kind = {};
    api::ObjectKey key = {};  ///< with the namespace that it gets
    api::Json object = {};    ///< as the API server would store it, had it nothing against it
    std::vector<std::string> unknown_fields = {};  ///< that are not stored

    /// "TrainJob default/job"
    std::string name() const { return kind + " " + to_string(key); }
};

/// What an API server has against storing an object; like a cause of its Status.
struct Fault {
    std::string reason = {};
    std::string field = {};  ///< "<nil>" for the object itself
    std::string message = {};
    std::string place = {};  ///< the field to look at, also where `field` names none

    bool operator==(const Fault&) const = default;
};

struct Input {
    std::vector<Known> known = {};
    std::vector<const Document*> others = {};  ///< of kinds that do not matter here

    const Known* find(const kube::Resource& resource, const api::ObjectKey& key) const;
};

/// Of objects that have none: nobody knows yet which they get.
inline constexpr std::string_view placeholder_uid = "00000000-0000-0000-0000-000000000000";

/// `documents` must outlive it. Fails if an object is given twice.
api::Result<Input> take_in(const std::vector<Document>& documents, const std::string& ns);

/// Brings one of our kinds into the form that is stored. Returns the paths of fields that are dropped, as
/// nobody knows them.
std::vector<std::string> bring_to_stored_form(api::Json& object);

/// What the schema says of an object in that form; without an old one it is created.
std::vector<Fault> schema_faults(const api::Json& object, const api::Json& old_object = {});

/// What a TrainJob of that namespace may have meant by a runtime that is not there: one of its name of the
/// other kind, or in another namespace. "" if there is none.
std::string nearest_runtime(const api::RuntimeRef& wanted, const std::string& ns,
                            const std::vector<Known>& known);

/// As an API server words it in the message of a Status: `TrainJob.… "job" is invalid: …`
std::string refusal(const api::Json& object, const std::vector<Fault>& faults);

}  // namespace offline
