#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api/train_job.hpp"
#include "runtime/active_plugins.hpp"
#include "runtime/rule.hpp"
#include "runtime/validation.hpp"
#include "template/template.hpp"

/// One TrainJob under review, as its rules see it; and the rules. A rule adds what it finds and decides
/// nothing else.
namespace runtime {

struct ValidationContext {
    const api::TrainJob& job;
    const api::TrainJob* old_job;  ///< nullptr on CREATE
    const api::Json& runtime;      ///< null: unknown
    const api::Json& merged_spec;  ///< the template's with patches; null: unknown
    const ActivePlugins& plugins;  ///< that are on for the runtime
    const api::JobSet* job_set = nullptr;
    Gates gates = Gates();
    std::string_view loss_by_new_job_set = {};
    api::Time now = {};
    bool is_denied = false;  ///< known to warnings: errors were found

    bool is_create() const { return old_job == nullptr; }
    /// Returns whether this is an UPDATE of a TrainJob that never had a JobSet, since an error prevented
    /// that.
    bool may_be_corrected() const;
    bool patches_changed() const;
    bool nodes_changed() const;
    /// Returns whether the patches of an UPDATE say something else about what runs.
    bool fixed_patches_changed() const;
};

/// Returns whether two lists of runtime patches differ in more than order and time stamps.
bool patches_differ(const api::Json& left, const api::Json& right);

/// Returns whether an UPDATE must pass whatever has become of the runtime: the object is being deleted, or
/// nothing but `suspend` and the time to live change in its spec.
bool is_harmless_update(bool is_being_deleted, const api::Json& spec, const api::Json& old_spec);

/// Sets the rule of each error from position `begin` on that has none yet.
void name_rule(api::FieldErrors& errors, std::size_t begin, api::RuleId rule);

/// The input that a check reads besides the TrainJob itself.
enum class RuleInput { job, runtime, merged_template };

/// The reviews that a rule applies to. As new ones count creations, and updates of TrainJobs that may be
/// corrected in any way.
enum class AppliesTo {
    any,
    every_update,  ///< any, and updates that must pass: see is_harmless_update()
    creations,
    new_ones,
    new_ones_or_new_patches,  ///< also changes of the patches
    new_ones_or_new_nodes,    ///< also changes of the number of nodes
    changes,                  ///< of TrainJobs that do not count as new
};

/// A rule with the function that adds its errors, or its warnings.
template <class Found>
struct CheckOf {
    Rule rule;  ///< of errors and warnings without one
    void (*add)(const ValidationContext&, Found&);
    RuleInput input;
    AppliesTo reviews = AppliesTo::any;
};
using Check = CheckOf<api::FieldErrors>;
using Warner = CheckOf<api::Warnings>;

/// The rules of each topic, in the file of its name.
extern const std::span<const Check> name_checks, patch_checks, deadline_checks, claim_checks, gate_checks,
    edit_checks, trainer_checks, failure_policy_checks, progress_checks;
extern const std::span<const Warner> runtime_warnings, trainer_warnings, subdomain_warnings,
    lost_field_warnings, time_warnings, claim_warnings, failure_policy_warnings, progress_warnings,
    signal_warnings;

/// Returns the name that a runtime gives to the headless Service of each JobSet; empty if each has its own.
std::string shared_subdomain(const api::Json& runtime);
std::string subdomain_warning(std::string_view where);

/// Returns whether a runtime is labelled as deprecated.
bool is_deprecated(const api::Json& runtime);
std::string deprecation_warning(std::string_view kind, std::string_view name);

}  // namespace runtime
