#pragma once
#include <optional>
#include <string>
#include <vector>

#include "api/json.hpp"
#include "api/object_key.hpp"
#include "api/time.hpp"

namespace api {

/// The parts of metav1.ObjectMeta that decisions depend on.
struct ObjectMeta {
    std::string name = {};
    std::string ns = {};
    std::string uid = {};
    std::string resource_version = {};
    std::int64_t generation = 0;
    Time creation = {};
    std::optional<Time> deletion = {};  ///< when deletion was asked for; set means: being deleted
    std::string controller_uid = {};    ///< UID of the controller owner reference; empty without one
    std::vector<std::string> finalizers = {};

    ObjectKey key() const { return {ns, name}; }
};

/// Reads `object.metadata` leniently: what is absent or of another type stays at its default.
ObjectMeta parse_meta(const Json& object);

/// The owner reference of everything that belongs to a TrainJob.
Json controller_reference(const ObjectMeta& train_job);

}  // namespace api
