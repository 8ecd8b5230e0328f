#pragma once
#include <optional>
#include <string>
#include <vector>

#include "api/train_job.hpp"
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
    const api::JobSet* job_set = nullptr;
    KueueTypes kueue_types = KueueTypes::none;

    bool is_create() const { return old_job == nullptr; }
    bool patches_changed() const;
};

/// Whether two lists of runtime patches differ in more than order and time stamps.
bool patches_differ(const api::Json& left, const api::Json& right);

/// An UPDATE that must pass whatever has become of the runtime: the object is being deleted, or nothing but
/// `suspend` changes in its spec.
bool is_harmless_update(const api::Json& object, const api::Json& old_object);

/// Objects of a shape that the schema would refuse: the webhook may be asked before it is.
inline constexpr std::string_view shape_rule = "malformed";

/// Says of the errors from position `begin` on which rule they are of, unless they say so themselves.
void name_rule(api::FieldErrors& errors, std::size_t begin, std::string_view rule);

using Rule = void (*)(const ValidationContext&, api::FieldErrors&);
void names_fit(const ValidationContext& review, api::FieldErrors& errors);
void initializers_have_jobs(const ValidationContext& review, api::FieldErrors& errors);
void patches_name_what_exists(const ValidationContext& review, api::FieldErrors& errors);
void managers_are_paths(const ValidationContext& review, api::FieldErrors& errors);
void patches_wait_for_pods(const ValidationContext& review, api::FieldErrors& errors);
void deadline_is_immutable(const ValidationContext& review, api::FieldErrors& errors);
void claims_are_there(const ValidationContext& review, api::FieldErrors& errors);

using Warn = void (*)(const ValidationContext&, api::Warnings&);
void warn_of_deprecated_runtime(const ValidationContext& review,
                                api::Warnings& warnings);  // `deprecated_runtime_used`
void warn_of_uncounted_devices(const ValidationContext& review,
                               api::Warnings& warnings);  // `uncounted_devices`
void warn_of_ignored_fields(const ValidationContext& review,
                            api::Warnings& warnings);  // `ignored_time_limits`
void warn_of_resources_without_policy(const ValidationContext& review,
                                      api::Warnings& warnings);  // `resources_without_policy`
void warn_of_shared_subdomain(const ValidationContext& review,
                              api::Warnings& warnings);                               // `shared_subdomain`
void warn_of_other_counts(const ValidationContext& review, api::Warnings& warnings);  // `kueue_counts_differ`
void warn_of_what_kueue_cannot_build(const ValidationContext& review,
                                     api::Warnings& warnings);                       // `kueue_cannot_build`
void warn_of_lost_fields(const ValidationContext& review, api::Warnings& warnings);  // `lost_fields`

/// A name that the runtime gives to the headless Service of each of its JobSets; empty if each has its own.
std::string shared_subdomain(const api::Json& runtime);
std::string subdomain_warning(std::string_view where);

/// Of a runtime labelled as deprecated.
bool is_deprecated(const api::Json& runtime);
std::string deprecation_warning(std::string_view kind, std::string_view name);

}  // namespace runtime
