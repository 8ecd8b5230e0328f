#include "api/meta.hpp"

#include "api/names.hpp"

namespace api {
namespace {

Time time_or_epoch(const Json& value) { return as_time(value.as_string()).value_or(Time()); }

}  // namespace

ObjectMeta parse_meta(const Json& object) {
    const Json& metadata = object["metadata"];
    ObjectMeta meta;
    meta.name = metadata["name"].as_string();
    meta.ns = metadata["namespace"].as_string();
    meta.uid = metadata["uid"].as_string();
    meta.resource_version = metadata["resourceVersion"].as_string();
    meta.generation = metadata["generation"].int_or(0);
    meta.creation = time_or_epoch(metadata["creationTimestamp"]);
    if (const Json& at = metadata["deletionTimestamp"]; at.is_string()) meta.deletion = time_or_epoch(at);
    for (const Json& owner : metadata["ownerReferences"].items())
        if (owner["controller"].bool_or(false)) meta.controller_uid = owner["uid"].as_string();
    for (const Json& finalizer : metadata["finalizers"].items())
        if (finalizer.is_string()) meta.finalizers.emplace_back(finalizer.as_string());
    return meta;
}

Json controller_reference(const ObjectMeta& train_job) {
    return Json::object({{"apiVersion", trainer_api_version},
                         {"kind", train_job_kind},
                         {"name", train_job.name},
                         {"uid", train_job.uid},
                         {"controller", true},
                         {"blockOwnerDeletion", true}});
}

}  // namespace api
