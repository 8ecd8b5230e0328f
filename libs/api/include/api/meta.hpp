#pragma once
#include <optional>
#include <string>
#include <vector>

#include "api/json.hpp"
#include "api/object_key.hpp"
#include "api/time.hpp"

namespace api {

/// The fields of metav1.ObjectMeta that decisions depend on.
struct ObjectMeta {
    std::string name = {};
    std::string ns = {};
    std::string uid = {};
    std::string resource_version = {};
    std::int64_t generation = 0;
    Time creation = {};
    std::optional<Time> deletion = {};  ///< time of the deletion request; set: being deleted
    std::string controller_uid = {};    ///< UID of the controller owner reference; empty without one
    std::vector<std::string> finalizers = {};

    ObjectKey key() const { return {ns, name}; }
};

/// Reads `object.metadata`. Absent members and those of another type keep their default.
ObjectMeta parse_meta(const Json& object);

/// Returns the owner reference for objects that belong to a TrainJob.
Json controller_reference(const ObjectMeta& train_job);

}  // namespace api
