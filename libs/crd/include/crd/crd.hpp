#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/field_error.hpp"
#include "api/json.hpp"

/// Validates and defaults objects by the schemas of CRDs as an API server does, without an API server.
namespace crd {

struct Node;

/// The compiled schema of one kind. Supports the parts of structural schemas that the CRDs of the Trainer
/// use: types, bounds, enums, patterns, formats, list maps and sets, defaults, and CEL rules. Thread rule:
/// const access from any thread.
///
/// Source: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/
class StructuralSchema {
public:
    /// `schema`: openAPIV3Schema. Throws std::invalid_argument for an unsupported keyword, since a skipped
    /// rule would make verdicts wrong.
    explicit StructuralSchema(const api::Json& schema);
    StructuralSchema(StructuralSchema&&) noexcept;
    ~StructuralSchema();

    /// Prunes unknown fields and nulls, and sets defaults. Keeps values of a wrong type. Returns the paths of
    /// unknown fields: kubectl rejects them, the API server only warns.
    std::vector<std::string> prune_and_default(api::Json& object) const;

    /// Validates an object in stored form; without an old object as a create. Skips unchanged parts of an
    /// update (ratcheting). Skips CEL rules if there are errors that could mislead them.
    std::vector<api::StatusCause> validate(const api::Json& object, const api::Json& old_object = {}) const;

private:
    std::unique_ptr<const Node> root_;
};

/// Returns the schema of TrainJob, TrainingRuntime or ClusterTrainingRuntime from manifests/base/crds;
/// nullptr for other kinds.
const StructuralSchema* find(std::string_view kind);

/// Returns whether the API server skips CEL rules because of this error: it could mislead them.
bool blocks_rules(const api::StatusCause& error);

/// Validates the metadata of a created object of any kind as an API server does: names, labels, annotations.
/// Ignores values of a wrong type.
std::vector<api::StatusCause> check_metadata(const api::Json& metadata);

}  // namespace crd
