#include <algorithm>
#include <map>
#include <optional>

#include "api/train_job.hpp"
#include "rules/validation_context.hpp"
#include "runtime/compare.hpp"
#include "template/limits.hpp"
#include "template/shape.hpp"

namespace runtime {

using api::Json;

namespace {

using Contents = std::map<std::string_view, const Json*>;

// Returns the contents of patches by manager; nullopt if a manager has two patches, which the schema refuses.
std::optional<Contents> contents_by_manager(const Json& patches) {
    Contents contents;
    for (const Json& patch : patches.items())
        if (!contents.emplace(patch["manager"].as_string(), &patch["trainingRuntimeSpec"]).second)
            return std::nullopt;
    return contents;
}

}  // namespace

bool patches_differ(const Json& left, const Json& right) {
    const std::size_t size = left.items().size();
    if (size != right.items().size() || size > max_runtime_patches) return true;
    const auto before = contents_by_manager(right);
    const auto after = contents_by_manager(left);
    if (!before || !after) return true;
    return !std::equal(after->begin(), after->end(), before->begin(), before->end(),
                       [](const auto& a, const auto& b) {
                           return a.first == b.first && is_equivalent(*a.second, *b.second);
                       });
}

bool ValidationContext::patches_changed() const {
    return patches_differ(job.spec["runtimePatches"], old_job->spec["runtimePatches"]);
}

bool ValidationContext::nodes_changed() const {
    return job.spec["trainer"]["numNodes"] != old_job->spec["trainer"]["numNodes"];
}

bool is_harmless_update(bool is_being_deleted, const Json& spec, const Json& old_spec) {
    return is_being_deleted || is_equivalent_but_for({"suspend", "ttlSecondsAfterFinished"}, spec, old_spec);
}

void name_rule(api::FieldErrors& errors, std::size_t begin, api::RuleId rule) {
    for (std::size_t i = begin; i < errors.size(); ++i)
        if (errors[i].rule.empty()) errors[i].rule = rule;
}

RequiredInputs lookups_for(const Json& object, const Json& old_object) {
    const Json& spec = object["spec"];
    const Json& old_spec = old_object["spec"];
    // A TrainJob of another shape is denied whatever the cluster has, so nothing is looked up.
    if (!check_train_job_shape(spec)) return {};
    const bool is_being_deleted = object["metadata"]["deletionTimestamp"].is_string();
    if (!old_object.is_null() && is_harmless_update(is_being_deleted, spec, old_spec)) return {};
    if (!check_train_job_limits(spec, old_spec)) return {};
    return {.runtime = is_supported(api::parse_runtime_ref(spec)), .job_set = !old_object.is_null()};
}

}  // namespace runtime
