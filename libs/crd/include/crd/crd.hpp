#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/json.hpp"

/// What an API server makes of an object by the schema of its CRD, without an API server.
namespace crd {

/// One thing that is wrong with an object, as the API server would put it.
struct Finding {
    std::string reason = {};   ///< of a Status cause: "FieldValueTooLong"
    std::string field = {};    ///< "spec.trainer.numNodes"; "<nil>" for the object itself
    std::string message = {};  ///< `Invalid value: 0: spec.trainer.numNodes in body should be …`
    /// The API server leaves the field out of the cause and says it in the message only.
    bool is_nameless = false;

    bool operator==(const Finding&) const = default;
};

struct Node;

/// The schema of one kind, compiled. Covers what our CRDs use of structural schemas: types, bounds, enums,
/// patterns, formats, list maps and sets, defaults, and rules in CEL. Thread rule: const access from several
/// threads is fine.
///
/// Source: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/
class Crd {
public:
    /// `schema`: openAPIV3Schema. Throws std::invalid_argument if there is something in it that is not
    /// covered: a verdict that leaves out a rule would be a wrong one.
    explicit Crd(const api::Json& schema);
    Crd(Crd&&) noexcept;
    ~Crd();

    /// Drops unknown fields and nulls, and fills in defaults. Values of a wrong type stay. The paths of what
    /// was unknown: kubectl refuses them, the API server only warns.
    std::vector<std::string> bring_to_stored_form(api::Json& object) const;

    /// For an object in stored form; without an old one it is created. What an update does not touch is not
    /// judged again (ratcheting). Rules in CEL are left out while there are errors that could mislead them.
    std::vector<Finding> validate(const api::Json& object, const api::Json& old_object = {}) const;

private:
    std::unique_ptr<const Node> root_;
};

/// Of TrainJob, TrainingRuntime, ClusterTrainingRuntime, as manifests/base/crds has them; nullptr for others.
const Crd* find(std::string_view kind);

/// Whether the API server asks no rules in CEL when there is such a finding: it could mislead them.
bool blocks_rules(const Finding& finding);

/// What an API server says of the metadata of any object that is created: names, labels, annotations. Values
/// of a wrong type are passed over.
std::vector<Finding> check_metadata(const api::Json& metadata);

}  // namespace crd
