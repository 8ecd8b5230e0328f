#pragma once
#include <algorithm>

#include "api/json.hpp"
#include "api/names.hpp"

namespace reconciler {

/// The owner reference of the TrainJob that controls `object`; null if none does.
inline const api::Json& controlling_train_job(const api::Json& object) {
    static const api::Json none;
    const auto& owners = object["metadata"]["ownerReferences"].items();
    const auto at = std::find_if(owners.begin(), owners.end(), [](const api::Json& owner) {
        return owner["controller"].bool_or(false) && owner["kind"].as_string() == api::train_job_kind &&
               owner["apiVersion"].as_string().starts_with(api::trainer_group);
    });
    return at == owners.end() ? none : *at;
}

}  // namespace reconciler
