#include "admission/review_case.hpp"
#include "api/names.hpp"
#include "api/train_job_reader.hpp"
#include "runtime/compare.hpp"

namespace runtime {

using api::Json;

bool patches_differ(const Json& left, const Json& right) {
    if (left.items().size() != right.items().size()) return true;
    for (const Json& patch : left.items()) {
        const Json* other = nullptr;
        for (const Json& candidate : right.items())
            if (candidate["manager"] == patch["manager"]) other = &candidate;
        if (!other || !is_equivalent(patch["trainingRuntimeSpec"], (*other)["trainingRuntimeSpec"]))
            return true;
    }
    return false;
}

bool ReviewCase::patches_changed() const {
    return patches_differ(job.spec["runtimePatches"], old_job->spec["runtimePatches"]);
}

bool is_harmless_update(const Json& object, const Json& old_object) {
    if (old_object.is_null()) return false;
    return object["metadata"]["deletionTimestamp"].is_string() ||
           is_equivalent_but_for("suspend", object["spec"], old_object["spec"]);
}

void name_rule(api::FieldErrors& errors, std::size_t begin, std::string_view rule) {
    for (std::size_t i = begin; i < errors.size(); ++i)
        if (errors[i].rule.empty()) errors[i].rule = rule;
}

Lookups lookups_for(const Json& object, const Json& old_object) {
    const Json& spec = object["spec"];
    const bool supported = is_supported(api::parse_runtime_ref(spec));
    if (is_harmless_update(object, old_object)) {
        const bool queued = !object["metadata"]["labels"][api::queue_label].empty() &&
                            old_object["metadata"]["labels"][api::queue_label].empty();
        return {.runtime_for_warnings = queued && supported};
    }
    const bool patched =
        !old_object.is_null() && patches_differ(spec["runtimePatches"], old_object["spec"]["runtimePatches"]);
    return {.runtime = supported, .job_set = patched};
}

}  // namespace runtime
