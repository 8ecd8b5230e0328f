// The rules about changes of an existing TrainJob. While it is suspended, its number of nodes may change, and
// its patches may change where its Pods run. What runs may only be corrected, and only before the TrainJob
// has a JobSet.
#include <algorithm>
#include <optional>

#include "apply/source.hpp"
#include "rules/validation_context.hpp"
#include "runtime/applied_hash.hpp"
#include "runtime/compare.hpp"

namespace runtime {
namespace {

using api::FieldErrors;
using api::FieldErrorType;
using api::Json;

constexpr const char* stays =
    "cannot be changed after the TrainJob was created, except while Created is False and it never had a "
    "JobSet";
constexpr const char* only_placement =
    "cannot be changed after the TrainJob was created but for labels, annotations, nodeSelector, affinity, "
    "tolerations, schedulingGates and resourceClaims";

// The fields of a Pod in a patch that say what runs. All other fields say where Pods run, and how they are
// found.
constexpr std::string_view fixed_pod_fields[] = {"serviceAccountName",
                                                 "volumes",
                                                 "initContainers",
                                                 "containers",
                                                 "imagePullSecrets",
                                                 "securityContext",
                                                 "terminationGracePeriodSeconds"};

bool names_containers(std::string_view field) { return field == "containers" || field == "initContainers"; }

// Sorts lists of named items by name. To the schema such lists are maps, so another order is no change.
Json with_sorted_items(Json tree) {
    if (tree.is_object())
        for (auto& member : tree.members()) member.value = with_sorted_items(std::move(member.value));
    if (!tree.is_array()) return tree;
    auto& items = tree.items();
    for (Json& item : items) item = with_sorted_items(std::move(item));
    const bool named =
        std::all_of(items.begin(), items.end(), [](const Json& item) { return item["name"].is_string(); });
    if (named)
        std::stable_sort(items.begin(), items.end(), [](const Json& a, const Json& b) {
            return a["name"].as_string() < b["name"].as_string();
        });
    return tree;
}

bool is_same(const Json& left, const Json& right) {
    return left == right || is_equivalent(with_sorted_items(left), with_sorted_items(right));
}

// what_runs_stays() leaves this field to the rule resize_while_active.
constexpr std::string_view num_nodes = "numNodes";

bool is_null_or_empty_list(const Json& value) {
    return value.is_null() || (value.is_array() && value.empty());
}

// Returns the containers of a patch without their resources, which may change. Leaves out those of which
// nothing but the name remains.
Json fixed_containers(const Json& containers) {
    Json fixed = Json::array();
    for (const Json& container : containers.items()) {
        Json kept = container;
        kept.members().erase_if(
            [](const auto& m) { return m.key == "resources" || is_null_or_empty_list(m.value); });
        if (kept.members().size() > 1) fixed.push_back(std::move(kept));
    }
    return fixed;
}

Json fixed_part_of_pod(const Json& pod_spec) {
    Json fixed = Json::object();
    for (const std::string_view field : fixed_pod_fields) {
        const Json* value = pod_spec.find(field);
        if (!value) continue;
        Json kept = names_containers(field) ? fixed_containers(*value) : *value;
        if (!is_null_or_empty_list(kept)) fixed[field] = std::move(kept);
    }
    return fixed;
}

// Returns what each patch says about what runs, by its manager and by job. Leaves out patches and jobs
// without anything of that kind.
std::vector<Json> fixed_parts(const Json& patches) {
    std::vector<Json> fixed;
    for (const Json& patch : patches.items()) {
        Json jobs = Json::array();
        for (const Json& job : patch["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"].items())
            if (Json pod = fixed_part_of_pod(job["template"]["spec"]["template"]["spec"]); !pod.empty())
                jobs.push_back(Json::object({{"name", job["name"]}, {"pod", std::move(pod)}}));
        if (!jobs.empty())
            fixed.push_back(Json::object({{"manager", patch["manager"]}, {"jobs", std::move(jobs)}}));
    }
    return fixed;
}

// Returns the path of a manager's patch; the path of the list if the manager has no patch.
std::string place_of(const Json& manager, const Json& patches) {
    const auto& items = patches.items();
    const auto at = std::find_if(items.begin(), items.end(),
                                 [&](const Json& patch) { return patch["manager"] == manager; });
    return at == items.end() ? "spec.runtimePatches"
                             : "spec.runtimePatches[" + std::to_string(at - items.begin()) + "]";
}

struct Difference {
    std::string field = {};
    Json manager = {};
};

// Returns the first patch of which `parts` says something else. The place is the list if the newer list lacks
// that patch. The order of patches matters, since later ones win.
std::optional<Difference> first_difference(const Json& now, const Json& before, auto parts) {
    const std::vector<Json> newer = parts(now), older = parts(before);
    for (std::size_t i = 0; i < std::max(newer.size(), older.size()); ++i) {
        if (i < newer.size() && i < older.size() && is_same(newer[i], older[i])) continue;
        const Json& manager = (i < newer.size() ? newer : older)[i]["manager"];
        return Difference{place_of(manager, now), manager};
    }
    return std::nullopt;
}

// Adds the error of a change of what runs. If the change would be a correction, and only its gate is off, the
// error names the gate instead of the rule.
void refuse_edit(const ValidationContext& review, std::string field, const Json& value, const char* rule,
                 FieldErrors& errors) {
    if (review.may_be_corrected())
        errors.push_back({FieldErrorType::forbidden,
                          std::move(field),
                          {},
                          needs_text(Gate::edits),
                          {},
                          Rule::gated_field});
    else
        errors.push_back({FieldErrorType::invalid, std::move(field), value, rule, {}});
}

void what_runs_stays(const ValidationContext& review, FieldErrors& errors) {
    const Json& now = review.job.spec;
    const Json& before = review.old_job->spec;
    if (!is_same(now["initializer"], before["initializer"]))
        refuse_edit(review, "spec.initializer", now["initializer"], stays, errors);
    const auto compare = [&](const std::string& name) {
        if (name != num_nodes && !is_same(now["trainer"][name], before["trainer"][name]))
            refuse_edit(review, "spec.trainer." + name, now["trainer"][name], stays, errors);
    };
    for (const auto& [name, value] : now["trainer"].members()) compare(name);
    for (const auto& [name, value] : before["trainer"].members())
        if (!now["trainer"].contains(name)) compare(name);
    if (auto found = first_difference(now["runtimePatches"], before["runtimePatches"], fixed_parts))
        refuse_edit(review, std::move(found->field), found->manager, only_placement, errors);
}

void nodes_change_at_rest(const ValidationContext& review, FieldErrors& errors) {
    if (!review.nodes_changed()) return;
    const auto forbid = [&errors](std::string why, api::RuleId rule = {}) {
        errors.push_back({FieldErrorType::forbidden, "spec.trainer.numNodes", {}, std::move(why), {}, rule});
    };
    if (!review.gates.has(Gate::edits)) return forbid(needs_text(Gate::edits), Rule::gated_field);
    if (review.job.spec["trainer"][num_nodes] == Json(0))
        return forbid("cannot become 0: a TrainJob without nodes is complete as soon as it runs");
    if (!review.job.suspend && !review.old_job->suspend)
        return forbid("can only be changed while the TrainJob is suspended");
    const bool has_job_set = review.job_set && review.job_set->belongs_to(review.job);
    const auto& jobs = has_job_set ? review.job_set->replicated_jobs : review.old_job->jobs_status;
    for (const api::JobStatus& job : jobs)
        if (job.active > 0)
            return forbid("cannot be changed while job \"" + job.name + "\" still has active Pods");
    // The JobSet has no active Pods yet, but it may create them until the controller has suspended it.
    if (has_job_set && !review.job_set->suspend)
        return forbid("cannot be changed before the JobSet is suspended, too");
    // The JobSet stays if numNodes is again the number that it was built for.
    const bool fits = has_job_set && review.job_set->built_for_nodes == api::num_nodes(review.job);
    if (has_job_set && !fits && !review.loss_by_new_job_set.empty())
        forbid("cannot be changed: it needs a new JobSet, and that would " +
               std::string(review.loss_by_new_job_set));
}

// JobSet takes a change of the affinity, of claims or of resources in a new JobSet only.
void patches_lose_nothing(const ValidationContext& review, FieldErrors& errors) {
    if (review.loss_by_new_job_set.empty()) return;
    if (!review.job_set || !review.job_set->belongs_to(review.job)) return;
    // The JobSet stays if the patches are again what it was built from.
    if (has_same_fixed_inputs(review.job_set->built_from, review.job)) return;
    const auto parts = [](const Json& patches) { return fixed_patches(patches).items(); };
    const auto found =
        first_difference(review.job.spec["runtimePatches"], review.old_job->spec["runtimePatches"], parts);
    if (found)
        errors.push_back({FieldErrorType::forbidden,
                          found->field,
                          {},
                          "cannot be changed but for labels, annotations, nodeSelector, tolerations and "
                          "schedulingGates: it needs a new JobSet, and that would " +
                              std::string(review.loss_by_new_job_set) + "; create another TrainJob",
                          {}});
}

constexpr Check checks[] = {
    {Rule::immutable_after_creation, what_runs_stays, RuleInput::job, AppliesTo::changes},
    {Rule::resize_while_active, nodes_change_at_rest, RuleInput::job, AppliesTo::changes},
    {Rule::patch_loses_work, patches_lose_nothing, RuleInput::job, AppliesTo::changes},
};

}  // namespace

constinit const std::span<const Check> edit_checks = checks;

bool ValidationContext::may_be_corrected() const {
    return old_job && api::may_be_corrected(*old_job) && !(job_set && job_set->belongs_to(job));
}

bool ValidationContext::fixed_patches_changed() const {
    return first_difference(job.spec["runtimePatches"], old_job->spec["runtimePatches"], fixed_parts)
        .has_value();
}

}  // namespace runtime
