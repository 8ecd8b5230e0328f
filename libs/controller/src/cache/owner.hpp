#pragma once
#include <algorithm>

#include "api/json.hpp"
#include "api/names.hpp"
#include "api/train_job.hpp"

namespace controller {

/// Returns the owner reference of the TrainJob that controls `object`; null if none does.
inline const api::Json& controlling_train_job(const api::Json& object) {
    static const api::Json none;
    const auto& owners = object["metadata"]["ownerReferences"].items();
    const auto at = std::find_if(owners.begin(), owners.end(), [](const api::Json& owner) {
        return owner["controller"].bool_or(false) && owner["kind"].as_string() == api::train_job_kind &&
               owner["apiVersion"].as_string().starts_with(api::trainer_group);
    });
    return at == owners.end() ? none : *at;
}

/// Returns whether the object belongs to an earlier TrainJob of this name: names are unique, so the one with
/// another UID does not exist any more.
inline bool is_leftover(const api::Json& object, const api::TrainJob& job) {
    const api::Json& owner = controlling_train_job(object);
    return owner["name"].as_string() == job.meta.name && owner["uid"].as_string() != job.meta.uid;
}

}  // namespace controller
